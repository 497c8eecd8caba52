package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// columnInfo is a column, or a parameter of a statement, while it is being read.
type columnInfo struct {
	plan.Column
	full     string // name in error messages, such as users.id
	node     *yaml.Node
	set      *setInfo // data set of the column; nil for a parameter
	siblings map[string]*columnInfo
	of       []*yaml.Node  // the nodes that Generator.Of was read from
	at       *yaml.Node    // the node that Generator.At was read from
	sources  []*columnInfo // the columns of Generator.Of; nil if one of them is broken
	state    checkState
	broken   bool  // a problem with the column has been reported, so Type may be wrong
	made     int   // number of values that are generated to make one value, including the value itself
	bytes    int64 // greatest length of a value, in bytes
}

type checkState uint8

const (
	unchecked checkState = iota
	checking
	checked
)

// readColumn reads a column and adds it to c.siblings.
func (l *resolver) readColumn(c *columnInfo, name string) {
	c.Name = name
	before := l.found
	l.generator(c)
	c.broken = l.found > before
	c.siblings[name] = c
}

// generator reads how the values of a column are generated. The generators "ref" and "pick" take values
// from another column. For these generators, checkColumn later sets c.Type to the type of that column.
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
	gen.Kind = plan.GenNull // a valid kind, in case this function returns because of a problem
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
	switch {
	case len(f.keys) == 0:
		l.errorf(n, "%s has no generator: want one, such as {int: [1, 100]}", c.full)
		return
	case len(kinds) == 0:
		l.errorf(f.keys[0], "%s has no generator, but %q: %s", c.full, f.keys[0].Value, driver.Suggest(f.keys[0].Value, generatorKinds()))
		return
	case len(kinds) > 1:
		l.errorf(f.key(kinds[1]), "%s has two generators, %s and %s: leave one of them out", c.full, kinds[0], kinds[1])
		return
	}
	kind := kinds[0]
	known := append([]string{kind}, options(kind)...)
	if c.set == nil {
		known = slices.DeleteFunc(known, func(k string) bool { return k == "hidden" })
	}
	bounded := []string{plan.GenInt, plan.GenZipf, plan.GenReal, plan.GenText, plan.GenBlob, plan.GenHex, plan.GenShuffle, plan.GenWords}
	for _, k := range f.keys { // for example, the mapping {int: 1, 100} has the keys "int" and "100"
		if (k.Tag == "!!int" || k.Tag == "!!float") && slices.Contains(bounded, kind) {
			l.errorf(k, "unknown key %q in %s: write %s: [%s, %s]", k.Value, c.full, kind, f.get(kind).Value, k.Value)
			return
		}
	}
	l.known(f, c.full, known)
	gen.Kind = kind
	l.kind(c, f, f.get(kind))
	c.Hidden = l.flag(f.get("hidden"), "hidden")
	gen.NullPermille = l.permille(f.get("nulls"))
	if n := f.get("type"); l.is("bool", n, "type", "int", "bool") {
		c.Type = driver.Bool
		if gen.Low < 0 || gen.High > 1 {
			l.errorf(n, "%s goes from %d to %d, which is not a bool: want int: [0, 1]", c.full, gen.Low, gen.High)
		}
	}
}

// shorthand reads a generator that is written as a scalar: serial, set.column, an expression with a
// parameter, or a constant.
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

// constant reads one value for all rows. The column gets the type that the value has in YAML.
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
