package imitate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Query is a reading phase of the workload.
type Query struct {
	Phase    string
	SQL      string // the SQL in the workload
	original string // the SQL for the database, whose schema has other literals than the workload
	table    *table // the table from whose rows the parameters are taken
	args     []arg
	columns  []string // types of the result's columns
	words    *column  // if not nil, the parameter is a word of this column's texts
	weight   int64
}

// arg is a parameter of a query.
type arg struct {
	name   string
	column *column
}

// maxQueries is the greatest number of reading phases in a workload.
const maxQueries = 60

// queries returns at most maxQueries queries that are typical for the schema. Queries of the largest tables
// come first. It passes each query to the function "compiles", which returns an error if SQLite cannot
// compile the query.
func (b *builder) queries(tables []*table, compiles func(*Query) error) []*Query {
	var list []*Query
	taken := map[string]bool{}
	add := func(q *Query, name string) {
		name = phaseName(name)
		q.Phase = name
		for i := 2; taken[q.Phase]; i++ {
			q.Phase = fmt.Sprintf("%s %d", name, i)
		}
		taken[q.Phase] = true
		list = append(list, q)
	}
	for _, t := range tables {
		if t.rows == 0 || t.virtual != "" {
			continue
		}
		if c := find(t.columns, func(c *column) bool { return c.rowid }); c != nil {
			x := &index{unique: true, whole: true, parts: []part{{column: c, name: c.name}}}
			if q, err := b.read(t, x); err == nil { // there is no error, because the values of a rowid are integers
				add(q, t.name+" by "+x.key())
			}
		}
		for _, x := range t.indexes {
			q, err := b.read(t, x)
			if err == nil && !x.whole {
				err = compiles(q)
			}
			if err != nil {
				b.note("no query uses index %s, because %v", x.name, err)
				continue
			}
			add(q, t.name+" by "+x.key())
		}
	}
	for _, t := range tables {
		for _, f := range t.foreign {
			if t.rows == 0 || f.parent.rows == 0 || t.virtual != "" || slices.ContainsFunc(slices.Concat(f.columns, f.to), (*column).mixed) {
				continue
			}
			if q := b.joined(t, f); q != nil {
				add(q, f.parent.name+" with "+t.name)
			}
			if q := b.joinedBack(t, f); q != nil {
				add(q, t.name+" with "+f.parent.name)
			}
		}
	}
	for _, t := range b.schema.tables {
		if q := b.match(t); q != nil {
			add(q, t.name+" match")
		}
	}
	slices.SortStableFunc(list, func(x, y *Query) int { return cmp.Compare(y.weight, x.weight) })
	if len(list) > maxQueries {
		b.note("%d of %d queries are left out, those of the smallest tables", len(list)-maxQueries, len(list))
		list = list[:maxQueries]
	}
	return list
}

// phaseName changes a text so that it can be the name of a phase.
func phaseName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("./\n\t\r", r) {
			return ' '
		}
		return r
	}, strings.ReplaceAll(name, ",", " and"))
	if r := []rune(strings.Join(strings.Fields(name), " ")); len(r) > 50 {
		return strings.TrimSpace(string(r[:50]))
	}
	return strings.Join(strings.Fields(name), " ")
}

const limit = " LIMIT 100"

// key returns a text for the key of an index: the names of its columns. If the key has expressions, the
// text is the name of the index.
func (x *index) key() string {
	names := document.Map(x.parts, func(p part) string { return p.name })
	if slices.Contains(names, "") {
		return x.name
	}
	return strings.Join(names, ", ")
}

// read returns a query that finds rows by the key of an index.
func (b *builder) read(t *table, x *index) (*Query, error) {
	expressions, types := t.selected("t")
	where, original, args, err := b.condition(t, x)
	if err != nil {
		return nil, err
	}
	begin := "SELECT " + strings.Join(expressions, ", ") + " FROM " + driver.Quote(t.name) + " AS t WHERE "
	end := ""
	if !x.unique || !x.whole { // the query may return several rows; in the workload, an index with expressions is not unique
		if t.rowid != "" {
			end = " ORDER BY t." + t.rowid
		}
		end += limit
	}
	if x.partial != "" {
		anonymous := x.partial
		if !b.keep {
			// The condition is passed as a view, because the method "anonymous" treats a view like
			// the condition of an index.
			anonymous = b.schema.anonymous(object{kind: "view", table: t.name, sql: x.partial})
		}
		where, original = where+" AND ("+anonymous+")", original+" AND ("+x.partial+")"
	}
	return &Query{SQL: begin + where + end, original: begin + original + end, table: t, args: args, columns: types, weight: t.rows}, nil
}

// joined returns a query for a row of the parent and the rows of t that refer to it. It returns nil if t is
// large and no index finds these rows.
func (b *builder) joined(t *table, f *foreign) *Query {
	if !t.indexed(f.columns) && t.rows > small {
		b.note("%s is not read with its %s, because %s", f.parent.name, t.name, t.withoutIndex(f.columns))
		return nil
	}
	parents, types := f.parent.selected("p")
	children, more := t.selected("c")
	where, args := b.equal(f.parent, "p", f.to)
	sql := "SELECT " + strings.Join(append(parents, children...), ", ") + " FROM " + driver.Quote(f.parent.name) + " AS p JOIN " + driver.Quote(t.name) + " AS c ON " + f.on() + " WHERE " + where
	if t.rowid != "" {
		sql += " ORDER BY c." + t.rowid
	}
	return &Query{table: f.parent, args: args, columns: append(types, more...), SQL: sql + limit, original: sql + limit, weight: t.rows}
}

// joinedBack returns a query for a row of t and for the parent's row to which this row refers. It returns
// nil if t has no key whose values can be parameters.
func (b *builder) joinedBack(t *table, f *foreign) *Query {
	var key []*column
	if c := find(t.columns, func(c *column) bool { return c.rowid }); c != nil {
		key = []*column{c}
	} else if x := find(t.indexes, func(x *index) bool { return x.origin == "pk" }); x != nil {
		key = x.columns
	}
	if key == nil || slices.ContainsFunc(key, (*column).mixed) {
		return nil
	}
	children, types := t.selected("c")
	parents, more := f.parent.selected("p")
	where, args := b.equal(t, "c", key)
	sql := "SELECT " + strings.Join(append(children, parents...), ", ") + " FROM " + driver.Quote(t.name) + " AS c JOIN " + driver.Quote(f.parent.name) + " AS p ON " + f.on() + " WHERE " + where
	return &Query{table: t, args: args, columns: append(types, more...), SQL: sql, original: sql, weight: t.rows}
}

// match returns a query that searches the full-text index t for a word. It returns nil if t is another
// kind of table, or if its texts are not known.
func (b *builder) match(t *table) *Query {
	if !strings.HasPrefix(t.virtual, "fts") || shadows[t.virtual] == nil {
		return nil
	}
	of := t
	if t.contents != "" {
		if of = t.content; of == nil {
			return nil
		}
	}
	for _, c := range t.columns {
		if c := of.column(c.name); c != nil && c.stats.words != nil && c.stats.words.distinct.n > 0 {
			name := b.once("word", c, func() string { return b.unused(of.set + "_" + c.name + "_word") })
			sql := "SELECT rowid FROM " + driver.Quote(t.name) + " WHERE " + driver.Quote(t.name) + " MATCH :" + name + " ORDER BY rowid" + limit
			return &Query{table: of, args: []arg{{name, nil}}, words: c, columns: []string{"int"}, SQL: sql, original: sql, weight: of.rows}
		}
	}
	return nil
}

// equal returns a condition "a.x = :x AND …" for the given columns, and its parameters.
func (b *builder) equal(t *table, alias string, columns []*column) (string, []arg) {
	var parts []string
	var args []arg
	for _, c := range columns {
		name := b.parameter(t, c)
		parts = append(parts, alias+"."+driver.Quote(c.name)+" = :"+name)
		args = append(args, arg{name, c})
	}
	return strings.Join(parts, " AND "), args
}

// parameter returns the name of the parameter for a column.
func (b *builder) parameter(t *table, c *column) string {
	return b.once("parameter", c, func() string { return b.unused(t.set + "_" + c.name) })
}

// selected returns the expressions that a query selects from a table, and their types.
func (t *table) selected(alias string) (expressions, types []string) {
	for _, c := range t.columns {
		name := alias + "." + driver.Quote(c.name)
		switch {
		case len(c.stats.present()) > 1:
			expressions = append(expressions, "typeof("+name+")")
			types = append(types, "text")
			continue
		case strings.Contains(c.declared, "DATE") || strings.Contains(c.declared, "TIME") || strings.Contains(c.declared, "BOOL"):
			name = "+" + name // the + hides the declared type, by which libraries would convert values
		}
		expressions = append(expressions, name)
		types = append(types, c.typeOf())
	}
	return expressions, types
}

// typeOf returns the type, in the workload language, of the column in a query's result.
func (c *column) typeOf() string {
	name := "int"
	if present := c.stats.present(); len(present) > 0 {
		name = [...]string{"int", "real", "text", "blob"}[present[0]]
	}
	if c.affinity == "REAL" && name == "int" {
		name = "real"
	}
	if c.notNull || c.rowid {
		return name
	}
	return name + " or null"
}

// mixed reports whether a column cannot be a parameter of a query. A parameter has one type, so the
// column's values must have exactly one storage class.
func (c *column) mixed() bool { return len(c.stats.present()) != 1 }

// indexed reports whether SQLite can find rows by the given columns without reading all rows. SQLite can do so
// if an index of all rows begins with these columns, or if the first of these columns is the rowid.
func (t *table) indexed(columns []*column) bool {
	return columns[0].rowid || slices.ContainsFunc(t.indexes, func(x *index) bool {
		return x.partial == "" && x.beginsWith(columns)
	})
}

// withoutIndex says why rows cannot be found by columns for which [table.indexed] returns
// false.
func (t *table) withoutIndex(columns []*column) string {
	key := document.Join(columns, " and ", func(c *column) string { return c.name })
	for _, x := range t.indexes {
		if x.partial != "" && x.beginsWith(columns) {
			return fmt.Sprintf("the only index that begins with %[2]s is %[1]s, a partial index", x.name, key)
		}
	}
	return "no index begins with " + key
}

// beginsWith reports whether the first columns of an index are the given columns, in any order.
func (x *index) beginsWith(columns []*column) bool {
	return len(x.columns) >= len(columns) && !slices.ContainsFunc(columns, func(c *column) bool { return !slices.Contains(x.columns[:len(columns)], c) })
}

func (f *foreign) on() string {
	var parts []string
	for i, c := range f.columns {
		parts = append(parts, "c."+driver.Quote(c.name)+" = p."+driver.Quote(f.to[i].name))
	}
	return strings.Join(parts, " AND ")
}

// probe adds a data set. Each of its rows has values for the parameters of the queries.
func (b *builder) probe(queries []*Query) {
	d := &dataSet{name: b.reads, count: "$" + b.reads}
	have := func(name string) bool {
		return slices.ContainsFunc(d.columns, func(g generated) bool { return g.name == name })
	}
	for _, q := range queries {
		for _, a := range q.args {
			if have(a.name) {
				continue
			}
			if q.words != nil {
				w := q.words.stats.words
				d.add(generated{name: a.name, kind: "pick", value: b.vocabulary(q.words) + ".word", also: skewed(w.distinct.values(), w.distinct.repeats())})
				continue
			}
			row := b.once("row", q.table, func() string {
				return d.add(generated{name: b.unused(q.table.set + "_row"), kind: "int", value: rowsOf(q.table.set), hidden: true})
			})
			d.add(generated{name: a.name, kind: "pick", value: a.column.of(q.table.set), also: []string{"at: " + row}})
		}
	}
	if len(d.columns) > 0 {
		b.sets = append(b.sets, d)
	}
}
