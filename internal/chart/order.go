package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Order shows samples in the order in which they were measured, with a running median of each
// series, so that drift and outliers can be seen. If there are many samples, only the least and
// the greatest sample of each series are drawn in each column of pixels.
type Order struct {
	X, Y   Axis
	Series []Samples
	Plain  bool // samples have neither tooltips nor links, which would take most of the file's space
}

// Samples is one data series of the chart [Order].
type Samples struct {
	Name   string
	Look   Look // the zero Look means the default look for the series' index
	Points []Sample
}

// Sample is a point of [Samples].
type Sample struct {
	X    float64 // position of the sample in the order of measurement
	Y    float64
	Tip  string
	Link string
}

// mostSamples is the greatest number of samples for which each sample has a tooltip.
const mostSamples = 600

func (o *Order) draw(title string, width int) *canvas {
	c, y := newCanvas(title, width)
	var xs, ys extent
	var names []string
	var looks []Look
	n := 0
	for i, s := range o.Series {
		names, looks = append(names, s.Name), append(looks, s.Look.or(i))
		for _, at := range s.Points {
			if usable(at.X, false) && usable(at.Y, false) {
				xs.add(at.X)
				ys.add(at.Y)
				n++
			} else {
				c.left++
			}
		}
	}
	log := o.log(ys)
	sx, okX := xs.scale(false, false)
	sy, okY := ys.scale(log, !log && ys.least >= 0 && ys.most > 1.5*ys.least)
	if !okX || !okY {
		return c.nothing(y)
	}
	sx.pad(0.02)
	sy.pad(0.04)
	if !log && ys.least >= 0 {
		sy.min = max(sy.min, 0)
	}
	if len(names) > 1 {
		y = c.seriesLegend(y, names, looks)
	}
	height := plotHeight(c.width)
	y = c.above(y, o.Y.Label, log)
	area := c.newPlot(y, o.Y.besides(sy, height), height, sx, sy, o.Y)
	foot := c.across(area, o.X.across(area.x, nil), o.X.Label)
	drawn := 0
	ordered := make([][]Sample, len(o.Series))
	for i, s := range o.Series {
		ordered[i] = slices.DeleteFunc(slices.Clone(s.Points), func(at Sample) bool {
			return !area.x.inside(at.X) || !area.y.inside(at.Y)
		})
		slices.SortStableFunc(ordered[i], func(a, b Sample) int { return cmp.Compare(a.X, b.X) })
		drawn += c.samples(area, o, s.Name, ordered[i], looks[i], n <= mostSamples && !o.Plain)
	}
	for i, s := range o.Series {
		c.median(area, s.Name, ordered[i], looks[i])
	}
	c.note("Lines are running medians")
	if drawn < n {
		c.note("Of %s samples, %s are drawn: the least and the greatest of each series in each column of pixels", thousands(n), thousands(drawn))
	}
	return c.foot(foot, count(n, "sample", "samples")+" in the order measured", o.Y.Label)
}

// log reports whether the axis Y is logarithmic. Either of two conditions is enough: the greatest
// median of a series is at least 20 times the least median, or the greatest value is at least 100 times
// the least value. So a few moderate outliers do not make the axis logarithmic.
func (o *Order) log(all extent) bool {
	if all.any && all.least <= 0 {
		return false
	}
	var medians extent
	for _, s := range o.Series {
		var values []float64
		for _, at := range s.Points {
			if usable(at.Y, true) {
				values = append(values, at.Y)
			}
		}
		if len(values) > 0 {
			slices.Sort(values)
			medians.add(values[len(values)/2])
		}
	}
	return medians.log() || all.any && all.most/all.least >= 100
}

func (c *canvas) samples(area plot, o *Order, name string, points []Sample, l Look, each bool) int {
	if each {
		for _, at := range points {
			p := area.at(at.X, at.Y)
			c.mark([]string{name, o.X.format(at.X) + ": " + o.Y.format(at.Y), at.Tip}, at.Link, func() {
				c.marker(l, p.x, p.y, 2.4, paint{l.role(), 0.75})
			})
		}
		return len(points)
	}
	var dots [][]point
	var low, high point
	column := math.Inf(-1)
	add := func() {
		if !math.IsInf(column, 0) {
			dots = append(dots, []point{low, low})
			if high != low {
				dots = append(dots, []point{high, high})
			}
		}
	}
	for _, at := range points {
		p := area.at(at.X, at.Y)
		if x := math.Floor(p.x); x != column {
			add()
			column, low, high = x, p, p
			continue
		}
		if p.y > low.y {
			low = p
		}
		if p.y < high.y {
			high = p
		}
	}
	add()
	if len(dots) > 0 {
		c.add(pathShape{lines: dots, stroke: stroke{paint: paint{l.role(), 0.55}, width: 2.6, round: true}})
	}
	return len(dots)
}

// median draws the running median of a series. Its points are at least two pixels apart. Each point is
// the median of a fifteenth of the samples, but of at least 5 and at most 501 samples.
func (c *canvas) median(area plot, name string, points []Sample, l Look) {
	half := min(max(len(points)/15, 5), 501) / 2
	var line []point
	var window []float64
	for j := half; j+half < len(points); j++ {
		x := area.x.at(points[j].X)
		if len(line) > 0 && x-line[len(line)-1].x < 2 {
			continue
		}
		window = window[:0]
		for _, at := range points[j-half : j+half+1] {
			window = append(window, at.Y)
		}
		slices.Sort(window)
		line = append(line, point{x, area.y.at(window[half])})
	}
	if len(line) > 1 {
		c.mark([]string{name, fmt.Sprintf("running median of %d samples", 2*half+1)}, "", func() { c.line(l.stroke(), line...) })
	}
}

func (o *Order) table() (columns []string, rows [][]string) {
	columns = []string{"series", cmp.Or(o.X.Label, "order"), cmp.Or(o.Y.Label, "value"), "note"}
	for _, s := range o.Series {
		for _, at := range s.Points {
			if usable(at.X, false) && usable(at.Y, false) {
				rows = append(rows, []string{s.Name, o.X.format(at.X), o.Y.format(at.Y), at.Tip})
			}
		}
	}
	return columns, rows
}
