package imitate

import (
	"fmt"
	"math"
	"slices"
)

// pickable reports whether the values of a foreign key can be picked from the rows of its
// parent.
func (b *builder) pickable(c *column) bool {
	f := c.foreign
	to := c.target()
	if f.parent.rows == 0 || len(to.stats.present()) != 1 {
		return false
	}
	// If a key refers to its own table through other tables, its values cannot be picked, because they
	// would be made from themselves.
	for at, n := to, 0; at.foreign != nil && !at.rowid; n++ {
		if n > 10 || at == c {
			return false
		}
		at = at.target()
	}
	return true
}

// target returns the column that a column of a foreign key refers to.
func (c *column) target() *column { return c.foreign.to[slices.Index(c.foreign.columns, c)] }

// c.of(set) returns the name of the column in the given data set as the YAML text "set.column".
func (c *column) of(set string) string {
	if identifierOf(c.name) == c.name {
		return set + "." + c.name
	}
	return yamlText(set + "." + c.name)
}

// reference returns the generator of a column of a foreign key.
func (b *builder) reference(d *dataSet, c *column) generated {
	t, f := d.table, c.foreign
	st := &c.stats
	to := c.target()
	g := generated{kind: "pick", value: to.of(f.parent.set)}
	at := func(row generated) generated {
		name := fmt.Sprintf("row%d", slices.Index(t.foreign, f))
		g.also = []string{"at: " + b.once(name, d, func() string { return d.help(f.columns[0], name, row) })}
		return g
	}
	values, parents := st.values(), f.parent.rows
	var repeats float64
	for i := range st.class {
		if st.class[i].n > 0 {
			repeats = st.class[i].distinct.repeats()
		}
	}
	skew := skewed(parents, repeats)
	switch {
	case f.parent == t && d.more:
	case f.parent == t: // the key refers to an earlier row of the same table
		return at(generated{kind: "serial", value: "0", also: []string{"step: 1", "every: 2"}})
	case c.unique && st.ascends() && !d.more:
		return at(generated{kind: "serial", value: "0", also: []string{"step: $" + f.parent.set, "every: $" + t.set}})
	case c.unique:
		n := generated{kind: "shuffle", value: rowsOf(f.parent.set)}
		if d.more {
			n = generated{kind: "serial", value: "$" + t.set}
		}
		return at(n)
	case st.ascends() && !d.more:
		return at(generated{kind: "serial", value: "0", also: []string{fmt.Sprintf("step: %d", min(values, parents)), fmt.Sprintf("every: %d", t.rows)}})
	case !d.more && float64(values) > 0.95*float64(parents) && repeats*float64(t.rows)+0.5 < float64(t.rows)/float64(parents):
		// All parents have about the same number of rows that refer to them.
		return at(generated{kind: "shuffle", value: rowsOf(t.set)})
	case len(f.columns) > 1 && skew != nil:
		return at(generated{kind: "zipf", value: rowsOf(f.parent.set), also: skew})
	case len(f.columns) > 1:
		return at(generated{kind: "int", value: rowsOf(f.parent.set)})
	}
	g.also = skew
	return g
}

// rowsOf returns the range of a data set's row numbers, which begin at 0, as the bounds of a generator.
func rowsOf(set string) string { return fmt.Sprintf("[0, $%s - 1]", set) }

// part returns the generator of a column of t.parts. The generator picks the column's values from the data
// set that b.keys(t) adds. In that data set, no two rows are equal. Rows that are equal in all columns except
// the last are consecutive, and such groups are about as large as in the database. In rows that are inserted
// after loading, the values of the last column differ from those of all loaded rows. They come from the data
// set that the method "domain" returns.
func (b *builder) part(d *dataSet, c *column) generated {
	t := d.table
	x := t.composite
	j, last := slices.Index(t.parts(), c), len(x.columns)-1
	keys := b.keys(t)
	if first := x.columns[0]; !d.more || j < last {
		n := generated{kind: "serial", value: "0"}
		if d.more {
			n.also = []string{"step: $" + t.set, "every: $" + b.inserts}
		} else if ascending := first.stats.ascends() && (!t.noRowid || t.packed); !ascending {
			n = generated{kind: "shuffle", value: rowsOf(t.set)}
		}
		at := b.once("row", d, func() string { return d.help(first, "row", n) })
		return generated{kind: "pick", value: fmt.Sprintf("%s.part%d", keys, j), also: []string{"at: " + at}}
	}
	next := generated{kind: "serial", value: "0"}
	if c.foreign != nil && b.pickable(c) { // pick values that follow those already inserted
		next = generated{kind: "serial", value: fmt.Sprint(x.run(t.rows)), also: []string{"step: $" + t.set, "every: $" + b.inserts}}
	}
	return generated{kind: "pick", value: b.domain(t, j, true), also: []string{"at: " + d.help(c, "next", next)}}
}

// parts returns the columns of t.composite, followed by t.siblings. t.composite is the unique index that
// generated rows satisfy. A sibling is the last column of another unique index that differs from
// t.composite only in this column.
func (t *table) parts() []*column {
	if t.composite == nil {
		return nil
	}
	return slices.Concat(t.composite.columns, t.siblings)
}

// keys returns the name of a data set with the values of the table's composite key (t.composite). Each
// row of the data set has one combination of these values. The first call adds the data set.
func (b *builder) keys(t *table) string {
	return b.once("keys", t, func() string {
		x := t.composite
		d := b.newSet(t.set+"_keys", "$"+t.set)
		for j := range t.parts() {
			number := generated{name: fmt.Sprintf("row%d", j), hidden: true, kind: "serial", value: "0"}
			if j < len(x.columns)-1 {
				number.also = []string{fmt.Sprintf("step: %d", x.different(j)), fmt.Sprintf("every: %d", max(1, t.rows))}
			}
			d.add(number)
			d.add(generated{name: fmt.Sprintf("part%d", j), kind: "pick", value: b.domain(t, j, false), also: []string{"at: " + number.name}})
		}
		return d.name
	})
}

// domain returns the name of a data set's column, in the form set.column. The values of the table's
// column t.parts()[j] are picked from it. For a foreign key, it is the column in the parent's data set.
// Otherwise domain adds a data set. If the parameter "more" is true, that data set has only values that
// no loaded row has.
func (b *builder) domain(t *table, j int, more bool) string {
	x := t.composite
	c := t.parts()[j]
	if c.foreign != nil && b.pickable(c) {
		return c.target().of(c.foreign.parent.set)
	}
	n := max(1, c.stats.values())
	if j >= len(x.columns)-1 {
		n = max(n, x.run(t.rows))
	}
	what, from := "values", int64(0)
	if more {
		what, from, n = "further values", n, small
	}
	return b.once(what, c, func() string { return b.distinctValues(t, c, from, n) }) + ".value"
}

// distinctValues adds a data set with a column "value", and returns the name of the data set. The data set has
// n values, all of them different. It skips the first values of the column c, and begins with the value that
// follows them. The parameter "from" is the number of skipped values.
func (b *builder) distinctValues(t *table, c *column, from, n int64) string {
	d := b.newSet(t.set+"_"+c.name+"_values", fmt.Sprint(n))
	help := func(suffix string, g generated) string {
		g.name, g.hidden = suffix, true
		return d.add(g)
	}
	var value generated
	present := c.stats.present()
	s := &c.stats.class[present[0]]
	apart := func(low, high, unit int64) int64 { return max(unit, (high-low)/max(1, max(from, n)-1)/unit*unit) }
	switch {
	case c.stats.isMoments():
		m := &c.stats.moments
		bounds := b.anonymousMoments(m, []int64{m.low, m.high})
		step := apart(bounds[0], bounds[1], m.unit())
		value = m.written(generated{kind: "serial", value: fmt.Sprint(bounds[0] + step*from), also: []string{fmt.Sprintf("step: %d", step)}}, help)
	case present[0] == texts:
		value = numbered(s, n+from, generated{kind: "serial", value: fmt.Sprint(from)}, help)
	case present[0] == blobs:
		value = generated{kind: "blob", value: fmt.Sprint(max(8, int64(math.Round(s.sum/float64(s.n)))))}
	default:
		bounds := b.anonymousInts([]int64{s.low, s.high})
		step := apart(bounds[0], bounds[1], 1)
		value = generated{kind: "serial", value: fmt.Sprint(bounds[0] + step*from), also: []string{fmt.Sprintf("step: %d", step)}}
	}
	value.name = "value"
	d.add(value)
	return d.name
}

// run returns the average number of rows in a group, rounded up. A group consists of the rows that
// are equal in all columns of the index except the last. The parameter "rows" is the number of all
// rows.
func (x *index) run(rows int64) int64 {
	groups := max(1, x.different(len(x.columns)-2))
	return (rows + groups - 1) / groups
}

// different estimates the number of distinct combinations of values in columns 0 to j of the index.
// It returns at least 1.
func (x *index) different(j int) int64 {
	n := min(x.groups[j].values(), x.changes[j])
	if first := &x.columns[0].stats; j == 0 && first.up == first.pairs {
		n = x.changes[0] // rows with equal values are consecutive, so each change between two rows is a new value
	}
	if f := x.columns[j].foreign; f != nil && j == 0 {
		n = min(n, f.parent.rows)
	}
	return max(1, n)
}

// extendable reports whether the unique indexes of a table leave room for more rows.
func (b *builder) extendable(t *table) bool {
	for _, c := range t.columns {
		if c.unique && c.foreign != nil && b.pickable(c) {
			return false // every parent row may already have a row that refers to it
		}
	}
	if x := t.composite; x != nil {
		for _, last := range t.parts()[len(x.columns)-1:] {
			if last.foreign == nil || !b.pickable(last) || last.foreign.parent.rows >= 2*x.run(t.rows) {
				continue
			}
			return false
		}
	}
	return true
}
