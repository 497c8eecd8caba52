package workload

import (
	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Limits of a workload file.
const (
	maxDataSets   = 1000
	maxColumns    = 2000 // columns of a data set: SQLite's default limit for a table
	maxDepth      = 20   // data sets nested in each other
	maxPhases     = 200
	maxStatements = 1000 // statements of an operation
	maxParameters = 1000 // parameters of an operation, of a query, or of the workload
	maxMade       = 1000 // generated values from which one value of a column is made, such as the values of other columns
	maxExpression = 1000 // bytes of an expression
)

// countWithin reports a problem and returns false if the parameter "count" is above the parameter
// "most". The parameter "what" names the things that are counted.
func (l *resolver) countWithin(n *yaml.Node, what string, count, most int) bool {
	if count > most {
		l.errorf(n, "%s: there are %d: want at most %d", what, count, most)
	}
	return count <= most
}

// columnWithin sets c.made and c.bytes. c.made is the number of values that are generated to make one value
// of the column. c.bytes is the greatest length of a value. columnWithin reports a problem if one of them
// exceeds its limit.
func (l *resolver) columnWithin(c *columnInfo) {
	gen := &c.Generator
	c.made, c.bytes = 1, 8
	for _, src := range c.sources {
		c.made += src.made
	}
	switch gen.Kind {
	case plan.GenText, plan.GenBlob:
		c.bytes = gen.High
	case plan.GenHex:
		c.bytes = 2 * gen.High
	case plan.GenSHA256:
		c.bytes = 64
	case plan.GenRepeat:
		c.bytes = int64(len(gen.Text)) * gen.Times
	case plan.GenConst:
		c.bytes = max(c.bytes, int64(len(gen.Text)))
	case plan.GenChoice:
		for _, s := range gen.Choice {
			c.bytes = max(c.bytes, int64(len(s)))
		}
	case plan.GenList:
		for _, v := range gen.List {
			c.bytes = max(c.bytes, int64(len(v)))
		}
	case plan.GenRef, plan.GenPick:
		c.bytes = c.sources[0].bytes
	case plan.GenWords:
		c.bytes = gen.High * (c.sources[0].bytes + 1)
	case plan.GenCoalesce:
		c.bytes = 0
		for _, src := range c.sources {
			c.bytes = max(c.bytes, src.bytes)
		}
	case plan.GenFormat:
		c.bytes = formatBytes(gen.Format, c.sources)
	}
	switch {
	case c.made > maxMade:
		l.errorf(c.node, "%s is made from more than %d values: want fewer columns that are made from others", c.full, maxMade)
		c.broken = true
	case c.bytes > plan.MaxValueBytes:
		l.errorf(c.node, "%s has up to %d bytes: want at most %d", c.full, c.bytes, plan.MaxValueBytes)
		c.broken = true
	}
}

// formatBytes returns the greatest number of bytes that a format can produce.
func formatBytes(format string, sources []*columnInfo) int64 {
	pieces, _ := plan.ParseFormat(format) // checkSiblings has already checked the format
	bytes, n := int64(0), 0
	for _, p := range pieces {
		if bytes += int64(len(p.Text)); p.Verb == 0 || n == len(sources) {
			continue
		}
		one := max(20, sources[n].bytes)
		if p.Verb == 'x' {
			one *= 2
		}
		bytes += max(one, 4*int64(p.Width))
		n++
	}
	return bytes
}

// rowWithin checks how long the rows of a data set can be. SQLite's limit for a
// value also applies to a row.
func (l *resolver) rowWithin(s *setInfo) {
	bytes := int64(0)
	for _, c := range s.order {
		bytes += c.bytes
	}
	if bytes > plan.MaxValueBytes {
		l.errorf(s.node, "data set %s has rows of up to %d bytes: want at most %d", s.Name, bytes, plan.MaxValueBytes)
	}
}

// numberWithin reads an integer expression whose value must be between the parameters "least" and "most". If
// n is nil or the value is too great, it returns the parameter "missing". If the value is too small or n is
// not a valid expression, it returns "least".
func (l *resolver) numberWithin(n *yaml.Node, what string, least, most, missing int64) int64 {
	if n == nil {
		return missing
	}
	v, ok := l.number(n, what, least)
	if ok && v > most {
		l.errorf(n, "%s is %d: want at most %d", what, v, most)
		return missing
	}
	return v
}

// insertWithin reports a problem if a statement or a transaction of a phase would insert too much. The
// parameter "at" has the nodes of the phase's data sets.
func (l *resolver) insertWithin(ins *plan.Insert, f *fields, at map[string]*yaml.Node) {
	widest := int64(1)
	for _, name := range ins.Sets {
		widest = max(widest, int64(len(l.sets[name].Bound())))
	}
	if n := f.get("rows per statement"); n != nil && ins.RowsPerStatement > plan.MaxBound/widest {
		l.errorf(n, "rows per statement is %d, of %d columns: want at most %d, since a statement has at most %d parameters",
			ins.RowsPerStatement, widest, plan.MaxBound/widest, plan.MaxBound)
	}
	if ins.Transaction == "every" && ins.Every > plan.MaxAtOnce {
		l.errorf(f.get("transaction"), "transaction: every %d rows: want at most %d", ins.Every, plan.MaxAtOnce)
	}
	if ins.Transaction != "per" || len(ins.Sets) == 0 {
		return
	}
	perRow := map[string]int64{ins.Per: 1}
	for _, name := range ins.Sets[1:] {
		s := l.sets[name]
		n, nested := perRow[s.Parent]
		if !nested {
			return // the problem has already been reported
		}
		if n > 0 && s.Count > plan.MaxAtOnce/n {
			l.errorf(at[name], "insert: data set %s has %d rows for each of %d in one transaction: want at most %d in all", name, s.Count, n, plan.MaxAtOnce)
			return
		}
		perRow[name] = n * s.Count
	}
}

// queryWithin reports a problem if a query would be executed too often.
func (l *resolver) queryWithin(q *plan.Query, f *fields) {
	rows := int64(1)
	if q.ForEach != "" {
		rows = l.sets[q.ForEach].Total
	}
	if rows > plan.MaxAtOnce {
		l.errorf(f.get("for each"), "for each: data set %s has %d rows: want at most %d", q.ForEach, rows, plan.MaxAtOnce)
		return
	}
	if n := f.get("repeat"); n != nil && q.Repeat > plan.MaxCount/max(int64(q.Clients)*rows, 1) {
		l.errorf(n, "repeat is %d, with %d clients and %d executions each: want at most %d in all", q.Repeat, q.Clients, rows, int64(plan.MaxCount))
	}
}
