package workload

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// quantiles reads a list of at least three numbers in ascending order. It also accepts the forms that
// l.bounds accepts: two numbers, and a single number if the parameter "single" is true. For these forms,
// the result "list" is nil. The results "low" and "high" are the least and the greatest number.
func (l *resolver) quantiles(n *yaml.Node, what, example string, least int64, single bool) (low, high int64, list []int64) {
	if n.Kind != yaml.SequenceNode || len(n.Content) < 3 {
		low, high = l.bounds(n, what, example, least, single)
		return low, high, nil
	}
	var items []*yaml.Node
	if l.countWithin(n, what, len(n.Content), plan.MaxValues) {
		items = l.list(n)
	}
	for _, n := range items {
		x, ok := l.number(n, what, least)
		if last := len(list) - 1; ok && last >= 0 && x < list[last] {
			l.errorf(n, "%s has %d after %d: want the least first", what, x, list[last])
			x = list[last]
		}
		list = append(list, x)
	}
	if len(list) == 0 {
		return max(least, 0), max(least, 0), nil
	}
	return list[0], list[len(list)-1], list
}

// weights reads a mapping from values to their weights, and appends the weights to
// c.Generator.Weights. It reads each key with the function "value".
func (l *resolver) weights(c *columnInfo, n *yaml.Node, example string, value func(*yaml.Node)) {
	what := c.full + ": " + c.Generator.Kind
	f, ok := l.mapping(n, what, example)
	if !ok || !l.countWithin(n, what, len(f.keys), plan.MaxValues) {
		c.broken = true
		return
	}
	sum := int64(0)
	for i, k := range f.keys {
		value(k)
		w := l.numberWithin(f.values[i], "the weight of "+describe(k), 0, plan.MaxCount, 0)
		c.Generator.Weights = append(c.Generator.Weights, w)
		sum += w
	}
	if sum == 0 {
		l.errorf(n, "%s: the weights are 0 in all: want one of at least 1, such as %s", what, example)
	}
}

// bounds reads [least, greatest]. If the parameter "single" is true, it also reads a single number,
// which is then both bounds.
func (l *resolver) bounds(n *yaml.Node, what, example string, least int64, single bool) (low, high int64) {
	if single && n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		low, _ = l.number(n, what, least)
		return low, low
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		l.errorf(n, "%s is %s: want the least and the greatest, such as %s", what, describe(n), example)
		return max(least, 0), max(least, 0)
	}
	items := l.list(n)
	low, ok := l.number(items[0], what, least)
	high, ok2 := l.number(items[1], what, least)
	if ok && ok2 && low > high {
		l.errorf(n, "%s goes from %d to %d: want the least first", what, low, high)
	}
	return low, max(low, high)
}

func (l *resolver) realBounds(at *yaml.Node, what string) (low, high float64, list []float64) {
	items := l.list(at)
	if len(items) < 2 || len(items) > plan.MaxValues {
		l.errorf(at, "%s: real is %s: want the least and the greatest, such as real: [0, 1]", what, describe(at))
		return 0, 1, nil
	}
	for i, n := range items {
		x, err := strconv.ParseFloat(n.Value, 64)
		if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			l.errorf(n, "%s: real: bad number %s: want one such as 0.5", what, describe(n))
			x = 0
		}
		list = append(list, x)
		if i > 0 && list[i-1] > list[i] {
			if len(items) == 2 {
				n = at
			}
			l.errorf(n, "%s: real goes from %v to %v: want the least first", what, list[i-1], list[i])
			list[i] = list[i-1]
		}
	}
	if low, high = list[0], list[len(list)-1]; len(list) == 2 {
		list = nil
	}
	return low, high, list
}

// skew reads the exponent of a Zipf distribution. It returns the parameter "missing" for a nil node, and 1.1
// after a problem.
func (l *resolver) skew(n *yaml.Node, missing float64) float64 {
	if n == nil {
		return missing
	}
	x, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || !(x >= 0.01 && x <= 20) {
		l.errorf(n, "skew is %s: want a number from 0.01 to 20, such as 1.1", describe(n))
		return 1.1
	}
	if d := math.Abs(x - 1); d > 0 && d < 1e-6 {
		return 1
	}
	return x
}

// permille reads a percentage, such as 5% or 0.1%, and returns it in thousandths: 50 for 5%. It
// returns 0 for a nil node.
func (l *resolver) permille(n *yaml.Node) int64 {
	if n == nil {
		return 0
	}
	share, percent := strings.CutSuffix(n.Value, "%")
	x, err := strconv.ParseFloat(share, 64)
	p := math.Round(x * 10)
	if n.Kind != yaml.ScalarNode || !percent || err != nil || !(p >= 0 && p <= 1000) || math.Abs(p-x*10) > 1e-9 {
		l.errorf(n, "nulls is %s: want a share with at most one decimal, such as 5%%", describe(n))
		return 0
	}
	return int64(p)
}

// times reads the generator "time": one time with an optional step, or the bounds of random times.
func (l *resolver) times(c *columnInfo, f *fields, n *yaml.Node) {
	gen, step := &c.Generator, f.get("step")
	if n.Kind == yaml.SequenceNode {
		if len(n.Content) != 2 {
			l.errorf(n, "%s: time is a list of %d: want the first and the last, such as time: [2024-01-01, 2025-01-01]", c.full, len(n.Content))
			return
		}
		items := l.list(n)
		gen.Low, gen.High = l.time(items[0], c.full), l.time(items[1], c.full)
		if gen.Low >= gen.High {
			l.errorf(n, "%s: time goes from %s to %s: want the earlier first", c.full, items[0].Value, items[1].Value)
		}
		if step != nil {
			l.errorf(step, "%s: random times have no step: leave it out, or write one time", c.full)
		}
		return
	}
	gen.Low = l.time(n, c.full)
	gen.High = gen.Low
	if step == nil {
		return
	}
	d, err := time.ParseDuration(step.Value)
	if err != nil || step.Kind != yaml.ScalarNode || d%time.Millisecond != 0 {
		l.errorf(step, "%s: step is %s: want a duration of whole milliseconds, such as 1m or 250ms", c.full, describe(step))
		return
	}
	gen.Step = d.Milliseconds()
}

// time reads a point in time as milliseconds since the Unix epoch. It reports a problem and returns 0 if n
// has no such value.
func (l *resolver) time(n *yaml.Node, what string) int64 {
	if n.Kind == yaml.ScalarNode {
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, n.Value); err == nil {
				return t.UnixMilli()
			}
		}
	}
	l.errorf(n, "%s: bad time %s: want one such as 2023-10-01T10:00:00Z or 2023-10-01", what, describe(n))
	return 0
}
