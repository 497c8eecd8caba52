package chart

import (
	"fmt"
	"math"
	"strings"
)

// Heat is a map of ratios in rows and columns. The color of a ratio is stronger the further it is from
// 1 on a logarithmic scale; ratios below and above 1 have different colors. Each cell also shows its
// number. Columns that do not fit into the width are drawn below the first columns.
type Heat struct {
	Rows    []string
	Columns []string
	Cells   [][]Cell                   // a slice for each row, with a cell for each column
	Format  func(ratio float64) string // formats ratios; nil: plain numbers

	// Below and Above are the meanings of ratios below and above 1, such as "faster than
	// mattn".
	Below, Above string
}

// Cell is a cell of [Heat].
type Cell struct {
	Value  float64 // the ratio
	Reason string  // why there is no value, or no reliable value; a cell with a reason is hatched
	Tip    string
	Link   string
}

func (h *Heat) format(v float64) string { return Axis{Format: h.Format}.format(v) }

func (h *Heat) cell(row, column int) Cell {
	if row >= len(h.Cells) || column >= len(h.Cells[row]) {
		return Cell{Reason: "no value"}
	}
	return h.Cells[row][column]
}

func (h *Heat) text(d *Cell) string {
	if !usable(d.Value, true) {
		return ""
	}
	return h.format(d.Value)
}

// mostRatio limits the ratio to which [Heat.strongest] gives the strongest color. Greater ratios
// have the same color. For ratios below 1, the limit is the reciprocal of mostRatio.
const mostRatio = 5

// strongest returns the logarithm of the ratio that has the strongest color. It is limited in
// both directions: noise must not look large, and one outlier must not fade all other cells.
func (h *Heat) strongest() float64 {
	most := 0.0
	for row := range h.Rows {
		for column := range h.Columns {
			if d := h.cell(row, column); usable(d.Value, true) {
				most = max(most, math.Abs(math.Log(d.Value)))
			}
		}
	}
	return min(max(most, math.Log(1.5)), math.Log(mostRatio))
}

func (h *Heat) paint(v, strongest float64) paint {
	l := math.Log(v) / strongest
	if l < 0 {
		return paint{less, min(-l, 1)}
	}
	return paint{more, min(l, 1)}
}

func (h *Heat) draw(title string, width int) *canvas {
	c, y := newCanvas(title, width)
	if len(h.Rows) == 0 || len(h.Columns) == 0 {
		return c.nothing(y)
	}
	const high = 26.0
	names, texts, headers := 0.0, 26.0, 0.0
	for row, name := range h.Rows {
		names = max(names, measure(clean(name), normal, false))
		for column := range h.Columns {
			d := h.cell(row, column)
			texts = max(texts, measure(clean(h.text(&d)), small, false))
			if none := d.Reason != "" && (d.Value == 0 || math.IsNaN(d.Value)); !none && !usable(d.Value, true) {
				c.left++
			}
		}
	}
	longest := 0.0 // width of the longest part of a header that cannot be broken into two lines
	for _, name := range h.Columns {
		headers = max(headers, measure(clean(name), small, false))
		for _, piece := range pieces(clean(name)) {
			longest = max(longest, measure(piece, small, false))
		}
	}
	names = min(names, c.width*0.32) + 1
	left := padding + names + 8
	room := c.width - padding - left
	// Columns are as wide as their headers if there is room for all columns side by side.
	wide := min(texts, room/2) + 10
	columns := max(1, int(room/wide))
	if blocks := (len(h.Columns) + columns - 1) / columns; blocks > 1 {
		columns = (len(h.Columns) + blocks - 1) / blocks // the same number of columns in each block
	} else {
		columns = len(h.Columns)
	}
	wide = min(room/float64(columns), max(wide, headers+12, 64))
	up := longest > wide-4 && wide < 72

	strongest := h.strongest()
	for first := 0; first < len(h.Columns); first += columns {
		block := h.Columns[first:min(first+columns, len(h.Columns))]
		header := 20.0
		for _, name := range block {
			if w := measure(clean(name), small, false); up {
				header = max(header, min(w, 130)+8)
			} else if w > wide-6 {
				header = 34
			}
		}
		for i, name := range block {
			x := left + wide*(float64(i)+0.5)
			c.mark([]string{name}, "", func() {
				if up {
					c.label(textShape{x: x + 4, y: y + header - 6, size: small, up: true, paint: solid(ink), text: name}, 130)
					return
				}
				lines := wrap(clean(name), small, false, wide-6, 2)
				for j, s := range lines {
					c.text(x, y+header-6-13*float64(len(lines)-1-j), atMiddle, small, ink, s, 0)
				}
			})
		}
		y += header
		for row, name := range h.Rows {
			c.mark([]string{name}, "", func() { c.name(padding, y+high/2, ink, name, names) })
			for i := range block {
				c.cell(h, row, first+i, strongest, left+wide*float64(i), y, wide, high)
			}
			y += high
		}
		y += 10
	}
	return c.foot(h.legend(c, y, strongest),
		fmt.Sprintf("%s by %s of ratios", count(len(h.Rows), "row", "rows"), count(len(h.Columns), "column", "columns")))
}

// cell draws the cell of a row and column of h.
func (c *canvas) cell(h *Heat, row, column int, strongest, x, y, wide, high float64) {
	d := h.cell(row, column)
	good := usable(d.Value, true)
	reason := d.Reason
	if !good && reason == "" {
		reason = "no value"
	}
	names := clean(h.Rows[row]) + ", " + clean(h.Columns[column])
	c.mark([]string{names, h.text(&d), reason, d.Tip}, d.Link, func() {
		box := rectShape{x + 1, y + 1, wide - 2, high - 2, paint{background, 0.01}}
		words := ink
		if good {
			box.fill = h.paint(d.Value, strongest)
		}
		if box.fill.opacity < 0.02 {
			c.add(rectShape{box.x, box.y, box.w, box.h, paint{grid, 0.35}})
		}
		if d.Reason != "" {
			box.fill.opacity *= 0.35
			words = faint
		}
		c.add(box)
		if reason != "" {
			c.hatch(box)
		}
		if text := h.text(&d); text != "" {
			if reason != "" {
				w := min(measure(clean(text), small, false), wide-6)
				c.rect(x+wide/2-w/2-2, y+6, w+4, high-12, paint{background, 0.85})
			}
			c.text(x+wide/2, y+high/2+4, atMiddle, small, words, text, wide-4)
		}
	})
}

func (c *canvas) hatch(b rectShape) {
	var lines [][]point
	for d := 6.0; d < b.w+b.h; d += 7 {
		from := point{b.x + min(d, b.w), b.y + max(0, d-b.w)}
		to := point{b.x + max(0, d-b.h), b.y + min(d, b.h)}
		lines = append(lines, []point{from, to})
	}
	c.add(pathShape{lines: lines, stroke: stroke{paint: paint{rule, 0.45}, width: 1}})
}

func (h *Heat) legend(c *canvas, y, strongest float64) float64 {
	const steps, wide, high = 9, 16.0, 12.0
	x := float64(padding)
	y += 2
	for i := range steps {
		v := math.Exp(strongest * float64(i-steps/2) / (steps / 2))
		c.rect(x+wide*float64(i), y, wide, high, paint{grid, 0.35})
		c.rect(x+wide*float64(i), y, wide, high, h.paint(v, strongest))
	}
	ends := []string{h.format(math.Exp(-strongest)), h.format(1), h.format(math.Exp(strongest))}
	if strongest >= math.Log(mostRatio) {
		ends[0], ends[2] = "≤ "+ends[0], "≥ "+ends[2]
	}
	for i, s := range ends {
		c.text(x+wide*steps*float64(i)/2, y+high+13, anchor(i), small, faint, s, 60)
	}
	var words []string
	if h.Above != "" {
		words = append(words, "above 1: "+h.Above)
	}
	if h.Below != "" {
		words = append(words, "below 1: "+h.Below)
	}
	if h.hatched() {
		words = append(words, "hatched: no reliable value")
	}
	left, below := x+wide*steps+24, y+high+18
	for _, s := range wrap(clean(strings.Join(words, "; ")), small, false, c.width-padding-left, 4) {
		c.text(left, y+10, atStart, small, faint, s, 0)
		y += 15
	}
	return max(y, below)
}

func (h *Heat) hatched() bool {
	for row := range h.Rows {
		for column := range h.Columns {
			if d := h.cell(row, column); d.Reason != "" || !usable(d.Value, true) {
				return true
			}
		}
	}
	return false
}

func (h *Heat) table() (columns []string, rows [][]string) {
	columns = append([]string{""}, h.Columns...)
	for row, name := range h.Rows {
		cells := []string{name}
		for column := range h.Columns {
			d := h.cell(row, column)
			text := strings.TrimSpace(h.text(&d))
			if d.Reason != "" {
				text = strings.TrimSpace(text + " (" + d.Reason + ")")
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	return columns, rows
}
