// Package chart draws plain series as pictures: SVG for a file or a page, and PNG. It
// knows nothing of runs.
//
// A chart is a struct that holds what is shown, such as [Bars] or [Lines]. [WriteSVG],
// [WriteInline] and [WritePNG] draw it, and [Table] returns the figures behind it.
//
// Names, labels and tips may be untrusted: they are shortened, escaped and freed of
// control characters. A value that cannot be drawn (NaN, an infinity, or one that is not
// positive on a logarithmic axis) is left out, and the picture says how many were.
//
// Series are told apart by color, and also by marker or dash. [Properties] returns the
// colors. They can be told apart with color blindness and have a contrast of at least
// 4.5 for text and 3 for marks, on light and on dark.
package chart

import (
	"errors"
	"io"
	"math"
)

// Chart is a picture of some series.
type Chart interface {
	// draw lays the chart out. The picture has no colors yet, only their roles.
	draw() *canvas
	// table returns the figures that are shown, formatted. Text is not yet cleaned.
	table() (columns []string, rows [][]string)
}

// WriteSVG writes a chart as an SVG file. It is light or dark as the viewer prefers, and
// has no script. Marks show their tips when they are pointed at.
func WriteSVG(w io.Writer, c Chart) error {
	if c == nil {
		return errNoChart
	}
	return writeSVG(w, c.draw())
}

// WriteInline writes a chart as an <svg> element of an HTML page. All ids in it begin
// with id, which must be unique in the page. Colors are custom properties of CSS (see
// [Properties]), which the page has to set. So is the font, --chart-font, which it may set,
// and which should not be much wider than Arial, or labels may overlap. There is neither
// style nor script in the element, so that a page may forbid both.
//
// Each mark can be focused, is an <a> if its datum has a Link, and has the attributes
// aria-label and data-tip: lines of text separated by newlines, or "" if the parts of the
// label, which are separated by a comma and a space, say the same. The element has the role
// img, or group if it has marks, since an image has nothing in it that can be focused.
func WriteInline(w io.Writer, c Chart, id string) error {
	if c == nil {
		return errNoChart
	}
	return writeInline(w, c.draw(), id)
}

// WritePNG writes a chart as a PNG image in light colors. It has scale pixels for each
// pixel of the chart's width. It fails if the image would have more than 100 million.
func WritePNG(w io.Writer, c Chart, scale float64) error {
	if c == nil {
		return errNoChart
	}
	return writePNG(w, c.draw(), scale)
}

// Table returns the figures that a chart shows, formatted as in the chart.
func Table(c Chart) (columns []string, rows [][]string) {
	if c == nil {
		return nil, nil
	}
	columns, rows = c.table()
	for i := range columns {
		columns[i] = clean(columns[i])
	}
	for _, row := range rows {
		for i := range row {
			row[i] = clean(row[i])
		}
	}
	return columns, rows
}

var errNoChart = errors.New("chart: no chart")

// Widths of pictures in pixels, for the field Width of charts.
const (
	Phone = 360
	Page  = 720 // the default
	Print = 1000
)

// widthOf returns a width that a chart can be laid out in.
func widthOf(width int) float64 {
	if width <= 0 {
		return Page
	}
	return float64(min(max(width, 280), 4000))
}

// Axis says how values are shown along an axis.
type Axis struct {
	Label  string // what the values are, with what is better: "time per row, lower is better"
	Scale  Scale
	Binary bool                 // the ticks are multiples of powers of two, as suits bytes
	Format func(float64) string // formats a value with its unit; nil writes a plain number
	Tick   func(float64) string // formats the round values at ticks, "5 ms" rather than "5.00 ms"; nil means Format
}

func (a Axis) format(v float64) string {
	if a.Format != nil {
		return a.Format(v)
	}
	return plain(v)
}

func (a Axis) formatTick(v float64) string {
	if a.Tick != nil {
		return a.Tick(v)
	}
	return a.format(v)
}

// Scale is how values become positions.
type Scale int

const (
	// Auto is Log if all values are positive and the largest is at least 20 times the
	// smallest, otherwise Linear. For the X of Lines, it is Log if the values are more
	// evenly spaced so.
	Auto Scale = iota
	Linear
	Log
)

// Mark is a value that is marked with a line across the chart.
type Mark struct {
	Value float64
	Label string
}

// interval reports whether low and high are an interval that can be drawn.
func interval(low, high float64, log bool) bool {
	return usable(low, log) && usable(high, log) && low < high
}

// usable reports whether a value can be drawn. Values whose differences could overflow
// cannot.
func usable(v float64, log bool) bool {
	const most = 1e150
	return !math.IsNaN(v) && math.Abs(v) < most && (!log || v > 1/most)
}
