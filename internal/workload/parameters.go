package workload

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// parameterSet holds the parameters of a query, or of an operation of a mix.
type parameterSet struct {
	columns map[string]*columnInfo
	keys    []*yaml.Node
	used    map[string]bool
}

// parameters reads, for each parameter ":name" of a query or an operation, where its values come from. The
// query runs once for each row of the data set in the parameter "each", which may be nil.
func (l *resolver) parameters(n *yaml.Node, each *setInfo) *parameterSet {
	p := &parameterSet{columns: map[string]*columnInfo{}, used: map[string]bool{}}
	if n == nil {
		return p
	}
	f, ok := l.mapping(n, "parameters", "parameters: {id: {int: [1, 100]}}")
	if !ok {
		return p
	}
	if !l.countWithin(n, "parameters", len(f.keys), maxParameters) {
		return p
	}
	p.keys = f.keys
	for i, k := range f.keys {
		l.identifier(k, "a parameter")
		l.readColumn(&columnInfo{node: f.values[i], full: "parameter " + k.Value, siblings: p.columns}, k.Value)
	}
	for _, k := range f.keys {
		c := p.columns[k.Value]
		if c.Generator.Kind == plan.GenRef && each != nil {
			l.rowColumn(c, each)
			continue
		}
		l.checkColumn(c)
	}
	return p
}

// rowColumn checks a parameter whose value is a column of the current row. The query runs once for
// each row of the data set "each".
func (l *resolver) rowColumn(c *columnInfo, each *setInfo) {
	c.state = checked
	src := l.column(c.of, c.Generator.Of, c.full)
	if src == nil || src.broken {
		c.Type, c.broken = driver.Int, true
		return
	}
	c.Type = src.Type
	if !l.within(each, src.set) {
		l.errorf(c.node, "%s: data set %s is not nested in %s: want a column of %s or of a data set that it is nested in, or {pick: %s}", c.full, each.Name, src.set.Name, each.Name, src.full)
	}
}

// bind finds where the value of parameter ":name" comes from. The query runs for each row of the data set in
// the parameter "each". If the value is unknown, bind reports a problem and returns false. If the parameter
// "broken" is true, that data set has a problem, and bind does not report unknown names.
func (p *parameterSet) bind(l *resolver, name string, at *yaml.Node, each *setInfo, broken bool) (plan.Parameter, bool) {
	p.used[name] = true
	c := p.columns[name]
	switch {
	case c == nil && each != nil && each.columns[name] != nil:
		c = each.columns[name]
		return plan.Parameter{Name: name, Type: c.Type, Column: c.full}, true
	case c == nil && broken:
		return plan.Parameter{}, false
	case c == nil && each != nil:
		l.errorf(at, ":%s is not a column of %s and not in parameters: %s", name, each.Name, driver.Suggest(name, append(others(each.columns, ""), others(p.columns, "")...)))
		return plan.Parameter{}, false
	case c == nil:
		l.errorf(at, ":%s has no value: write parameters: {%s: {int: [1, 100]}}", name, name)
		return plan.Parameter{}, false
	case c.Generator.Kind == plan.GenRef:
		return plan.Parameter{Name: name, Type: c.Type, Column: c.Generator.Of[0]}, true
	}
	gen := c.Generator
	return plan.Parameter{Name: name, Type: c.Type, Generator: &gen}, true
}

// together checks parameters that are generated from another parameter. It reports a problem if
// a statement uses only one of the two parameters.
func (p *parameterSet) together(l *resolver, names []string, at *yaml.Node) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for _, name := range names {
		c := p.columns[name]
		if c == nil {
			continue
		}
		var made []string
		switch gen := &c.Generator; {
		case gen.Kind == plan.GenFormat || gen.Kind == plan.GenSHA256:
			made = gen.Of
		case gen.At != "":
			made = []string{gen.At}
		}
		for _, of := range made {
			if p.columns[of] != nil && !slices.Contains(names, of) {
				l.errorf(at, ":%s is made from parameter %s, which the same statement does not have: write :%s there, or make :%s another way", name, of, of, name)
			}
		}
	}
}

// unused reports the parameters that no statement uses.
func (p *parameterSet) unused(l *resolver) {
	for _, k := range p.keys {
		if !p.used[k.Value] {
			l.errorf(k, "parameter %s does not occur in the SQL: write :%s there, or leave it out", k.Value, k.Value)
		}
	}
}
