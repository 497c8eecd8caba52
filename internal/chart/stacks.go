package chart

// Stacks shows sums and their parts, such as lock errors by kind, or memory by use: one bar
// for each row, divided into parts.
type Stacks struct {
	Axis  Axis // always linear, because parts are added
	Parts []string
	Rows  []Sum
}

// Sum is a row of [Stacks].
type Sum struct {
	Name   string
	Look   Look      // drawn before the name; the zero Look is not drawn
	Values []float64 // a value for each of Stacks.Parts, in the same order; no value may be negative
	Text   string    // text right of the bar; if it is "", the sum is written
	Reason string    // why the row has no values; "" if it has values
	Tip    string
	Link   string
}

// total returns the sum of a row's values, without values that cannot be drawn.
func (r *Sum) total(parts int) float64 {
	sum := 0.0
	for i, v := range r.Values {
		if i < parts && weighs(v) {
			sum += v
		}
	}
	return sum
}

func (s *Stacks) text(r *Sum) string {
	switch {
	case r.Text != "":
		return r.Text
	case r.Reason != "" && r.total(len(s.Parts)) == 0:
		return ""
	}
	return s.Axis.format(r.total(len(s.Parts)))
}

func (s *Stacks) draw(title string, width int) *canvas {
	c, y := newCanvas(title, width)
	if len(s.Rows) == 0 {
		return c.nothing(y)
	}
	var e extent
	var rows []rowWords
	for i := range s.Rows {
		r := &s.Rows[i]
		rows = append(rows, rowWords{look: r.Look, name: r.Name, text: s.text(r)})
		e.add(0, r.total(len(s.Parts)))
		for j, v := range r.Values {
			if j >= len(s.Parts) || !weighs(v) {
				c.left++
			}
		}
	}
	l := c.columns(rows)
	x, _ := e.scale(false, true)
	x.min = 0
	x.roundUp(8, s.Axis.Binary)
	x.from, x.to = l.from, l.to
	y = c.legend(y, s.Parts, func(i int, x, y float64) { c.rect(x-10, y-6, 20, 12, solid(areaColor(i))) })
	high, middle := l.row(26)
	top, bottom := y, y+high*float64(len(s.Rows))+4
	foot := c.drawAcross(s.Axis.across(x, nil), x, top, bottom, s.Axis.Label)
	c.zero(x, top, bottom)
	for i := range s.Rows {
		r := &s.Rows[i]
		y := top + 2 + high*float64(i)
		c.mark([]string{r.Name, s.text(r), r.Reason, r.Tip}, r.Link, func() {
			c.target(y, high)
			c.row(l, y+middle, words(r.Reason), rows[i])
			if r.Reason != "" {
				c.reason(&Bar{Reason: r.Reason, Value: r.total(len(s.Parts))}, x, y+middle)
			}
		})
		from := 0.0
		for j, v := range r.Values {
			if j >= len(s.Parts) || !weighs(v) || v == 0 {
				continue
			}
			at, wide := x.at(from), x.at(from+v)-x.at(from)
			c.mark([]string{r.Name, clean(s.Parts[j]) + ": " + s.Axis.format(v), r.Tip}, r.Link, func() {
				c.rect(at, y+middle-8, max(wide-0.7, 0.3), 16, solid(areaColor(j)))
				if text := clean(s.Axis.format(v)); measure(text, small, false)+8 <= wide {
					c.text(at+wide/2, y+middle+4, atMiddle, small, ink, text, 0)
				}
			})
			from += v
		}
	}
	return c.foot(foot, count(len(s.Rows), "row", "rows")+" in "+count(len(s.Parts), "part", "parts"), s.Axis.Label)
}

func (s *Stacks) table() (columns []string, rows [][]string) {
	columns = append(append([]string{"name"}, s.Parts...), "sum", "note")
	for i := range s.Rows {
		r := &s.Rows[i]
		row := []string{r.Name}
		for j := range s.Parts {
			cell := ""
			if j < len(r.Values) && weighs(r.Values[j]) {
				cell = s.Axis.format(r.Values[j])
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, s.text(r), r.Reason))
	}
	return columns, rows
}
