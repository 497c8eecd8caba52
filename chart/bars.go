package chart

import (
	"fmt"
	"math"
	"slices"
)

// Bars ranks things: a row for each, with its value and interval. On a linear axis there
// are bars from zero; on a logarithmic one, which has no zero, dots.
type Bars struct {
	Title string
	Width int // in pixels; 0 means Page
	Axis  Axis
	Rows  []Bar
	Lines []Mark // what the rows are compared with, such as the floor
}

// Bar is a row of [Bars].
type Bar struct {
	Name string
	Rank string // such as "1"; "" if it has none
	Tied string // what it is tied with, such as "tied with 2, 3"; "" if it is with nothing

	// Value is what the bar shows, and Low and High its interval. There is no interval if
	// they are equal or NaN.
	Value, Low, High float64

	Text string // what is written at the end, such as the value with its ±; "" writes the value

	// Reason says why the bar has no rank, or no value. Then it is faded, and there is only
	// the reason if Value is 0 or NaN.
	Reason string

	Tip  string // what else the tip says, such as the number of samples; may have lines
	Link string // what a click leads to; "" if nothing
}

// valued reports whether a bar is meant to have a value.
func (b *Bar) valued() bool {
	return b.Reason == "" || b.Value != 0 && !math.IsNaN(b.Value)
}

// text returns what is written at the end.
func (b *Bar) text(a Axis) string {
	switch {
	case !b.valued():
		return ""
	case b.Text != "":
		return b.Text
	case usable(b.Value, false):
		return a.format(b.Value)
	}
	return "no value"
}

// tip returns what is shown when the bar is pointed at.
func (b *Bar) tip(a Axis, name string) []string {
	lines := []string{name}
	if b.Rank != "" {
		lines[0] = b.Rank + " " + name
	}
	lines = append(lines, b.text(a), b.Tied, b.Reason)
	if interval(b.Low, b.High, false) {
		lines = append(lines, "interval "+a.format(b.Low)+" to "+a.format(b.High))
	}
	return append(lines, b.Tip)
}

// figures returns the cells of a table for the bar: value, interval, reason.
func (b *Bar) figures(a Axis) []string {
	cells := []string{"", "", "", b.Reason}
	if b.valued() && usable(b.Value, false) {
		cells[0] = a.format(b.Value)
		if interval(b.Low, b.High, false) {
			cells[1], cells[2] = a.format(b.Low), a.format(b.High)
		}
	}
	return cells
}

// barScale returns the scale that bars share. It reports false if none has a value.
func (c *canvas) barScale(a Axis, bars []*Bar, lines []Mark) (scale, bool) {
	var values extent
	for _, b := range bars {
		if b.valued() {
			values.add(b.Value)
		}
	}
	all, log := values, values.log(a.Scale)
	for _, b := range bars {
		if b.valued() && usable(b.Value, log) {
			if c.interval(b.Low, b.High, log) {
				all.add(b.Low, b.High)
			}
		} else if b.valued() {
			c.left++
		}
	}
	for _, m := range lines {
		all.add(m.Value)
	}
	s, ok := all.scale(log, true)
	if log {
		s.pad(0.04)
	} else if ok && s.max > 0 {
		s.roundUp(8, a.Binary)
	}
	return s, ok && values.any
}

// interval reports whether there is an interval, and counts one that cannot be drawn.
func (c *canvas) interval(low, high float64, log bool) bool {
	if math.IsNaN(low) || math.IsNaN(high) || low == high {
		return false
	}
	if !interval(low, high, log) {
		c.left++
		return false
	}
	return true
}

// bar draws the value and the interval of a bar, in the middle at y.
func (c *canvas) bar(b *Bar, s scale, y, thick float64, color role, marker int) {
	if !b.valued() || !usable(b.Value, s.log) {
		return
	}
	x, opacity, ends := s.at(b.Value), 1.0, ink
	if b.Reason != "" {
		opacity, ends = 0.4, rule
	}
	if s.log {
		c.line(stroke{paint: solid(rule), width: 1, dash: []float64{1, 3}}, point{s.from, y}, point{x, y})
	} else {
		c.rect(s.at(0), y-thick/2, x-s.at(0), thick, paint{color, opacity})
	}
	if interval(b.Low, b.High, s.log) {
		low, high := s.at(b.Low), s.at(b.High)
		c.add(pathShape{stroke: stroke{paint: paint{ends, max(opacity, 0.7)}, width: 1.5}, lines: [][]point{
			{{low, y}, {high, y}}, {{low, y - 3.5}, {low, y + 3.5}}, {{high, y - 3.5}, {high, y + 3.5}},
		}})
	}
	if s.log {
		c.marker(marker, x, y, 4.5, paint{color, opacity})
	}
}

// reason writes why a bar has no rank or value, where there is room beside it.
func (c *canvas) reason(b *Bar, s scale, y float64) {
	from, to := s.from+4, s.to
	if b.valued() && usable(b.Value, s.log) {
		low, high := s.at(b.Value), s.at(b.Value)
		if interval(b.Low, b.High, s.log) {
			low, high = min(low, s.at(b.Low)), max(high, s.at(b.High))
		}
		if to-high > low-from || !s.log {
			from = high + 9
		} else {
			to = low - 9
		}
	}
	words := clean(b.Reason)
	if from+30 > to || words == "" {
		return
	}
	words = shorten(words, small, false, to-from)
	if to < s.to {
		from = to - measure(words, small, false)
	}
	c.rect(from-2, y-8, measure(words, small, false)+4, 16, paint{background, 0.8})
	c.text(from, y+4, atStart, small, faint, words, 0)
}

// zero draws where bars begin.
func (c *canvas) zero(s scale, top, bottom float64) {
	if !s.log {
		c.line(thin(rule), point{s.at(0), top}, point{s.at(0), bottom})
	}
}

// lines draws marked values across a plot.
func (c *canvas) lines(marks []Mark, s scale, top, bottom float64) {
	for _, m := range marks {
		if !s.inside(m.Value) {
			c.left++
			continue
		}
		c.line(stroke{paint: solid(rule), width: 1.5, dash: []float64{5, 3}}, point{s.at(m.Value), top}, point{s.at(m.Value), bottom})
	}
}

// labels writes what marked values are called above a plot, and returns where that begins.
// Labels that would overlap are in rows of their own.
func (c *canvas) labels(a Axis, marks []Mark, s scale, y float64) float64 {
	var ends []float64 // of the rows, from below
	var texts []textShape
	var tips [][]string
	for _, m := range marks {
		text := shorten(clean(m.Label), small, false, min(200, c.width-2*padding))
		if text == "" || !s.inside(m.Value) {
			continue
		}
		w := measure(text, small, false)
		x := min(max(s.at(m.Value)-w/2, padding), c.width-padding-w)
		row := 0
		for row < len(ends) && ends[row] > x-10 {
			row++
		}
		if row == len(ends) {
			ends = append(ends, 0)
		}
		ends[row] = x + w
		texts = append(texts, textShape{x: x, y: -14 * float64(row), size: small, paint: solid(ink), text: text})
		tips = append(tips, []string{m.Label, a.format(m.Value)})
	}
	if len(ends) == 0 {
		return y
	}
	y += 14 * float64(len(ends))
	for i, t := range texts {
		t.y += y - 3
		c.mark(tips[i], "", func() { c.add(t) })
	}
	return y + 2
}

// columns are where the parts of rows are: rank, name, plot, text, what it is tied with. On a
// phone all but the plot are above the bar.
type columns struct {
	narrow                    bool
	ranks, names, texts, ties float64 // widths
	from, to                  float64 // the plot
}

// tieRoom is the least room in which it is worth saying what a row is tied with.
const tieRoom = 40

// phone is the width below which names are above bars.
const phone = 520

func (c *canvas) columns(ranks, names, texts, ties []string) columns {
	widest := func(list []string, size float64, heavy bool, most float64) float64 {
		w := 0.0
		for _, s := range list {
			w = max(w, measure(clean(s), size, heavy))
		}
		return min(w, most)
	}
	l := columns{narrow: c.width < phone}
	if w := widest(ranks, small, true, 40); w > 0 {
		l.ranks = w + 8
	}
	l.names, l.texts = widest(names, normal, false, c.width*0.3)+1, widest(texts, small, false, c.width*0.3)+1
	l.from, l.to = padding+l.ranks+l.names+10, c.width-padding-l.texts-12
	if w := widest(ties, small, false, c.width*0.2); w > 0 {
		l.ties = w + 1
		l.to -= l.ties + 10
	}
	if l.narrow {
		l.from, l.to = padding+l.ranks, c.width-padding-8
	}
	return l
}

// row writes the name and the text of a row whose bar is around y.
func (c *canvas) row(l columns, y float64, r role, name, text string) {
	c.rankedRow(l, y, r, "", name, "", text)
}

// rankedRow writes the rank of a row too, and what it is tied with. The words are in the
// order of the tip, which is the name of the mark.
func (c *canvas) rankedRow(l columns, y float64, r role, rank, name, tied, text string) {
	place := textShape{x: padding, y: y + 4.5, size: small, heavy: true, paint: solid(r), text: rank}
	if !l.narrow {
		c.label(place, l.ranks)
		c.name(padding+l.ranks, y, r, name, l.names)
		c.text(l.to+12, y+4.5, atStart, small, r, text, l.texts)
		c.text(l.to+12+l.texts+10, y+4.5, atStart, small, faint, tied, l.ties)
		return
	}
	c.rect(padding, y-29, c.width-2*padding, 20, paint{background, 0.85})
	w := min(measure(clean(text), small, false), c.width*0.5)
	place.y = y - 14
	c.label(place, l.ranks)
	room := c.width - 2*padding - l.ranks - w - 8
	c.text(padding+l.ranks, y-14, atStart, normal, r, name, room)
	c.text(c.width-padding, y-14, atEnd, small, r, text, w+1)
	if from := measure(clean(name), normal, false) + 8; tied != "" && room > from+tieRoom {
		c.text(padding+l.ranks+from, y-14, atStart, small, faint, tied, room-from)
	}
}

func (b *Bars) draw() *canvas {
	c := newCanvas(widthOf(b.Width), b.Title)
	top := c.head()
	if len(b.Rows) == 0 {
		return c.nothing(top)
	}
	var list []*Bar
	var ranks, names, texts, ties []string
	for i := range b.Rows {
		r := &b.Rows[i]
		list, ranks, names = append(list, r), append(ranks, r.Rank), append(names, r.Name)
		texts, ties = append(texts, r.text(b.Axis)), append(ties, r.Tied)
	}
	l := c.columns(ranks, names, texts, ties)
	s, ok := c.barScale(b.Axis, list, b.Lines)
	s.from, s.to = l.from, l.to
	high, middle := 24.0, 12.0
	if l.narrow {
		high, middle = 42, 29
	}
	if ok {
		top = c.labels(b.Axis, b.Lines, s, top)
	}
	bottom := top + high*float64(len(list)) + 4
	foot := bottom
	if ok {
		foot = c.drawAcross(b.Axis.across(s, nil), s, top, bottom, b.Axis.Label)
		c.zero(s, top, bottom)
		c.lines(b.Lines, s, top, bottom)
	}
	for i, r := range list {
		y := top + high*float64(i) + 2
		words := ink
		if r.Reason != "" {
			words = faint
		}
		c.mark(r.tip(b.Axis, r.Name), r.Link, func() {
			c.rect(padding, y, c.width-2*padding, high, paint{background, 0.01}) // the whole row can be pointed at
			if ok {
				c.bar(r, s, y+middle, 9, line, 0)
			}
			c.rankedRow(l, y+middle, words, r.Rank, r.Name, r.Tied, r.text(b.Axis))
			c.reason(r, s, y+middle)
		})
	}
	return c.foot(foot, b.describe(), b.Axis.Label)
}

// describe says in words who comes first.
func (b *Bars) describe() string {
	words := count(len(b.Rows), "row", "rows")
	for i := range b.Rows {
		if r := &b.Rows[i]; r.Rank != "" {
			return fmt.Sprintf("%s, first %s, %s", words, clean(r.Name), clean(r.text(b.Axis)))
		}
	}
	return words
}

func (b *Bars) table() (columns []string, rows [][]string) {
	columns = []string{"rank", "name", "value", "low", "high", "note"}
	for i := range b.Rows {
		r := &b.Rows[i]
		row := append([]string{r.Rank, r.Name}, r.figures(b.Axis)...)
		row[len(row)-1] = joined(row[len(row)-1], r.Tied)
		rows = append(rows, row)
	}
	for _, m := range b.Lines {
		if usable(m.Value, false) {
			rows = append(rows, []string{"", m.Label, b.Axis.format(m.Value), "", "", ""})
		}
	}
	if !slices.ContainsFunc(b.Rows, func(r Bar) bool { return r.Rank != "" }) {
		columns = columns[1:]
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return columns, rows
}
