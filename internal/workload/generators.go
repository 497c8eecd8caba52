package workload

import (
	"cmp"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// kind reads a generator, such as {time: 2024-01-01, step: 1m}. The parameter n is the value of the key that
// names the kind, here "time". The other keys, here "step", are options.
func (l *resolver) kind(c *columnInfo, f *fields, n *yaml.Node) {
	gen := &c.Generator
	what := c.full + ": " + gen.Kind
	c.Type = definition(gen.Kind).typ
	switch gen.Kind {
	case plan.GenSerial:
		l.serial(c, f, n)
	case plan.GenShuffle:
		gen.Low, gen.High = l.bounds(n, what, "shuffle: [1, 100]", math.MinInt64, false)
		gen.Step = l.numberWithin(f.get("step"), "step", 1, math.MaxInt64, 1)
	case plan.GenWords:
		l.words(c, f, n)
	case plan.GenCoalesce:
		l.coalesce(c, f, n)
	case plan.GenConst:
		l.constant(c, n)
	case plan.GenInt:
		l.ints(c, n)
	case plan.GenZipf:
		gen.Low, gen.High = l.bounds(n, what, "zipf: [1, 100]", math.MinInt64, false)
		gen.Skew = l.skew(f.get("skew"), 1.1)
	case plan.GenReal:
		gen.RealLow, gen.RealHigh, gen.RealBounds = l.realBounds(n, c.full)
	case plan.GenTime:
		l.times(c, f, n)
	case plan.GenText, plan.GenBlob:
		gen.Low, gen.High, gen.Bounds = l.quantiles(n, what, gen.Kind+": 100 or "+gen.Kind+": [10, 100]", 0, true)
		l.lengthWithin(c, n)
	case plan.GenHex:
		gen.Low, gen.High = l.bounds(n, what, "hex: 100 or hex: [10, 100]", 0, true)
		l.lengthWithin(c, n)
	case plan.GenRepeat:
		l.repeat(c, f, n)
	case plan.GenChoice:
		l.choice(c, n)
	case plan.GenList:
		l.listed(c, n)
	case plan.GenFormat:
		gen.Format, _ = l.text(n, what, `format: "user%08d"`)
		if of := f.get("of"); of != nil {
			l.readOf(c, l.list(of))
		}
	case plan.GenSHA256:
		l.readOf(c, []*yaml.Node{n})
		gen.Hex = l.is("hex", f.get("decode"), "decode", "hex")
	case plan.GenRef:
		l.readOf(c, []*yaml.Node{n})
	case plan.GenPick:
		l.pick(c, f, n)
	}
}

func (l *resolver) serial(c *columnInfo, f *fields, n *yaml.Node) {
	gen := &c.Generator
	gen.Low, _ = l.number(n, c.full+": serial", math.MinInt64)
	gen.Step = l.numberWithin(f.get("step"), "step", math.MinInt64, math.MaxInt64, 1)
	gen.Every = l.numberWithin(f.get("every"), "every", 1, plan.MaxCount, 0)
	if gen.Every > 1 && gen.Step < 0 {
		l.errorf(f.get("step"), "step is %d every %d rows: want at least 0", gen.Step, gen.Every)
		gen.Step = 0
	}
}

func (l *resolver) words(c *columnInfo, f *fields, n *yaml.Node) {
	gen := &c.Generator
	gen.Low, gen.High, gen.Bounds = l.quantiles(n, c.full+": words", "words: [5, 40]", 0, true)
	if gen.High > plan.MaxWords {
		l.errorf(n, "%s has up to %d words: want at most %d", c.full, gen.High, plan.MaxWords)
		gen.Low, gen.High, gen.Bounds = 0, 0, nil
	}
	of := l.required(f, "of", "%s: words of nothing: write of: and the column of a data set, such as of: vocabulary.word", c.full)
	if of == nil {
		c.broken = true
		return
	}
	l.readOf(c, []*yaml.Node{of})
	gen.Skew = l.skew(f.get("skew"), 0)
}

func (l *resolver) coalesce(c *columnInfo, f *fields, n *yaml.Node) {
	l.readOf(c, l.list(n))
	of := c.Generator.Of
	if c.set == nil {
		l.errorf(n, "%s: a parameter cannot be coalesced: write coalesce(:a, :b) in the SQL", c.full)
	} else if other := cmp.Or(f.get("nulls"), f.get("hidden")); other != nil {
		l.errorf(other, "%s: SQLite coalesces the inserted values, so it takes neither nulls nor hidden: write nulls with each of %s", c.full, strings.Join(of, ", "))
	} else if len(of) < 2 {
		l.errorf(n, "%s: coalesce of %d columns: want at least two, such as [number, word]", c.full, len(of))
	}
}

func (l *resolver) ints(c *columnInfo, n *yaml.Node) {
	gen := &c.Generator
	if n.Kind != yaml.MappingNode {
		gen.Low, gen.High, gen.Bounds = l.quantiles(n, c.full+": int", "int: [1, 100]", math.MinInt64, false)
		return
	}
	gen.Low, gen.High = math.MaxInt64, math.MinInt64
	l.weights(c, n, "int: {7: 3, 9: 1}", func(k *yaml.Node) {
		x := int64(0)
		if k.Tag != "!!int" || k.Decode(&x) != nil {
			l.errorf(k, "%s: int of the value %s: want a whole number", c.full, describe(k))
		}
		gen.Bounds = append(gen.Bounds, x)
		gen.Low, gen.High = min(gen.Low, x), max(gen.High, x)
	})
}

// lengthWithin checks the greatest length of random texts or blobs.
func (l *resolver) lengthWithin(c *columnInfo, n *yaml.Node) {
	gen := &c.Generator
	if gen.High > plan.MaxValueBytes {
		l.errorf(n, "%s has up to %d bytes: want at most %d", c.full, gen.High, int64(plan.MaxValueBytes))
		gen.High, gen.Bounds = gen.Low, nil
	}
}

func (l *resolver) repeat(c *columnInfo, f *fields, n *yaml.Node) {
	gen := &c.Generator
	gen.Text, _ = l.text(n, c.full+": repeat", `repeat: "text "`)
	gen.Times = l.numberWithin(l.required(f, "times", "%s: repeat without times: write times: 12", c.full), "times", 0, math.MaxInt64, 0)
	if len(gen.Text) > 0 && gen.Times > plan.MaxValueBytes/int64(len(gen.Text)) {
		l.errorf(n, "%s has %d times %d bytes: want at most %d", c.full, gen.Times, len(gen.Text), int64(plan.MaxValueBytes))
		gen.Times = 0
	}
}

func (l *resolver) choice(c *columnInfo, n *yaml.Node) {
	gen := &c.Generator
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
}

func (l *resolver) pick(c *columnInfo, f *fields, n *yaml.Node) {
	gen := &c.Generator
	l.readOf(c, []*yaml.Node{n})
	gen.Skew = l.skew(f.get("skew"), 0)
	if c.at = f.get("at"); c.at == nil {
		return
	}
	gen.At, _ = l.text(c.at, c.full+": at", "the name of another column of the row")
	if gen.Skew != 0 {
		l.errorf(f.key("skew"), "%s: skew together with at, which says the row: leave skew out", c.full)
	}
}

// readOf reads the names of the columns that a column is generated from.
func (l *resolver) readOf(c *columnInfo, nodes []*yaml.Node) {
	for _, n := range nodes {
		if v, ok := l.text(n, c.full+": "+c.Generator.Kind, "the name of a column"); ok {
			c.Generator.Of = append(c.Generator.Of, v)
			c.of = append(c.of, n)
		}
	}
}
