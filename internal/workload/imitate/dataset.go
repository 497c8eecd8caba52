package imitate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dataSet is a data set of the workload.
type dataSet struct {
	name    string
	table   *table // table that the rows are inserted into, or nil
	more    bool   // the rows are inserted after the imitation has been loaded
	count   string
	columns []generated
}

// generated is a column of a data set, as it is written in the workload language.
type generated struct {
	name   string
	kind   string
	value  string
	also   []string // further keys with their values, such as "skew: 1.1"
	nulls  int64    // number of NULLs in 1000 rows
	hidden bool
}

func (g generated) String() string {
	if g.kind == "const" && g.value == "null" && !g.hidden {
		return "null"
	}
	parts := append([]string{g.kind + ": " + g.value}, g.also...)
	if g.nulls > 0 {
		parts = append(parts, fmt.Sprintf("nulls: %s%%", strconv.FormatFloat(float64(g.nulls)/10, 'f', -1, 64)))
	}
	if g.hidden {
		parts = append(parts, "hidden: true")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// add adds a column. If another column has the same name, add chooses a new name. It returns the
// name of the added column.
func (d *dataSet) add(g generated) string {
	name := g.name
	for i := 2; slices.ContainsFunc(d.columns, func(c generated) bool { return strings.EqualFold(c.name, g.name) }); i++ {
		g.name = fmt.Sprintf("%s_%d", name, i)
	}
	d.columns = append(d.columns, g)
	return g.name
}

// help adds a hidden column for the column c, and returns its name. The name is the name of c with the given
// suffix. If a column of the table already has this name, help changes the name.
func (d *dataSet) help(c *column, suffix string, g generated) string {
	g.name, g.hidden = identifierOf(c.name)+"_"+suffix, true
	for d.table.column(g.name) != nil {
		g.name += "_"
	}
	return d.add(g)
}

// helper returns a function that adds hidden columns for the column c by [dataSet.help].
func (d *dataSet) helper(c *column) func(suffix string, g generated) string {
	return func(suffix string, g generated) string { return d.help(c, suffix, g) }
}

// identifierOf returns a name in which "_" replaces all characters except ASCII letters, digits and
// "_". If the first character is a digit, "_" precedes it.
func identifierOf(name string) string {
	name = strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			return c
		}
		return '_'
	}, name)
	if name != "" && (name[0] < '0' || name[0] > '9') {
		return name
	}
	return "_" + name
}

func (b *builder) newSet(name, count string) *dataSet {
	d := &dataSet{name: b.unused(name), count: count}
	b.sets = append(b.sets, d)
	return d
}

// parentsFirst sorts tables so that each table comes after the tables to which its foreign keys
// refer. This is not possible for foreign keys that form a cycle.
func parentsFirst(tables []*table) []*table {
	var list []*table
	var visit func(t *table)
	seen := map[*table]bool{}
	visit = func(t *table) {
		if seen[t] {
			return
		}
		seen[t] = true
		for _, f := range t.foreign {
			visit(f.parent)
		}
		if slices.Contains(tables, t) {
			list = append(list, t)
		}
	}
	for _, t := range tables {
		visit(t)
	}
	return list
}

// load adds the data set with the rows of a table, and returns its name.
func (b *builder) load(t *table) string {
	d := &dataSet{name: t.set, table: t, count: "$" + t.set}
	b.fill(d)
	b.sets = append(b.sets, d)
	return d.name
}

// fill adds to a data set the columns of its table, and the hidden columns that these columns need.
func (b *builder) fill(d *dataSet) {
	if strings.HasPrefix(d.table.virtual, "rtree") {
		b.boxes(d)
		return
	}
	for _, c := range d.table.columns {
		b.column(d, c)
	}
}

// boxes adds the columns of an R-tree's rows to a data set. Each row is a point: a box whose upper and lower
// bounds are equal. If both bounds were random numbers, the upper bound could be less than the lower one,
// which an R-tree refuses.
func (b *builder) boxes(d *dataSet) {
	t := d.table
	b.note("table %s: its boxes are points", t.name)
	points := b.once("points", t, func() string {
		p := b.newSet(t.set+"_points", "$"+t.set)
		for j := 1; j+1 < len(t.columns); j += 2 {
			s := &t.columns[j].stats
			class := &s.class[reals]
			g := generated{name: fmt.Sprintf("x%d", j), kind: "real", value: "[0, 1]"}
			if class.n > 0 {
				g = b.realNumbers(t, t.columns[j], class)
				g.name = fmt.Sprintf("x%d", j)
			} else if s.class[ints].n > 0 {
				g = generated{name: g.name, kind: "int", value: list(b.anonymousInts(quantiles(s.class[ints].numbers.sample, intervals)))}
			}
			p.add(g)
		}
		return p.name
	})
	first := "1"
	if d.more {
		first = "1 + $" + t.set
	}
	d.add(generated{name: t.columns[0].name, kind: "serial", value: first})
	row := d.help(t.columns[0], "row", generated{kind: "serial", value: "0"})
	for j := 1; j+1 < len(t.columns); j += 2 {
		for _, c := range t.columns[j : j+2] {
			d.add(generated{name: c.name, kind: "pick", value: fmt.Sprintf("%s.x%d", points, j), also: []string{"at: " + row}})
		}
	}
}

// additions adds data sets of rows that are inserted after loading. The rows are for the five largest
// tables into which a phase can insert.
func (b *builder) additions(tables []*table) []*dataSet {
	const most = 5
	largest := slices.Clone(tables)
	slices.SortStableFunc(largest, func(x, y *table) int { return cmp.Compare(y.rows, x.rows) })
	var list []*dataSet
	for _, t := range largest {
		if t.rows == 0 || len(list) == most {
			break
		}
		if why := b.unfit(t); why != "" {
			b.note("no rows are inserted into %s after loading, because %s", t.name, why)
			continue
		}
		d := b.newSet("more_"+t.name, "$"+b.inserts)
		d.table, d.more = t, true
		b.fill(d)
		list = append(list, d)
	}
	return list
}

// unfit returns why no phase can insert into a table, or "" if a phase can insert into it.
func (b *builder) unfit(t *table) string {
	if !b.extendable(t) {
		return "its keys leave no room for them"
	}
	if why := b.closed[t.name]; why != "" {
		return why
	}
	trigger, found := b.filled(t)
	if !found {
		return ""
	}
	// If two tables have triggers that insert into each other's table, a phase inserts only into the
	// first of them.
	other := b.schema.table(trigger.table)
	if back, mutual := b.filled(other); mutual && strings.EqualFold(back.table, t.name) && slices.Index(b.schema.tables, t) < slices.Index(b.schema.tables, other) {
		return ""
	}
	return fmt.Sprintf("trigger %s fills it when rows are inserted into %s", trigger.name, trigger.table)
}
