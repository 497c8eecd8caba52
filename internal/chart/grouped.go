package chart

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
)

// Grouped shows bars in groups, such as the published and the measured value of each driver.
// Bars with the same Name have the same color. Ranks are not shown.
type Grouped struct {
	Axis   Axis
	Groups []Group
}

// Group is a group of [Grouped].
type Group struct {
	Name string
	Bars []Bar
}

func (g *Grouped) draw(title string, width int) *canvas {
	c, y := newCanvas(title, width)
	var list []*Bar
	var sides []string
	var rows []rowWords
	for _, group := range g.Groups {
		rows = append(rows, rowWords{name: group.Name})
		for i := range group.Bars {
			b := &group.Bars[i]
			list, rows = append(list, b), append(rows, rowWords{text: b.text(g.Axis)})
			sides = distinct.Append(sides, b.Name)
		}
	}
	if len(list) == 0 {
		return c.nothing(y)
	}
	l := c.columns(rows)
	if l.narrow {
		l.to -= l.texts + 8 // leave room for the texts right of the bars
	}
	s, ok := c.barScale(g.Axis, list, nil, false)
	s.from, s.to = l.from, l.to
	y = g.legend(c, y, sides, s.log)
	const high, gap = 17.0, 10.0
	header := 20.0
	if l.twoLines {
		header = 30
	}
	top, bottom := y, y+4
	for _, group := range g.Groups {
		bottom += gap + high*float64(max(1, len(group.Bars)))
		if l.narrow {
			bottom += header
		}
	}
	foot := bottom
	if ok {
		foot = c.drawAcross(g.Axis.across(s, nil), s, top, bottom, g.Axis.Label)
		c.zero(s, top, bottom)
	}
	for _, group := range g.Groups {
		bars := float64(max(1, len(group.Bars)))
		c.mark([]string{group.Name}, "", func() {
			if l.narrow {
				c.rect(padding, y+4, c.width-2*padding, header, paint{background, 0.85})
				c.name(padding, y+header/2+3.5, ink, group.Name, c.width-2*padding)
				y += header
			} else {
				c.name(padding, y+gap/2+2+high*bars/2, ink, group.Name, l.names)
			}
		})
		for i := range group.Bars {
			b := &group.Bars[i]
			at := y + gap/2 + 2 + high*(float64(i)+0.5)
			side := slices.Index(sides, b.Name)
			c.mark(b.tip(g.Axis, clean(group.Name)+", "+clean(b.Name)), b.Link, func() {
				c.rect(l.from, at-high/2, c.width-padding-l.from, high, paint{background, 0.01})
				c.text(l.to+12, at+4, atStart, small, words(b.Reason), b.text(g.Axis), l.texts)
				if ok {
					c.bar(b, s, at, 10, Look{}.or(side))
				}
				c.reason(b, s, at)
			})
		}
		y += gap + high*bars
	}
	return c.foot(foot, count(len(g.Groups), "group", "groups")+" of bars", g.Axis.Label)
}

func (g *Grouped) legend(c *canvas, y float64, sides []string, log bool) float64 {
	return c.legend(y, sides, func(i int, x, y float64) {
		look := Look{}.or(i)
		if log {
			c.marker(look, x, y, 4.5, solid(look.role()))
		} else {
			c.rect(x-10, y-5, 20, 10, solid(look.role()))
		}
	})
}

func (g *Grouped) table() (columns []string, rows [][]string) {
	columns = []string{"group", "name", "value", "low", "high", "note"}
	for _, group := range g.Groups {
		for i := range group.Bars {
			b := &group.Bars[i]
			rows = append(rows, append([]string{group.Name, b.Name}, b.figures(g.Axis)...))
		}
	}
	return columns, rows
}
