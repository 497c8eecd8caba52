package chart

import (
	"math"
	"slices"
	"strconv"
)

// Percentiles shows distributions of latencies, one line for each, on the scale of
// HdrHistogram: the x of a percentile p (0 to 1) is the logarithm of 1/(1-p), so that 99.9 %
// is as far from 99 % as 99 % is from 90 %. See https://hdrhistogram.github.io/HdrHistogram/.
type Percentiles struct {
	Axis   Axis
	Series []Distribution
}

// Distribution is a line of [Percentiles].
type Distribution struct {
	Name   string
	Look   Look // the zero Look means the default look for the distribution's index
	Points []Percentile
	Link   string
}

// Percentile is one point of a distribution. Of all values, Percentile percent (0 to 100) are less
// than or equal to Value. Percentile 100 is the largest value, which is shown at the end of the
// axis.
type Percentile struct {
	Percentile, Value float64
	Tip               string // additional lines of the tooltip
}

// tail returns 1/(1-p), where 1-p is the share of the values that exceed the percentile. It
// returns infinity for percentile 100.
func (p Percentile) tail() float64 { return 100 / (100 - p.Percentile) }

func (p Percentile) known() bool { return p.Percentile >= 0 && p.Percentile <= 100 }

func (p *Percentiles) draw(title string, width int) *canvas {
	c, y := newCanvas(title, width)
	var xs, ys extent
	largest := false
	for _, d := range p.Series {
		for _, at := range d.Points {
			if at.known() {
				xs.add(at.tail())
				ys.add(at.Value)
				largest = largest || at.Percentile == 100
			}
		}
	}
	sy, okY := ys.scale(ys.log(), true)
	if !okY {
		return c.nothing(y)
	}
	xs.add(1, 10)
	sx, _ := xs.scale(true, false)
	end := sx.max // x of the largest values
	if largest {
		sx.max *= math.Pow(10, 0.12*math.Log10(sx.max/sx.min))
		end = sx.max
	}
	sy.pad(0.03)
	if !sy.log {
		sy.min = max(sy.min, min(ys.least, 0))
	}
	var names []string
	var looks []Look
	for i, d := range p.Series {
		names, looks = append(names, d.Name), append(looks, d.Look.or(i))
	}
	y = c.seriesLegend(y, names, looks)
	height := plotHeight(c.width)
	y = c.above(y, p.Axis.Label, sy.log)
	area := c.newPlot(y, p.Axis.besides(sy, height), height, sx, sy, p.Axis)
	foot := c.across(area, percentileTicks(area.x, largest), "percentile, on the scale of HdrHistogram")
	for i, d := range p.Series {
		var line []point
		var points []Percentile
		for _, at := range d.Points {
			if !at.known() || !usable(at.Value, sy.log) {
				c.left++
				continue
			}
			points, line = append(points, at), append(line, point{min(at.tail(), end), at.Value})
		}
		if len(line) >= CurvePoints {
			c.mark([]string{d.Name}, d.Link, func() { c.curve(area, looks[i].stroke(), line) })
		}
		for j, at := range points {
			if len(points) > 60 && j%(len(points)/30) != 0 && j != len(points)-1 {
				continue
			}
			words := strconv.FormatFloat(at.Percentile, 'f', -1, 64) + " %: " + p.Axis.format(at.Value)
			c.mark([]string{d.Name, words, at.Tip}, d.Link, func() {
				q := area.at(line[j].x, line[j].y)
				c.marker(looks[i], q.x, q.y, 3, solid(looks[i].role()))
			})
		}
	}
	return c.foot(foot, "Latency by percentile of "+count(len(p.Series), "series", "series"), p.Axis.Label)
}

// percentileTicks returns ticks at 0, 50, 75, 90, 99, 99.9 and so on, as many as there is room
// for. If the parameter "largest" is true, there is also a tick at the end, for the largest
// values.
func percentileTicks(s scale, largest bool) []tick {
	a := Axis{Format: func(tail float64) string {
		if largest && tail == s.max {
			return "max"
		}
		return strconv.FormatFloat(100-100/tail, 'f', -1, 64) + " %"
	}}
	var list []tick
	for _, first := range [][]float64{{1, 2, 4}, {1, 2}, {1}} {
		values := first
		for tail := 10.0; tail <= s.max*1.01 && len(values) < 20; tail *= 10 {
			values = append(values, tail)
		}
		if largest {
			values = append(slices.DeleteFunc(values, func(tail float64) bool { return tail > s.max*0.6 }), s.max)
		}
		var ok bool
		if list, ok = a.label(s, values, true); ok {
			return list
		}
	}
	for i := len(list) - 2; i > 0; i -= 2 {
		list = slices.Delete(list, i, i+1)
	}
	return list
}

func (p *Percentiles) table() (columns []string, rows [][]string) {
	columns = []string{"series", "percentile", "value"}
	for _, d := range p.Series {
		for _, at := range d.Points {
			if at.known() && usable(at.Value, false) {
				rows = append(rows, []string{d.Name, strconv.FormatFloat(at.Percentile, 'f', -1, 64), p.Axis.format(at.Value)})
			}
		}
	}
	return columns, rows
}
