// Package chart draws plain series as pictures: SVG for a file or a page, and PNG. It knows
// nothing about drivers and benchmarks.
//
// A chart is a struct with the data to show, such as [Bars] or [Lines]. [WriteSVG],
// [WriteInline] and [WritePNG] draw it, and [Table] returns the figures behind it.
//
// Names, labels and tips may be untrusted: they are shortened, escaped and freed of control
// characters. A value that cannot be drawn (NaN, an infinity, or one that is not positive on a
// logarithmic axis) is left out, and the picture says how many values are missing.
//
// Series differ in color, and also in marker or dashes. [Properties] returns the colors.
// People with color blindness can distinguish them. Their contrast is at least 4.5 for text
// and 3 for marks, on light and on dark backgrounds.
package chart

import (
	"io"
	"math"
	"slices"
)

// Chart is a picture of some series.
type Chart interface {
	// draw lays out the chart. The parameter "width" is its width in pixels; see [Titled]. The shapes
	// have roles instead of colors.
	draw(title string, width int) *canvas
	// table returns the figures that the chart shows, formatted. [Table] cleans their text.
	table() (columns []string, rows [][]string)
}

// WritePNG writes a chart as a PNG image in light colors. The parameter "scale" is the number of image
// pixels for each pixel of the chart's width. WritePNG fails if the image would have more than 100 million
// pixels.
func WritePNG(w io.Writer, c Chart, scale float64) error {
	return writePNG(w, c.draw("", 0), scale)
}

// Table returns the figures that a chart shows, formatted as in the chart.
func Table(c Chart) (columns []string, rows [][]string) {
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

// Widths of charts, in pixels.
const (
	Phone = 360
	Page  = 720
	Print = 1000
)

// Titled is a chart with a title above it, and with lines below it. A chart that is not Titled has
// no such lines and no title, and is drawn in its default width.
type Titled struct {
	Chart
	Title  string
	Width  int      // in pixels; 0 means 1200 for a [Flame], and Page for all other charts
	Legend []string // explains the chart's marks
	Source string   // says where the chart's figures come from
}

// Intervals names the shapes by which a chart shows intervals: "error bars", "bands", or both. It
// returns "" if the chart shows no intervals.
func Intervals(c Chart) string {
	switch drawn := c.draw("", 0); {
	case drawn.whiskers && drawn.bands:
		return "error bars and bands"
	case drawn.whiskers:
		return "error bars"
	case drawn.bands:
		return "bands"
	}
	return ""
}

func (t Titled) draw(string, int) *canvas {
	c := t.Chart.draw(t.Title, t.Width)
	for _, line := range append(slices.Clone(t.Legend), t.Source) {
		for _, words := range wrap(clean(line), small, false, c.width-2*padding, 2) {
			c.height += 15
			c.text(padding, c.height-padding+3, atStart, small, faint, words, 0)
		}
	}
	return c
}

// Axis says how an axis shows values. The axis is logarithmic if all values are positive and the
// largest is at least 20 times the smallest; otherwise it is linear. The axis Lines.X has another
// rule: it is logarithmic if a logarithmic scale spaces its values more evenly.
type Axis struct {
	Label  string               // says what the values are and what is better: "time per row, lower is better"
	Binary bool                 // ticks are multiples of powers of two, for bytes
	Format func(float64) string // formats a value with its unit; nil: a plain number
	Tick   func(float64) string // formats the round values at ticks, "5 ms" rather than "5.00 ms"; nil: Format
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

// Mark is a value that is shown as a line across the chart.
type Mark struct {
	Value float64
	Label string
}

// interval reports whether the numbers low and high are the ends of an interval that can be drawn.
func interval(low, high float64, log bool) bool {
	return usable(low, log) && usable(high, log) && low < high
}

// usable reports whether a value can be drawn. Very large values cannot, because their
// differences could overflow.
func usable(v float64, log bool) bool {
	const most = 1e150
	return !math.IsNaN(v) && math.Abs(v) < most && (!log || v > 1/most)
}
