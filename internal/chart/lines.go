package chart

import (
	"cmp"
	"slices"
)

// Lines shows series as lines over a varied quantity, such as throughput over the number of
// clients, or over time, such as a trend.
type Lines struct {
	X, Y   Axis
	Series []Series
	Tail   *Tail // optional smaller plot below with the same X, such as latency below throughput
}

// Tail is the second plot of [Lines]. A series in it looks like the series with the same name in
// the first plot.
type Tail struct {
	Y      Axis
	Series []Series
}

// Series is a line of [Lines].
type Series struct {
	Name   string
	Look   Look // the zero Look means the default look for the series' index
	Points []Point

	// Fit is a curve that was fitted to the points, in ascending order of X. It is drawn
	// dashed, and may extend beyond the points.
	Fit []Point

	// Peak is a point that is marked and labeled, such as the maximum of a fitted curve. If
	// its Tip is "", it has no label.
	Peak *Point
}

// Point is a point of [Series].
type Point struct {
	X, Y float64

	// Low and High are the ends of the interval of Y. If they are equal or NaN, there is no
	// interval.
	Low, High float64

	Tip  string
	Link string
}

// CurvePoints is the least number of points of a series that are joined by a line.
const CurvePoints = 3

type panel struct {
	y      Axis
	series []Series
	height float64
}

func (l *Lines) panels(width float64) []panel {
	list := []panel{{l.Y, l.Series, plotHeight(width)}}
	if l.Tail != nil {
		list = append(list, panel{l.Tail.Y, l.Tail.Series, plotHeight(width) * 0.6})
	}
	return list
}

// scale returns the vertical scale of a panel. It reports false if the panel has nothing that
// can be drawn.
func (p panel) scale() (scale, bool) {
	var values, all extent
	for _, s := range p.series {
		for _, at := range s.Points {
			values.add(at.Y)
		}
	}
	all = values
	log := values.log()
	for _, s := range p.series {
		for _, at := range s.Points {
			if interval(at.Low, at.High, log) {
				all.add(at.Low, at.High)
			}
		}
		if s.Peak != nil && values.any && s.Peak.Y < values.most*4 {
			all.add(s.Peak.Y)
		}
	}
	s, ok := all.scale(log, all.least >= 0 && all.most > 1.5*all.least)
	s.pad(0.04)
	if !log && all.least >= 0 {
		s.min = max(s.min, 0)
	}
	return s, ok && values.any
}

func (l *Lines) draw(title string, width int) *canvas {
	c, y := newCanvas(title, width)
	panels := l.panels(c.width)
	var xs extent
	var measured []float64 // values of X that should have ticks
	var names []string
	var looks []Look
	for _, p := range panels {
		for _, s := range p.series {
			if !slices.Contains(names, s.Name) {
				names, looks = append(names, s.Name), append(looks, s.Look.or(len(names)))
			}
			for _, at := range s.Points {
				xs.add(at.X)
				measured = append(measured, at.X)
			}
		}
	}
	measured = slices.DeleteFunc(measured, func(v float64) bool { return !usable(v, false) })
	slices.Sort(measured)
	measured = slices.Compact(measured)
	log := logSteps(measured)
	for _, s := range l.Series {
		if s.Peak != nil && xs.any && s.Peak.X > 0 && s.Peak.X < xs.most*4 {
			xs.add(s.Peak.X)
		}
	}
	sx, ok := xs.scale(log, false)
	if !ok {
		return c.nothing(y)
	}
	sx.pad(0.03)

	left := 0.0
	for _, p := range panels {
		if sy, ok := p.scale(); ok {
			left = max(left, p.y.besides(sy, p.height))
		}
	}
	sx.from, sx.to = left, c.plotEnd()
	y = l.legend(c, y, names, looks)
	for i, p := range panels {
		sy, ok := p.scale()
		if !ok {
			c.text(padding, y+16, atStart, normal, faint, "nothing to draw", 0)
			y += 24
			continue
		}
		y = c.above(y, p.y.Label, sy.log) + 2
		area := c.newPlot(y, left, p.height, sx, sy, p.y)
		label := ""
		if i == len(panels)-1 {
			label = withLog(l.X.Label, log)
		}
		y = c.across(area, l.X.across(area.x, measured), label)
		for _, s := range p.series {
			c.series(area, l.X, p.y, s, looks[slices.Index(names, s.Name)])
		}
	}
	return c.foot(y, l.describe(), count(len(names), "series", "series"))
}

func (l *Lines) describe() string {
	if l.Y.Label != "" && l.X.Label != "" {
		return l.Y.Label + " over " + l.X.Label
	}
	return l.Y.Label
}

// legend draws the names of the series. If there are fitted curves, it also says that dashed lines are
// fitted. If there is only one series, and no fitted curve, it draws nothing. It returns the y at which
// the legend ends.
func (l *Lines) legend(c *canvas, y float64, names []string, looks []Look) float64 {
	fitted := map[int]bool{}
	for _, s := range l.Series {
		if len(s.Fit) > 0 {
			fitted[slices.Index(names, s.Name)] = true
		}
	}
	if len(fitted) == 0 && len(names) < 2 {
		return y
	}
	entries := names
	if len(fitted) > 0 {
		entries = append(slices.Clone(names), "dashed: fitted")
	}
	return c.legend(y, entries, func(i int, x, y float64) {
		switch {
		case i == len(names):
			c.line(fitStroke(rule), point{x - 11, y}, point{x + 11, y})
		case fitted[i]:
			c.marker(looks[i], x, y, 4, solid(looks[i].role()))
		default:
			c.sample(looks[i], x, y)
		}
	})
}

func fitStroke(r role) stroke { return stroke{paint: solid(r), width: 1.5, dash: []float64{5, 4}} }

// If there are more points than mostWhiskers, intervals are drawn as a band. If there are more
// than mostMarkers, points have no markers.
const (
	mostWhiskers = 40
	mostMarkers  = 150
)

// usable returns the points that have a position on the axes. The other points are counted in c.left.
func (c *canvas) usable(area plot, points []Point) (list []Point) {
	for _, at := range points {
		if usable(at.X, area.x.log) && usable(at.Y, area.y.log) {
			list = append(list, at)
		} else {
			c.left++
		}
	}
	return list
}

func (c *canvas) series(area plot, xs, ys Axis, s Series, l Look) {
	points := c.usable(area, s.Points)
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	color := l.role()

	var line, lows, highs []point
	var whiskers [][]point
	for _, at := range points {
		p := area.at(at.X, at.Y)
		line = append(line, p)
		low, high := p, p
		if c.interval(at.Low, at.High, area.y.log) {
			low, high = area.at(at.X, at.Low), area.at(at.X, at.High)
			whiskers = append(whiskers, []point{low, high},
				[]point{{p.x - 3, low.y}, {p.x + 3, low.y}}, []point{{p.x - 3, high.y}, {p.x + 3, high.y}})
		}
		lows, highs = append(lows, low), append(highs, high)
	}
	switch {
	case len(whiskers) > 0 && len(points) > mostWhiskers:
		c.bands = true
		slices.Reverse(lows)
		c.polygon(paint{color, 0.18}, append(highs, lows...)...)
	case len(whiskers) > 0:
		c.whiskers = true
		c.add(pathShape{lines: whiskers, stroke: stroke{paint: paint{color, 0.8}, width: 1.2}})
	}
	if len(s.Fit) > 0 {
		var fit []point
		for _, at := range c.usable(area, s.Fit) {
			fit = append(fit, point{at.X, at.Y})
		}
		c.curve(area, fitStroke(color), fit)
	} else if len(line) >= CurvePoints {
		c.line(l.stroke(), line...)
	}
	for j, at := range points {
		if len(points) > mostMarkers && at.Tip == "" && at.Link == "" {
			continue
		}
		tip := []string{s.Name, xs.format(at.X) + ": " + ys.format(at.Y)}
		if interval(at.Low, at.High, area.y.log) {
			tip = append(tip, "interval "+ys.format(at.Low)+" to "+ys.format(at.High))
		}
		c.mark(append(tip, at.Tip), at.Link, func() { c.marker(l, line[j].x, line[j].y, 3.5, solid(color)) })
	}
	if s.Peak != nil {
		c.peak(area, xs, ys, s, color)
	}
}

func (c *canvas) peak(area plot, xs, ys Axis, s Series, color role) {
	if !area.x.inside(s.Peak.X) || !area.y.inside(s.Peak.Y) {
		c.left++
		return
	}
	p := area.at(s.Peak.X, s.Peak.Y)
	c.mark([]string{s.Name, xs.format(s.Peak.X) + ": " + ys.format(s.Peak.Y), s.Peak.Tip}, s.Peak.Link, func() {
		ring := circle(p, 6.5)
		c.line(stroke{paint: solid(color), width: 2}, append(ring, ring[0])...)
		words := shorten(clean(s.Peak.Tip), small, false, 170)
		w := measure(words, small, false)
		x, y := p.x+10, p.y-8
		if x+w > area.right {
			x = p.x - 10 - w
		}
		if words != "" {
			c.rect(x-2, y-11, w+4, 15, paint{background, 0.85})
			c.text(x, y, atStart, small, ink, words, 0)
		}
	})
}

func (l *Lines) table() (columns []string, rows [][]string) {
	columns = []string{"series", cmp.Or(l.X.Label, "x"), cmp.Or(l.Y.Label, "y"), "low", "high", "note"}
	add := func(y Axis, s Series) {
		for _, at := range s.Points {
			if usable(at.X, false) && usable(at.Y, false) {
				row := []string{s.Name, l.X.format(at.X), y.format(at.Y), "", "", at.Tip}
				if interval(at.Low, at.High, false) {
					row[3], row[4] = y.format(at.Low), y.format(at.High)
				}
				rows = append(rows, row)
			}
		}
		if s.Peak != nil && usable(s.Peak.X, false) && usable(s.Peak.Y, false) {
			rows = append(rows, []string{s.Name, l.X.format(s.Peak.X), y.format(s.Peak.Y), "", "", "peak " + s.Peak.Tip})
		}
	}
	for _, s := range l.Series {
		add(l.Y, s)
	}
	if l.Tail != nil {
		for _, s := range l.Tail.Series {
			s.Name += ", " + cmp.Or(l.Tail.Y.Label, "tail")
			add(l.Tail.Y, s)
		}
	}
	return columns, rows
}
