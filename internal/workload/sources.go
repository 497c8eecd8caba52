package workload

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// checkColumn checks the columns from which a column is generated. It reports a column that is generated
// from itself. For the generators "ref" and "pick", it also finds the type of the column.
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

// checkSource is for a column with the generator "ref", "pick" or "words". Such a column takes its values
// from a column of a data set, which is its source. checkSource finds the source and checks it.
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

// checkAt checks Generator.At, the column that has the number of the row to pick.
func (l *resolver) checkAt(c *columnInfo) {
	if c.at == nil || c.broken {
		return
	}
	s := c.siblings[c.Generator.At]
	if s == nil {
		l.errorf(c.at, "%s: at %q, which is not a column of the same row: %s", c.full, c.Generator.At, driver.Suggest(c.Generator.At, others(c.siblings, c.Name)))
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

// column returns the column that names[0] names as "set.column". If there is no such column, it
// reports a problem and returns nil.
func (l *resolver) column(nodes []*yaml.Node, names []string, what string) *columnInfo {
	if len(names) == 0 {
		return nil
	}
	set, col, ok := strings.Cut(names[0], ".")
	if !ok {
		l.errorf(nodes[0], "%s: bad column %q: want set.column, such as users.id", what, names[0])
		return nil
	}
	s := l.dataSetAt(nodes[0], what+":", set)
	if s == nil {
		return nil
	}
	if s.columns[col] == nil {
		l.errorf(nodes[0], "%s: data set %s has no column %q: %s", what, set, col, driver.Suggest(col, others(s.columns, "")))
	}
	return s.columns[col]
}

// checkSiblings checks the columns from which the generators "format", "sha256" and "coalesce" make
// a value. These are columns of the same row.
func (l *resolver) checkSiblings(c *columnInfo) {
	gen := &c.Generator
	types := make([]driver.Type, len(gen.Of))
	for i, name := range gen.Of {
		s := c.siblings[name]
		if s == nil {
			where := "in the same row"
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
	pieces, _ := plan.ParseFormat(c.Generator.Format) // a bad format has been reported by checkSiblings
	json := plan.InJSON(pieces)
	for i, s := range c.sources {
		if !slices.Contains(json, i) && s.mayBeNull() {
			return true
		}
	}
	return false
}
