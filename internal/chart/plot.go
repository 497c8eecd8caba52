package chart

import "math"

type plot struct {
	x, y                     scale
	left, top, right, bottom float64
}

// besides returns the x at which a plot begins, right of the labels of its vertical axis.
func (a Axis) besides(s scale, height float64) float64 {
	s.from, s.to = height, 0
	wide := 0.0
	for _, t := range a.up(s) {
		wide = max(wide, t.width)
	}
	return padding + wide + 6
}

func (c *canvas) above(y float64, label string, log bool) float64 {
	for _, words := range wrap(clean(withLog(label, log)), small, false, c.width-2*padding, 2) {
		c.text(padding, y+12, atStart, small, faint, words, 0)
		y += 14
	}
	return y
}

func (c *canvas) newPlot(y, left, height float64, xs, ys scale, axis Axis) plot {
	p := plot{x: xs, y: ys, top: y + 8, left: left, right: c.plotEnd()}
	p.bottom = p.top + height
	p.y.from, p.y.to = p.bottom, p.top
	p.x.from, p.x.to = p.left, p.right
	for _, t := range axis.up(p.y) {
		c.line(thin(grid), point{p.left, t.at}, point{p.right, t.at})
		c.text(p.left-5, t.at+4, atEnd, small, faint, t.label, 0)
	}
	return p
}

func (c *canvas) plotEnd() float64 { return c.width - padding - 6 }

// across draws the horizontal axis of a plot, and returns the y at which it ends.
func (c *canvas) across(p plot, ticks []tick, label string) float64 {
	for _, t := range ticks {
		c.line(thin(rule), point{t.at, p.bottom}, point{t.at, p.bottom + 4})
		c.tickLabel(t, p.bottom+16)
	}
	c.line(thin(rule), point{p.left, p.bottom}, point{p.right, p.bottom})
	y := p.bottom + 20
	for _, words := range wrap(clean(label), small, false, c.width-2*padding, 2) {
		y += 14
		c.text(p.right, y, atEnd, small, faint, words, 0)
	}
	return y + 4
}

func (p plot) at(x, y float64) point { return point{p.x.at(x), p.y.at(y)} }

// curve draws a line through points. Parts of the line outside the plot are cut off.
func (c *canvas) curve(p plot, s stroke, points []point) {
	var lines [][]point
	var now []point
	for i, at := range points {
		if p.x.inside(at.x) && p.y.inside(at.y) {
			if len(now) == 0 && i > 0 {
				if edge, ok := p.edge(at, points[i-1]); ok {
					now = append(now, edge)
				}
			}
			now = append(now, p.at(at.x, at.y))
			continue
		}
		if len(now) > 0 {
			if edge, ok := p.edge(points[i-1], at); ok {
				now = append(now, edge)
			}
			lines, now = append(lines, now), nil
		}
	}
	if len(now) > 0 {
		lines = append(lines, now)
	}
	if len(lines) > 0 {
		c.add(pathShape{lines: lines, stroke: s})
	}
}

// edge returns the point at which the line from a point inside the plot to a point outside
// leaves the plot. It reports false if the point outside has no position on the axes.
func (p plot) edge(inside, outside point) (point, bool) {
	if !usable(outside.x, p.x.log) || !usable(outside.y, p.y.log) {
		return point{}, false
	}
	x0, y0 := p.x.part(inside.x), p.y.part(inside.y)
	dx, dy := p.x.part(outside.x)-x0, p.y.part(outside.y)-y0
	part := 1.0
	for _, a := range [][2]float64{{x0, dx}, {y0, dy}} {
		if at, d := a[0], a[1]; at+d > 1 {
			part = min(part, (1-at)/d)
		} else if at+d < 0 {
			part = min(part, -at/d)
		}
	}
	if math.IsNaN(part) {
		return point{}, false
	}
	part = max(part, 0)
	return point{p.x.from + (p.x.to-p.x.from)*(x0+part*dx), p.y.from + (p.y.to-p.y.from)*(y0+part*dy)}, true
}

func (c *canvas) sample(l Look, x, y float64) {
	c.line(l.stroke(), point{x - 11, y}, point{x + 11, y})
	c.marker(l, x, y, 3.5, solid(l.role()))
}

func (c *canvas) seriesLegend(y float64, names []string, looks []Look) float64 {
	return c.legend(y, names, func(i int, x, y float64) { c.sample(looks[i], x, y) })
}

func plotHeight(width float64) float64 { return min(max(width*0.42, 190), 420) }
