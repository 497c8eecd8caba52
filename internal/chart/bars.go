package chart

import (
	"fmt"
	"math"
	"slices"
)

// Bars ranks rows. Each row has a name, a value and an interval. On a linear axis, values are
// bars that start at zero. On a logarithmic axis, which has no zero, they are dots.
type Bars struct {
	Axis  Axis
	Rows  []Bar
	Lines []Mark // values that rows are compared with, such as the time of plain C
}

// Bar is a row of [Bars] or of a [Forest], or a bar of a [Group].
type Bar struct {
	Name string
	Look Look   // only in Bars: drawn before the name; the zero Look is not drawn
	Rank string // only in Bars: such as "1"; "" if the row has no rank
	Tied string // only in Bars: such as "tied with 2, 3"; "" if the row is not tied
	Kind int    // only in a Forest: index of the verdict in Forest.Kinds

	// Value is the length of the bar, and Low and High are the ends of its interval. If Low
	// and High are equal or NaN, there is no interval.
	Value, Low, High float64

	// Text is the text right of the bar, such as the value with its ±. If it is "", the value is
	// written instead; a Forest also writes the verdict.
	Text string

	// Reason says why the row has no rank or no value; "" if it has both. A row with a reason is
	// faded. If Value is also 0 or NaN, only the reason is written.
	Reason string

	Tip  string // additional lines of the tooltip, such as the number of samples
	Link string // URL that a click opens; "" for none
}

// valued reports whether the bar should have a value.
func (b *Bar) valued() bool {
	return b.Reason == "" || b.Value != 0 && !math.IsNaN(b.Value)
}

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

// barScale returns a scale for all bars and lines. The scale is logarithmic if the parameter
// "ratios" is true, or if the values differ as much as [Axis] says. barScale reports false if no
// bar has a value. Values and intervals that cannot be drawn are counted in c.left.
func (c *canvas) barScale(a Axis, bars []*Bar, lines []Mark, ratios bool) (scale, bool) {
	var values extent
	for _, b := range bars {
		if b.valued() {
			values.add(b.Value)
		}
	}
	all, log := values, ratios || values.log()
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

// interval reports whether the numbers low and high are the ends of an interval that can be drawn. If they
// are the ends of an interval that cannot be drawn, c.left counts it.
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

func (c *canvas) bar(b *Bar, s scale, y, thick float64, l Look) {
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
		c.rect(s.at(0), y-thick/2, x-s.at(0), thick, paint{l.role(), opacity})
	}
	c.whisker(b, s, y, 3.5, stroke{paint: paint{ends, max(opacity, 0.7)}, width: 1.5})
	if s.log {
		c.marker(l, x, y, 4.5, paint{l.role(), opacity})
	}
}

// whisker draws the interval of a bar, if the bar has an interval: a line with a short line across each
// end. The parameter "end" is half the length of a short line.
func (c *canvas) whisker(b *Bar, s scale, y, end float64, line stroke) {
	if interval(b.Low, b.High, s.log) {
		low, high := s.at(b.Low), s.at(b.High)
		c.whiskers = true
		c.add(pathShape{stroke: line, lines: [][]point{{{low, y}, {high, y}}, {{low, y - end}, {low, y + end}}, {{high, y - end}, {high, y + end}}}})
	}
}

// reason writes b.Reason right of the bar. If a logarithmic axis has more room left of the bar, it
// writes b.Reason there. It writes nothing if there is too little room.
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

func (c *canvas) zero(s scale, top, bottom float64) {
	if !s.log {
		c.line(thin(rule), point{s.at(0), top}, point{s.at(0), bottom})
	}
}

func (c *canvas) lines(marks []Mark, s scale, top, bottom float64) {
	for _, m := range marks {
		if !s.inside(m.Value) {
			c.left++
			continue
		}
		c.line(markStroke, point{s.at(m.Value), top}, point{s.at(m.Value), bottom})
	}
}

// labels writes the labels of marks above a plot, and returns the y at which the plot begins.
// Labels that would overlap are written in several rows.
func (c *canvas) labels(a Axis, marks []Mark, s scale, y float64) float64 {
	var ends []float64 // right end of each row's last label, starting with the lowest row
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

type rowWords struct {
	look                   Look // drawn before the name, unless it is zero
	rank, name, tied, text string
}

// columns has the positions of the parts of a row, from left to right: rank, look, name, plot,
// text, tie. In a narrow picture, all parts except the plot are above the bar: in one line, or in
// two lines if a name would have to be cut.
type columns struct {
	narrow, twoLines                 bool
	ranks, looks, names, texts, ties float64 // widths in pixels
	from, to                         float64 // left and right end of the plot
}

// row returns the height of a row, and the distance from the row's top to the middle of its bar.
// The parameter "bar" is the height of the bar. All heights and distances are in pixels.
func (l *columns) row(bar float64) (high, middle float64) {
	switch {
	case !l.narrow:
		return bar, bar / 2
	case l.twoLines:
		return bar + 34, bar/2 + 33
	}
	return bar + 18, bar/2 + 17
}

const phone = 520

func (c *canvas) columns(rows []rowWords) columns {
	widest := func(of func(rowWords) string, size float64, heavy bool, most float64) float64 {
		w := 0.0
		for _, r := range rows {
			w = max(w, measure(clean(of(r)), size, heavy))
		}
		return min(w, most)
	}
	l := columns{narrow: c.width < phone}
	if w := widest(func(r rowWords) string { return r.rank }, small, true, 40); w > 0 {
		l.ranks = w + 8
	}
	if slices.ContainsFunc(rows, func(r rowWords) bool { return r.look != (Look{}) }) {
		l.looks = lookWidth
	}
	l.names = widest(func(r rowWords) string { return r.name }, normal, false, c.width*0.3) + 1
	l.texts = widest(func(r rowWords) string { return r.text }, small, false, c.width*0.3) + 1
	l.from, l.to = padding+l.ranks+l.looks+l.names+10, c.width-padding-l.texts-12
	if w := widest(func(r rowWords) string { return r.tied }, small, false, c.width*0.24); w > 0 {
		l.ties = w + 1
		l.to -= l.ties + 10
	}
	if l.narrow {
		l.from, l.to = padding+l.ranks, c.width-padding-8
		room := c.width - 2*padding - l.ranks - l.looks - 8
		l.twoLines = slices.ContainsFunc(rows, func(r rowWords) bool {
			return measure(clean(r.name), normal, false)+measure(clean(r.text), small, false) > room
		})
	}
	return l
}

const lookWidth = 15

// row writes the words of a row whose bar is centered at y. The words have the same order as in the
// row's tooltip, because screen readers read both.
func (c *canvas) row(l columns, y float64, r role, w rowWords) {
	from, middle := padding+l.ranks+l.looks, y // position of the name
	switch {
	case l.twoLines:
		middle = y - 37
		c.rect(padding, y-45, c.width-2*padding, 36, paint{background, 0.85})
	case l.narrow:
		middle = y - 18.5
		c.rect(padding, y-29, c.width-2*padding, 20, paint{background, 0.85})
	}
	c.label(textShape{x: padding, y: middle + 4.5, size: small, heavy: true, paint: solid(r), text: w.rank}, l.ranks)
	if w.look != (Look{}) {
		look := w.look.or(0)
		c.marker(look, padding+l.ranks+5, middle, 4, solid(look.role()))
	}
	end, room := c.width-padding, c.width-padding-from
	switch {
	case l.twoLines:
		c.name(from, middle, r, w.name, room)
		text := measure(clean(w.text), small, false)
		c.text(from, y-14, atStart, small, r, w.text, room)
		if measure(clean(w.tied), small, false) < room-text-8 { // a text that does not fit is left out, because a shortened one would be useless
			c.text(from+text+8, y-14, atStart, small, faint, w.tied, 0)
		}
	case l.narrow:
		c.text(from, middle+4.5, atStart, normal, r, w.name, room)
		c.text(end, middle+4.5, atEnd, small, r, w.text, 0)
		room -= measure(clean(w.text), small, false) + 8
		if after := measure(clean(w.name), normal, false) + 8; measure(clean(w.tied), small, false) < room-after {
			c.text(from+after, middle+4.5, atStart, small, faint, w.tied, 0)
		}
	default:
		c.name(from, y, r, w.name, l.names)
		c.text(l.to+12, y+4.5, atStart, small, r, w.text, l.texts)
		c.text(l.to+12+l.texts+10, y+4.5, atStart, small, faint, w.tied, l.ties)
	}
}

func (b *Bars) draw(title string, width int) *canvas {
	c, top := newCanvas(title, width)
	if len(b.Rows) == 0 {
		return c.nothing(top)
	}
	var list []*Bar
	var rows []rowWords
	for i := range b.Rows {
		r := &b.Rows[i]
		list, rows = append(list, r), append(rows, rowWords{r.Look, r.Rank, r.Name, r.Tied, r.text(b.Axis)})
	}
	l := c.columns(rows)
	s, ok := c.barScale(b.Axis, list, b.Lines, false)
	s.from, s.to = l.from, l.to
	bar := 24.0
	if l.narrow {
		bar = 20
	}
	high, middle := l.row(bar)
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
		c.mark(r.tip(b.Axis, r.Name), r.Link, func() {
			c.target(y, high)
			if ok {
				c.bar(r, s, y+middle, 9, Look{}.or(0))
			}
			c.row(l, y+middle, words(r.Reason), rows[i])
			c.reason(r, s, y+middle)
		})
	}
	return c.foot(foot, b.describe(), b.Axis.Label)
}

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
