package chart

import (
	"math"
	"slices"
)

type scale struct {
	log      bool
	min, max float64
	from, to float64 // positions of min and max in pixels
}

type extent struct {
	least, most float64 // the least and the greatest value
	positive    float64 // the least positive value
	any         bool
}

func (e *extent) add(values ...float64) {
	for _, v := range values {
		if !usable(v, false) {
			continue
		}
		if !e.any {
			e.least, e.most, e.positive, e.any = v, v, math.Inf(1), true
		}
		e.least, e.most = min(e.least, v), max(e.most, v)
		if usable(v, true) {
			e.positive = min(e.positive, v)
		}
	}
}

func (e *extent) log() bool {
	return e.any && e.least > 0 && usable(e.least, true) && e.most/e.least >= 20
}

// logSteps reports whether a logarithmic scale spaces the values more evenly than a linear one, as
// it does for 1, 2, 4, 8. The values must be sorted and distinct.
func logSteps(values []float64) bool {
	if len(values) < 3 || !usable(values[0], true) {
		return false
	}
	unevenness := func(of func(float64) float64) float64 {
		mean := (of(values[len(values)-1]) - of(values[0])) / float64(len(values)-1)
		sum := 0.0
		for i := range values[1:] {
			sum += math.Abs(of(values[i+1])-of(values[i])-mean) / mean
		}
		return sum
	}
	return unevenness(math.Log) < unevenness(func(v float64) float64 { return v })
}

// scale returns a scale that includes all values. It reports false if there are no values that can
// be drawn. If the parameter "zero" is true, a linear scale also includes 0.
func (e *extent) scale(log, zero bool) (scale, bool) {
	s := scale{log: log, min: e.least, max: e.most}
	if !e.any {
		return s, false
	}
	if log {
		if s.min = e.positive; math.IsInf(s.min, 1) {
			return s, false
		}
		if s.max < s.min*1.2 {
			s.min, s.max = s.min/1.5, s.max*1.5
		}
		return s, true
	}
	if zero {
		s.min, s.max = min(s.min, 0), max(s.max, 0)
	}
	// A span too small for the precision of numbers would have no ticks, so it is widened.
	if least := max(math.Abs(s.min), math.Abs(s.max)) * 1e-6; s.max-s.min <= least {
		if least == 0 {
			least = 1
		}
		s.min, s.max = s.min-least, s.max+least
	}
	return s, true
}

func (s scale) part(v float64) float64 {
	if s.log {
		return math.Log(v/s.min) / math.Log(s.max/s.min)
	}
	return (v - s.min) / (s.max - s.min)
}

func (s scale) at(v float64) float64 {
	return s.from + (s.to-s.from)*min(max(s.part(v), 0), 1)
}

func (s scale) inside(v float64) bool { return usable(v, s.log) && v >= s.min && v <= s.max }

func (s *scale) pad(part float64) {
	if s.log {
		f := math.Pow(s.max/s.min, part)
		s.min, s.max = s.min/f, s.max*f
		return
	}
	d := (s.max - s.min) * part
	s.min, s.max = s.min-d, s.max+d
}

// roundUp extends a linear scale to the first tick at or above its maximum, if a value at that tick
// can be drawn. n is the approximate number of ticks.
func (s *scale) roundUp(n int, binary bool) {
	if s.log {
		return
	}
	step := niceStep((s.max-s.min)/float64(n), binary)
	if up := math.Ceil(s.max/step-1e-9) * step; usable(up, false) {
		s.max = up
	}
}

func niceStep(least float64, binary bool) float64 {
	if binary && least >= 1 {
		return math.Exp2(math.Ceil(math.Log2(least) - 1e-9))
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= least*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// ticks returns about n round values in the range of the scale, and never more than 2n.
func (s scale) ticks(n int, binary bool) []float64 {
	var list []float64
	if s.log {
		if list = s.logTicks(n, binary); len(list) >= 2 || n < 2 {
			return list
		}
		list = nil // the scale covers less than a decade, so ticks are as on a linear scale
	}
	step := niceStep((s.max-s.min)/float64(n), binary)
	if !(step > 0) {
		return nil
	}
	first := math.Ceil(s.min/step - 1e-9)
	for i := range 2*n + 2 {
		v := (first + float64(i)) * step
		if v > s.max+step*1e-9 {
			break
		}
		if usable(v, s.log) {
			list = append(list, v)
		}
	}
	return list
}

// logTicks returns at most n round values: powers of a base, or multiples of such powers.
func (s scale) logTicks(n int, binary bool) []float64 {
	base, multiples := 10.0, [][]float64{{1, 1.5, 2, 3, 4, 5, 7}, {1, 2, 5}, {1, 3}, {1}}
	if binary {
		base, multiples = 2, [][]float64{{1}}
	}
	first := int(math.Floor(math.Log(s.min)/math.Log(base) - 1e-9))
	last := int(math.Ceil(math.Log(s.max)/math.Log(base) + 1e-9))
	for _, m := range multiples {
		var list []float64
		for p := first; p <= last && len(list) <= n; p++ {
			for _, f := range m {
				if v := f * math.Pow(base, float64(p)); s.inside(v) {
					list = append(list, v)
				}
			}
		}
		if len(list) <= n {
			return list
		}
	}
	stride := (last-first)/max(n, 1) + 1
	var list []float64
	for p := first - ((first%stride)+stride)%stride; p <= last; p += stride {
		if v := math.Pow(base, float64(p)); s.inside(v) {
			list = append(list, v)
		}
	}
	return list
}

type tick struct {
	at    float64
	label string
	width float64
}

// across returns the ticks of a horizontal axis, whose labels do not overlap. If the list "values" has 1 to
// 12 values, the ticks are at these values, unless their labels would overlap.
func (a Axis) across(s scale, values []float64) []tick {
	if 0 < len(values) && len(values) <= 12 {
		if list, ok := a.label(s, values, true); ok {
			return list
		}
	}
	return a.ticks(s, 8, true)
}

func (a Axis) up(s scale) []tick {
	return a.ticks(s, max(2, int(math.Abs(s.from-s.to)/34)), false)
}

// ticks returns ticks at round values: about n ticks or, if there is no room for so many labels, fewer.
func (a Axis) ticks(s scale, n int, beside bool) []tick {
	for ; n > 1; n-- {
		if list, ok := a.label(s, s.ticks(n, a.Binary), beside); ok {
			return list
		}
	}
	list, _ := a.label(s, s.ticks(1, a.Binary), beside)
	if beside {
		list = list[:min(1, len(list))]
	}
	return list
}

// label returns ticks at the given values, with their labels. It reports false if two labels are equal. If
// the parameter "beside" is true, it also reports false if two labels overlap.
func (a Axis) label(s scale, values []float64, beside bool) ([]tick, bool) {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	var list []tick
	ok := true
	for _, v := range values {
		t := tick{at: s.at(v), label: shorten(clean(a.formatTick(v)), small, false, 90)}
		t.width = measure(t.label, small, false)
		if n := len(list); n > 0 {
			before := list[n-1]
			if before.label == t.label || beside && t.at-before.at < (t.width+before.width)/2+10 || !beside && before.at-t.at < 16 {
				ok = false
			}
		}
		list = append(list, t)
	}
	return list, ok
}

func (c *canvas) tickLabel(t tick, y float64) {
	x := min(max(t.at, padding/2+t.width/2), c.width-padding/2-t.width/2)
	c.text(x, y, atMiddle, small, faint, t.label, 0)
}

// drawAcross draws a horizontal axis at the y "bottom", with its labels below and grid lines up to
// the y "top". It returns the y at which the labels end.
func (c *canvas) drawAcross(ticks []tick, s scale, top, bottom float64, label string) float64 {
	for _, t := range ticks {
		c.line(thin(grid), point{t.at, top}, point{t.at, bottom})
		c.tickLabel(t, bottom+14)
	}
	bottom += 18
	label = withLog(label, s.log)
	for _, words := range wrap(clean(label), small, false, c.width-2*padding, 2) {
		bottom += 14
		c.text(max(padding, min(s.from, c.width-padding-measure(words, small, false))), bottom, atStart, small, faint, words, 0)
	}
	if label != "" {
		bottom += 4
	}
	return bottom
}

// withLog returns the label of an axis. If the parameter "log" is true, the label says that the
// axis is logarithmic.
func withLog(label string, log bool) string {
	switch {
	case !log:
		return label
	case label == "":
		return "logarithmic scale"
	}
	return label + " (logarithmic scale)"
}
