package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// columnInfo is a column, or a parameter of a statement, while it is being read.
type columnInfo struct {
	plan.Column
	full     string // the name in errors: users.id
	node     *yaml.Node
	set      *setInfo // nil: a parameter
	siblings map[string]*columnInfo
	of       []*yaml.Node  // the nodes that Generator.Of was read from
	at       *yaml.Node    // the node that Generator.At was read from
	sources  []*columnInfo // the columns of Generator.Of, unless broken
	state    checkState
	broken   bool  // a problem has been noted; the type can't be relied on
	made     int   // values that one value is made from, itself included
	bytes    int64 // the greatest length of a value
}

type checkState uint8

const (
	unchecked checkState = iota
	checking
	checked
)

// readColumn reads a column and adds it to its siblings.
func (l *resolver) readColumn(c *columnInfo, name string) {
	c.Name = name
	before := l.found
	l.generator(c)
	c.broken = l.found > before
	c.siblings[name] = c
}

// generator reads how a column is made. The type of ref and pick is that of
// their source, which checkColumn finds.
func (l *resolver) generator(c *columnInfo) {
	n, gen := c.node, &c.Generator
	c.Type = driver.Int
	switch n.Kind {
	case yaml.ScalarNode:
		l.shorthand(c)
		return
	case yaml.SequenceNode:
		l.errorf(n, "%s is a list: want a generator, such as {choice: [a, b]}", c.full)
		gen.Kind = plan.GenNull
		return
	}
	gen.Kind = plan.GenNull // until the kind is known
	f, ok := l.mapping(n, c.full, "{int: [1, 100]}")
	if !ok {
		return
	}
	var kinds []string
	for _, k := range f.keys {
		if slices.Contains(generatorKinds(), k.Value) {
			kinds = append(kinds, k.Value)
		}
	}
	switch len(kinds) {
	case 0:
		if len(f.keys) == 0 {
			l.errorf(n, "%s has no generator: want one, such as {int: [1, 100]}", c.full)
		} else {
			l.errorf(f.keys[0], "%s has no generator, but %q: %s", c.full, f.keys[0].Value, driver.Suggest(f.keys[0].Value, generatorKinds()))
		}
		return
	case 1:
	default:
		l.errorf(f.key(kinds[1]), "%s has two generators, %s and %s: leave one of them out", c.full, kinds[0], kinds[1])
		return
	}
	kind := kinds[0]
	known := append([]string{kind}, options(kind)...)
	if c.set == nil {
		known = slices.DeleteFunc(known, func(k string) bool { return k == "hidden" })
	}
	for _, k := range f.keys {
		if bounded := []string{plan.GenInt, plan.GenZipf, plan.GenReal, plan.GenText, plan.GenBlob, plan.GenHex, plan.GenShuffle, plan.GenWords}; k.Tag != "!!int" && k.Tag != "!!float" || !slices.Contains(bounded, kind) {
			continue
		}
		l.errorf(k, "unknown key %q in %s: write %s: [%s, %s]", k.Value, c.full, kind, f.get(kind).Value, k.Value)
		return
	}
	l.known(f, c.full, known)
	gen.Kind = kind
	l.kind(c, f, f.get(kind))
	c.Hidden = l.flag(f.get("hidden"), "hidden")
	if n := f.get("nulls"); n != nil {
		gen.NullPermille = l.permille(n)
	}
	if n := f.get("type"); l.is("bool", n, "type", "int", "bool") {
		c.Type = driver.Bool
		if gen.Low < 0 || gen.High > 1 {
			l.errorf(n, "%s goes from %d to %d, which is not a bool: want int: [0, 1]", c.full, gen.Low, gen.High)
		}
	}
}

// shorthand reads a generator that is written as one word.
func (l *resolver) shorthand(c *columnInfo) {
	n, gen := c.node, &c.Generator
	switch {
	case n.Tag == "!!str" && n.Value == plan.GenSerial:
		gen.Kind, gen.Low, gen.Step = plan.GenSerial, 1, 1
	case n.Tag == "!!str" && strings.HasPrefix(n.Value, "$"):
		gen.Kind = plan.GenConst
		gen.Int, _ = l.number(n, c.full, math.MinInt64)
	case n.Tag == "!!str" && strings.Contains(n.Value, ".") && !strings.ContainsAny(n.Value, " \t"):
		gen.Kind, gen.Of, c.of, c.Type = plan.GenRef, []string{n.Value}, []*yaml.Node{n}, 0
	case n.Tag == "!!str":
		l.errorf(n, "%s is %q, which is not a generator: %s", c.full, n.Value, cmp.Or(driver.DidYouMean(n.Value, []string{plan.GenSerial}),
			fmt.Sprintf("want serial, set.column or a mapping such as {const: %s}", n.Value)))
		gen.Kind = plan.GenNull
	default:
		l.constant(c, n)
	}
}

// constant reads one value for all rows. The column's type is that of the YAML.
func (l *resolver) constant(c *columnInfo, n *yaml.Node) {
	gen := &c.Generator
	gen.Kind = plan.GenConst
	var err error
	switch n.Tag {
	case "!!null":
		gen.Kind = plan.GenNull
	case "!!bool":
		var b bool
		c.Type = driver.Bool
		if err = n.Decode(&b); b {
			gen.Int = 1
		}
	case "!!int":
		err = n.Decode(&gen.Int)
	case "!!float":
		c.Type = driver.Real
		if err = n.Decode(&gen.RealLow); err == nil && (math.IsNaN(gen.RealLow) || math.IsInf(gen.RealLow, 0)) {
			l.errorf(n, "%s is %s: want a finite number", c.full, n.Value)
			gen.RealLow = 0
		}
	case "!!timestamp":
		c.Type, gen.Int = driver.Time, l.time(n, c.full)
	case "!!str":
		if strings.HasPrefix(n.Value, "$") && n.Style == 0 {
			gen.Int, _ = l.number(n, c.full, math.MinInt64)
			return
		}
		c.Type, gen.Text = driver.Text, n.Value
		if !utf8.ValidString(n.Value) {
			l.errorf(n, "%s is not UTF-8", c.full)
		}
	default:
		l.errorf(n, "%s is %s: want a value, such as 1, 2.5, true, 2024-01-01 or a text", c.full, describe(n))
	}
	if err != nil {
		l.errorf(n, "%s is %s, which does not fit into 64 bits: want a smaller number", c.full, describe(n))
	}
}

// kind reads the value of the generator's key.
func (l *resolver) kind(c *columnInfo, f *fields, n *yaml.Node) {
	gen := &c.Generator
	switch gen.Kind {
	case plan.GenSerial:
		gen.Low, _ = l.number(n, c.full+": serial", math.MinInt64)
		gen.Step = l.numberWithin(f.get("step"), "step", math.MinInt64, math.MaxInt64, 1)
		if n := f.get("every"); n != nil {
			gen.Every = l.numberWithin(n, "every", 1, plan.MaxCount, 1)
			if gen.Every > 1 && gen.Step < 0 {
				l.errorf(f.get("step"), "step is %d every %d rows: want at least 0", gen.Step, gen.Every)
				gen.Step = 0
			}
		}
	case plan.GenShuffle:
		gen.Low, gen.High = l.bounds(n, c.full+": shuffle", "shuffle: [1, 100]", math.MinInt64, false)
		gen.Step = l.numberWithin(f.get("step"), "step", 1, math.MaxInt64, 1)
	case plan.GenWords:
		c.Type = driver.Text
		gen.Low, gen.High, gen.Bounds = l.quantiles(n, c.full+": words", "words: [5, 40]", 0, true)
		if gen.High > plan.MaxWords {
			l.errorf(n, "%s has up to %d words: want at most %d", c.full, gen.High, plan.MaxWords)
			gen.Low, gen.High, gen.Bounds = 0, 0, nil
		}
		of := f.get("of")
		if of == nil {
			l.errorf(f.node, "%s: words of nothing: write of: and the column of a data set, such as of: vocabulary.word", c.full)
			c.broken = true
			return
		}
		l.readOf(c, []*yaml.Node{of})
		gen.Skew = l.skew(f.get("skew"), 0)
	case plan.GenCoalesce:
		l.readOf(c, l.list(n))
		if c.set == nil {
			l.errorf(n, "%s: a parameter cannot be coalesced: write coalesce(:a, :b) in the SQL", c.full)
		} else if other := cmp.Or(f.get("nulls"), f.get("hidden")); other != nil {
			l.errorf(other, "%s: SQLite coalesces what is inserted, so it takes neither nulls nor hidden: write nulls with each of %s", c.full, strings.Join(gen.Of, ", "))
		} else if len(gen.Of) < 2 {
			l.errorf(n, "%s: coalesce of %d columns: want at least two, such as [number, word]", c.full, len(gen.Of))
		}
	case plan.GenConst:
		l.constant(c, n)
	case plan.GenInt:
		if n.Kind == yaml.MappingNode {
			l.weights(c, n, "int: {7: 3, 9: 1}", func(k *yaml.Node) {
				x := int64(0)
				if k.Tag != "!!int" || k.Decode(&x) != nil {
					l.errorf(k, "%s: int of the value %s: want a whole number", c.full, describe(k))
				}
				gen.Bounds = append(gen.Bounds, x)
			})
			gen.Low, gen.High = math.MaxInt64, math.MinInt64
			for _, x := range gen.Bounds {
				gen.Low, gen.High = min(gen.Low, x), max(gen.High, x)
			}
			return
		}
		gen.Low, gen.High, gen.Bounds = l.quantiles(n, c.full+": int", "int: [1, 100]", math.MinInt64, false)
	case plan.GenZipf:
		gen.Low, gen.High = l.bounds(n, c.full+": zipf", "zipf: [1, 100]", math.MinInt64, false)
		gen.Skew = l.skew(f.get("skew"), 1.1)
	case plan.GenReal:
		c.Type = driver.Real
		gen.RealLow, gen.RealHigh, gen.RealBounds = l.realBounds(n, c.full)
	case plan.GenTime:
		c.Type = driver.Time
		l.times(c, f, n)
	case plan.GenText, plan.GenBlob, plan.GenHex:
		if c.Type = driver.Text; gen.Kind == plan.GenBlob {
			c.Type = driver.Blob
		}
		example := gen.Kind + ": 100 or " + gen.Kind + ": [10, 100]"
		if gen.Kind == plan.GenHex {
			gen.Low, gen.High = l.bounds(n, c.full+": hex", example, 0, true)
		} else {
			gen.Low, gen.High, gen.Bounds = l.quantiles(n, c.full+": "+gen.Kind, example, 0, true)
		}
		if gen.High > plan.MaxValueBytes {
			l.errorf(n, "%s has up to %d bytes: want at most %d", c.full, gen.High, int64(plan.MaxValueBytes))
			gen.High, gen.Bounds = gen.Low, nil
		}
	case plan.GenRepeat:
		c.Type = driver.Text
		gen.Text, _ = l.text(n, c.full+": repeat", `repeat: "text "`)
		if f.get("times") == nil {
			l.errorf(f.node, "%s: repeat without times: write times: 12", c.full)
		}
		gen.Times = l.numberWithin(f.get("times"), "times", 0, math.MaxInt64, 0)
		if len(gen.Text) > 0 && gen.Times > plan.MaxValueBytes/int64(len(gen.Text)) {
			l.errorf(n, "%s has %d times %d bytes: want at most %d", c.full, gen.Times, len(gen.Text), int64(plan.MaxValueBytes))
			gen.Times = 0
		}
	case plan.GenChoice:
		c.Type = driver.Text
		if n.Kind == yaml.MappingNode {
			l.weights(c, n, "choice: {red: 3, green: 1}", func(k *yaml.Node) { gen.Choice = append(gen.Choice, k.Value) })
			return
		}
		for _, n := range l.list(n) {
			if v, ok := l.text(n, c.full+": choice", "choice: [red, green]"); ok {
				gen.Choice = append(gen.Choice, v)
			}
		}
		if len(gen.Choice) == 0 {
			l.errorf(n, "%s: choice from nothing: want a list, such as [red, green]", c.full)
		}
	case plan.GenList:
		l.listed(c, n)
	case plan.GenFormat:
		c.Type = driver.Text
		gen.Format, _ = l.text(n, c.full+": format", `format: "user%08d"`)
		if of := f.get("of"); of != nil {
			l.readOf(c, l.list(of))
		}
	case plan.GenSHA256:
		c.Type = driver.Text
		l.readOf(c, []*yaml.Node{n})
		gen.Hex = l.is("hex", f.get("decode"), "decode", "hex")
	case plan.GenRef, plan.GenPick:
		c.Type = 0
		l.readOf(c, []*yaml.Node{n})
		if gen.Kind == plan.GenPick {
			gen.Skew = l.skew(f.get("skew"), 0)
			if n := f.get("at"); n != nil {
				gen.At, _ = l.text(n, c.full+": at", "the name of a column beside it")
				if c.at = n; gen.Skew != 0 {
					l.errorf(f.key("skew"), "%s: skew beside at, which says the row: leave skew out", c.full)
				}
			}
		}
	}
}

func (l *resolver) readOf(c *columnInfo, nodes []*yaml.Node) {
	for _, n := range nodes {
		if v, ok := l.text(n, c.full+": "+c.Generator.Kind, "the name of a column"); ok {
			c.Generator.Of = append(c.Generator.Of, v)
			c.of = append(c.of, n)
		}
	}
}

// quantiles reads bounds as bounds does, or a list of more than two of them. Then list has
// all of them.
func (l *resolver) quantiles(n *yaml.Node, what, example string, least int64, single bool) (low, high int64, list []int64) {
	if n.Kind != yaml.SequenceNode || len(n.Content) < 3 {
		low, high = l.bounds(n, what, example, least, single)
		return low, high, nil
	}
	if !l.countWithin(n, what, len(n.Content), plan.MaxValues) {
		return max(least, 0), max(least, 0), nil
	}
	for _, n := range l.list(n) {
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

// weights reads a mapping of values to weights.
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

// bounds reads [least, greatest]. If single is true, one number may be given for both.
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
	bound := func(n *yaml.Node) float64 {
		x, err := strconv.ParseFloat(n.Value, 64)
		if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			l.errorf(n, "%s: real: bad number %s: want one such as 0.5", what, describe(n))
			return 0
		}
		return x
	}
	for _, n := range items {
		list = append(list, bound(n))
		if i := len(list) - 1; i > 0 && list[i-1] > list[i] {
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

// skew reads the exponent of a Zipf distribution.
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

// permille reads a share, such as 5% or 0.1%.
func (l *resolver) permille(n *yaml.Node) int64 {
	share, percent := strings.CutSuffix(n.Value, "%")
	x, err := strconv.ParseFloat(share, 64)
	p := math.Round(x * 10)
	if n.Kind != yaml.ScalarNode || !percent || err != nil || !(p >= 0 && p <= 1000) || math.Abs(p-x*10) > 1e-9 {
		l.errorf(n, "nulls is %s: want a share with at most one decimal, such as 5%%", describe(n))
		return 0
	}
	return int64(p)
}

// times reads a time with a step, or the bounds of random times.
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

// time reads a point in time as milliseconds since the Unix epoch.
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

// checkColumn checks what a column is made from, and finds the type of ref and
// pick.
func (l *resolver) checkColumn(c *columnInfo) {
	if c.state == checked {
		return
	}
	if c.state == checking {
		l.errorf(c.node, "%s is made from itself: want a column that does not depend on it", c.full)
		c.broken = true
		return
	}
	c.state = checking
	before := l.found
	switch c.Generator.Kind {
	case plan.GenRef, plan.GenPick, plan.GenWords:
		l.checkSource(c)
		l.checkAt(c)
	case plan.GenFormat, plan.GenSHA256, plan.GenCoalesce:
		l.checkSiblings(c)
	}
	c.broken = c.broken || l.found > before
	c.state = checked
	if !c.broken {
		l.columnWithin(c)
	}
}

// checkSource checks ref and pick.
func (l *resolver) checkSource(c *columnInfo) {
	gen := &c.Generator
	src := l.column(c.of, gen.Of, c.full)
	if src != nil {
		l.checkColumn(src)
	}
	if src == nil || src.broken || c.broken {
		c.Type, c.broken = driver.Int, true
		return
	}
	n := c.of[0]
	if src.Generator.Kind == plan.GenCoalesce {
		l.errorf(n, "%s is made from %s, which only SQLite knows: want a column that is not coalesced", c.full, n.Value)
		return
	}
	c.sources = []*columnInfo{src}
	if gen.Kind != plan.GenWords {
		c.Type = src.Type
	}
	switch {
	case gen.Kind == plan.GenWords && src.Type != driver.Text:
		l.errorf(n, "%s: words of %s, which is %s: want a column of texts", c.full, n.Value, src.Type)
	case gen.Kind == plan.GenWords && src.mayBeNull():
		l.errorf(n, "%s: words of %s, which may be NULL: want a column without nulls", c.full, n.Value)
	case gen.Kind == plan.GenWords && src.set.Total == 0 && !src.set.broken:
		l.errorf(n, "%s: words from data set %s, which has no rows: want a count of at least 1", c.full, src.set.Name)
	case gen.Kind == plan.GenRef && c.set == nil:
		l.errorf(n, "%s: there is no row to take %s from: write {pick: %s}, or for each: %s in a query", c.full, n.Value, n.Value, src.set.Name)
	case gen.Kind == plan.GenRef && (c.set == src.set || !l.within(c.set, src.set)):
		l.errorf(n, "%s is %s, but data set %s is not nested in %s: write per: %s, or {pick: %s}", c.full, n.Value, c.set.Name, src.set.Name, src.set.Name, n.Value)
	case gen.Kind == plan.GenPick && src.set.Total == 0 && !src.set.broken:
		l.errorf(n, "%s: pick from data set %s, which has no rows: want a count of at least 1", c.full, src.set.Name)
	}
}

// checkAt checks the column that has the number of the row to pick.
func (l *resolver) checkAt(c *columnInfo) {
	if c.at == nil || c.broken {
		return
	}
	s := c.siblings[c.Generator.At]
	if s == nil {
		l.errorf(c.at, "%s: at %q, which is not beside it: %s", c.full, c.Generator.At, driver.Suggest(c.Generator.At, others(c.siblings, c.Name)))
		return
	}
	l.checkColumn(s)
	switch {
	case s.broken:
		c.broken = true
	case c.set == nil && s.Generator.Kind == plan.GenRef:
		l.errorf(c.at, "%s is at %s, which is taken from a row: make it a hidden column of the data set", c.full, s.Name)
	case s.Type != driver.Int || s.Generator.Kind == plan.GenCoalesce:
		l.errorf(c.at, "%s: at %s, which is not int: want the number of a row, such as {shuffle: [0, 99]}", c.full, s.Name)
	default:
		c.sources = append(c.sources, s)
	}
}

// column finds "set.column".
func (l *resolver) column(nodes []*yaml.Node, names []string, what string) *columnInfo {
	if len(names) == 0 {
		return nil
	}
	set, col, ok := strings.Cut(names[0], ".")
	s := l.sets[set]
	switch {
	case !ok:
		l.errorf(nodes[0], "%s: bad column %q: want set.column, such as users.id", what, names[0])
	case s == nil:
		l.errorf(nodes[0], "%s: unknown data set %q: %s", what, set, driver.Suggest(set, others(l.sets, "")))
	case s.columns[col] == nil:
		l.errorf(nodes[0], "%s: data set %s has no column %q: %s", what, set, col, driver.Suggest(col, others(s.columns, "")))
	default:
		return s.columns[col]
	}
	return nil
}

// checkSiblings checks format and sha256.
func (l *resolver) checkSiblings(c *columnInfo) {
	gen := &c.Generator
	types := make([]driver.Type, len(gen.Of))
	for i, name := range gen.Of {
		s := c.siblings[name]
		if s == nil {
			where := "beside it"
			if c.set != nil {
				where = "in data set " + c.set.Name
			}
			l.errorf(c.of[i], "%s: there is no %q %s: %s", c.full, name, where, driver.Suggest(name, others(c.siblings, c.Name)))
			return
		}
		if c.set == nil && s.Generator.Kind == plan.GenRef {
			l.errorf(c.of[i], "%s is made from %s, which is taken from a row: make it a hidden column of the data set", c.full, name)
			return
		}
		l.checkColumn(s)
		if s.broken || c.broken {
			c.broken = true
			return
		}
		if s.Generator.Kind == plan.GenCoalesce {
			l.errorf(c.of[i], "%s is made from %s, which only SQLite knows: want a column that is not coalesced", c.full, name)
			return
		}
		types[i] = s.Type
		c.sources = append(c.sources, s)
	}
	if gen.Kind == plan.GenCoalesce {
		c.Type = types[0]
		return
	}
	if gen.Kind == plan.GenSHA256 {
		if len(types) != 1 || types[0] != driver.Text && types[0] != driver.Blob {
			l.errorf(c.of[0], "%s: sha256 of %s, which is %s: want a column of text or blob", c.full, gen.Of[0], types[0])
		} else if gen.Hex && c.sources[0].Generator.Kind != plan.GenHex {
			l.errorf(c.of[0], "%s: decode: hex of %s, which is not made by hex: leave decode out", c.full, gen.Of[0])
		}
		return
	}
	pieces, err := plan.ParseFormat(gen.Format)
	if err == nil {
		err = plan.CheckFormat(pieces, gen.Of, types)
	}
	if err != nil {
		l.errorf(c.node, "%s: format %q: %v", c.full, gen.Format, err)
	}
}

// mayBeNull reports whether a value of the column can be NULL.
func (c *columnInfo) mayBeNull() bool {
	if c.broken {
		return false
	}
	if c.Generator.Kind == plan.GenNull || c.Generator.NullPermille > 0 || slices.ContainsFunc(c.Generator.List, isNull) {
		return true
	}
	pieces, _ := plan.ParseFormat(c.Generator.Format) // none without one, and a bad one is told elsewhere
	json := plan.InJSON(pieces)
	for i, s := range c.sources {
		if !slices.Contains(json, i) && s.mayBeNull() {
			return true
		}
	}
	return false
}
