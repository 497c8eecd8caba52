package imitate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// steps returns the first value of a generator "serial" and the distance between its values. With
// these, the generator has about the same range as the column's values.
func (b *builder) steps(c *classStats, t *table) (low, step int64) {
	bounds := b.anonymousInts([]int64{c.low, c.high})
	if c.low > -100 && c.low < 100 {
		bounds[0] = c.low
	}
	step = 1
	if t.rows > 1 {
		step = max(1, int64((float64(bounds[1])-float64(bounds[0]))/float64(t.rows-1)))
	}
	if c.high-c.low == t.rows-1 {
		step = 1
	}
	return bounds[0], step
}

func (b *builder) integers(d *dataSet, c *column, s *classStats) generated {
	t, st := d.table, &c.stats
	low, step := b.steps(s, t)
	switch {
	case c.unique && !st.several() && !st.ascends() && !d.more:
		return generated{kind: "shuffle", value: fmt.Sprintf("[%d, %d + %d * ($%s - 1)]", low, low, step, t.set), also: []string{fmt.Sprintf("step: %d", step)}}
	case c.unique || st.ascends() && st.distinctive() && !st.several():
		return d.serial(low, step)
	case len(st.few) > 1:
		return b.fewInts(c)
	case st.ascends() && !st.several() && !d.more:
		bounds := b.anonymousInts([]int64{s.low, s.high})
		return generated{kind: "serial", value: fmt.Sprint(bounds[0]), also: []string{fmt.Sprintf("step: %d", bounds[1]-bounds[0]), "every: $" + t.set}}
	}
	n := s.distinct.values()
	if n > 1 && n < s.n/2 && float64(n) < 0.5*(float64(s.high)-float64(s.low)) {
		bounds := b.anonymousInts([]int64{s.low, s.high})
		step := max(1, (bounds[1]-bounds[0])/(n-1))
		return b.fromFew(t, c, s, generated{kind: "shuffle", value: fmt.Sprintf("[%d, %d]", bounds[0], bounds[0]+step*(n-1)), also: []string{fmt.Sprintf("step: %d", step)}})
	}
	return generated{kind: "int", value: list(b.anonymousInts(quantiles(s.numbers.sample, intervals)))}
}

// fewInts returns the generator of a column that has few distinct integers. Each integer, or its
// replacement, is as frequent as in the database.
func (b *builder) fewInts(c *column) generated {
	values := fewOf[int64](c)
	slices.Sort(values)
	var parts []string
	used := map[int64]bool{}
	for i, v := range values {
		name := v
		if !b.keep && (v >= 1000 || v <= -1000) {
			digits := len(strconv.FormatInt(v, 10))
			if v < 0 {
				digits--
			}
			name = int64(math.Pow10(digits-1)) + int64(i)
			if v < 0 {
				name = -int64(math.Pow10(digits-1)) - int64(len(values)-i)
			}
		}
		for used[name] {
			name++
		}
		used[name] = true
		c.call("i"+strconv.FormatInt(v, 10), strconv.FormatInt(name, 10))
		parts = append(parts, fmt.Sprintf("%d: %d", name, c.weight(v)))
	}
	return generated{kind: "int", value: "{" + strings.Join(parts, ", ") + "}"}
}

func (b *builder) realNumbers(t *table, c *column, s *classStats) generated {
	bounds := quantiles(s.real.sample, intervals)
	if !b.keep {
		bounds = anonymousReals(bounds)
	}
	g := generated{kind: "real", value: list(bounds)}
	if n := s.distinct.values(); n < s.n/2 {
		return b.fromFew(t, c, s, g)
	}
	return g
}

// anonymousInts returns integers with about the same range and distribution as the integers in
// "list", which must be in ascending order. It rounds them, or moves all of them if they are too
// near each other for rounding. If b.keep is true or all numbers are below 1000, it returns them
// unchanged.
func (b *builder) anonymousInts(list []int64) []int64 {
	list = slices.Clone(list)
	low, high := list[0], list[len(list)-1]
	size := math.Max(math.Abs(float64(low)), math.Abs(float64(high)))
	if b.keep || size < 1000 {
		return list
	}
	spread := float64(high) - float64(low)
	if size >= 1e5 && spread < size/100 {
		unit := int64(math.Pow10(int(math.Log10(size)) - 1))
		for i := range list {
			list[i] += low/unit*unit - low
		}
		low = low / unit * unit
	}
	if spread >= 500 {
		grid := int64(math.Pow10(int(math.Log10(spread / 50))))
		for i, x := range list {
			list[i] = x - x%grid
		}
		return list
	}
	base := int64(math.Pow10(int(math.Log10(size))))
	if high < 0 {
		base = -base - int64(spread)
	}
	for i := range list {
		list[i] += base - low
	}
	return list
}

// anonymousReals returns rounded numbers with about the same range and distribution as the numbers
// in "list".
func anonymousReals(list []float64) []float64 {
	list = slices.Clone(list)
	spread := list[len(list)-1] - list[0]
	if !(spread > 0) || math.IsInf(spread, 0) {
		spread = math.Max(math.Abs(list[0]), 1)
		if math.IsInf(spread, 0) {
			spread = 1e300
		}
	}
	digits := int(math.Floor(math.Log10(spread / 20)))
	for i, x := range list {
		x = math.Max(-1e300, math.Min(1e300, x))
		rounded := math.Round(x/math.Pow10(digits)) * math.Pow10(digits)
		// The product may have more digits than the rounded number should have.
		text := strconv.FormatFloat(rounded, 'f', max(0, -digits), 64)
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) {
			rounded = f
		}
		list[i] = rounded
	}
	return list
}
