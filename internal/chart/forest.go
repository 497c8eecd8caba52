package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Forest is a forest plot, as in meta-analyses: ratios with their intervals around 1 on a
// logarithmic axis, and a verdict on each.
type Forest struct {
	Axis Axis // always logarithmic

	// Low and High are the ends of a band, such as the range of differences that do not
	// matter. Band is the band's name. If Low is not less than High, there is no band.
	Low, High float64
	Band      string

	Less, More string   // meaning of ratios below and above 1, such as "b is faster"; if one of them is "", neither is shown
	Kinds      []string // verdicts on ratios; each has its own color and marker
	Rows       []Bar    // the values of these bars are ratios; a row with a reason has no ratio
}

// row returns a copy of a row. If the row has a Reason, which means that it has no ratio, the copy's
// Value is 0.
func (f *Forest) row(i int) *Bar {
	b := f.Rows[i]
	if b.Reason != "" {
		b.Value = 0
	}
	return &b
}

func (f *Forest) kind(r *Bar) string {
	if r.Reason != "" || r.Kind < 0 || r.Kind >= len(f.Kinds) {
		return ""
	}
	return f.Kinds[r.Kind]
}

// scale returns a scale that includes all ratios, the band and 1. It reports false if there
// are no ratios.
func (f *Forest) scale(c *canvas, bars []*Bar) (scale, bool) {
	s, ok := c.barScale(f.Axis, bars, nil, true)
	if !ok {
		return s, false
	}
	around := extent{}
	around.add(s.min, s.max, 0.95, 1.05)
	if f.band() {
		around.add(f.Low/(f.High/f.Low), f.High*(f.High/f.Low))
	}
	return around.scale(true, false)
}

func (f *Forest) band() bool { return interval(f.Low, f.High, true) }

func (f *Forest) draw(title string, width int) *canvas {
	c, top := newCanvas(title, width)
	if len(f.Rows) == 0 {
		return c.nothing(top)
	}
	var bars []*Bar
	var rows []rowWords
	for i := range f.Rows {
		b := f.row(i)
		if b.Text == "" && usable(b.Value, true) {
			b.Text = strings.TrimSpace(f.Axis.format(b.Value) + " " + f.kind(b))
		}
		bars, rows = append(bars, b), append(rows, rowWords{name: b.Name, text: b.text(f.Axis)})
	}
	l := c.columns(rows)
	s, ok := f.scale(c, bars)
	s.from, s.to = l.from, l.to
	if ok {
		top = f.legend(c, top)
		top = f.sides(c, s, top)
	}
	high, middle := l.row(24)
	bottom := top + high*float64(len(bars)) + 4
	foot := bottom
	if ok {
		if f.band() {
			low, up := s.at(f.Low), s.at(f.High)
			c.rect(low, top, max(up-low, 1), bottom-top, paint{rule, 0.18})
		}
		foot = c.drawAcross(f.Axis.across(s, nil), s, top, bottom, f.Axis.Label)
		c.line(stroke{paint: solid(rule), width: 1.5}, point{s.at(1), top}, point{s.at(1), bottom})
	}
	for i, b := range bars {
		y := top + high*float64(i) + 2
		c.mark(b.tip(f.Axis, b.Name), b.Link, func() {
			c.target(y, high)
			c.row(l, y+middle, words(b.Reason), rows[i])
			if ok {
				f.ratio(c, b, s, y+middle)
			}
			free := s
			free.to = c.width - padding // the row has no value, so the reason may use its space
			c.reason(b, free, y+middle)
		})
	}
	return c.foot(foot, f.describe(), f.Axis.Label)
}

func (f *Forest) ratio(c *canvas, b *Bar, s scale, y float64) {
	if !usable(b.Value, true) {
		return
	}
	look := Look{}.or(max(b.Kind, 0))
	p := solid(look.role())
	c.whisker(b, s, y, 4, stroke{paint: p, width: 2})
	c.marker(look, s.at(b.Value), y, 4.5, p)
}

func (f *Forest) legend(c *canvas, y float64) float64 {
	var kinds []int
	var names []string
	for i, name := range f.Kinds {
		if slices.ContainsFunc(f.Rows, func(r Bar) bool { return r.Reason == "" && r.Kind == i }) {
			kinds, names = append(kinds, i), append(names, name)
		}
	}
	if f.band() {
		names = append(names, cmp.Or(f.Band, f.Axis.format(f.Low)+" to "+f.Axis.format(f.High)))
	}
	return c.legend(y, names, func(i int, x, y float64) {
		if i == len(kinds) {
			c.rect(x-8, y-7, 16, 14, paint{rule, 0.18})
			return
		}
		look := Look{}.or(kinds[i])
		c.line(stroke{paint: solid(look.role()), width: 2}, point{x - 10, y}, point{x + 10, y})
		c.marker(look, x, y, 4.5, solid(look.role()))
	})
}

// sides writes f.Less and f.More above the plot, to the left and to the right of the ratio 1. If there is
// no room for both texts in one line, it writes them in two lines. It returns the y at which the plot begins.
func (f *Forest) sides(c *canvas, s scale, y float64) float64 {
	if f.Less == "" || f.More == "" {
		return y
	}
	less, more := "← "+clean(f.Less), clean(f.More)+" →"
	one := s.at(1)
	if measure(less, small, false) <= one-8-padding && measure(more, small, false) <= c.width-padding-one-8 {
		c.text(one-8, y+12, atEnd, small, faint, less, 0)
		c.text(one+8, y+12, atStart, small, faint, more, 0)
		return y + 18
	}
	for i, words := range []string{less, more} {
		for _, line := range wrap(words, small, false, c.width-2*padding, 3) {
			y += 14
			c.text([]float64{padding, c.width - padding}[i], y-2, []anchor{atStart, atEnd}[i], small, faint, line, 0)
		}
	}
	return y + 4
}

func (f *Forest) describe() string {
	words := count(len(f.Rows), "row", "rows")
	for i, name := range f.Kinds {
		n := 0
		for _, r := range f.Rows {
			if r.Reason == "" && r.Kind == i {
				n++
			}
		}
		if n > 0 {
			words += ", " + thousands(n) + " " + clean(name)
		}
	}
	return words
}

func (f *Forest) table() (columns []string, rows [][]string) {
	columns = []string{"name", "kind", cmp.Or(f.Axis.Label, "ratio"), "low", "high", "note"}
	for i := range f.Rows {
		b := f.row(i)
		if math.IsNaN(b.Value) {
			b.Value = 0
		}
		rows = append(rows, append([]string{b.Name, f.kind(b)}, b.figures(f.Axis)...))
	}
	return columns, rows
}

// joined joins two texts with a colon. If one text is "", it returns the other text.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}
