package imitate

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Options say how a workload is made.
type Options struct {
	// Share of the rows that the workload has; 1 is all of them. Tables with fewer than
	// 1000 rows keep them.
	Share float64

	// KeepValues keeps values of the database: texts and numbers of columns that have few,
	// exact ranges, and the literals of the schema.
	KeepValues bool

	// Tell, if not nil, is called now and then with what is being done.
	Tell func(what string)
}

// Workload is a workload that has been made from a database.
type Workload struct {
	YAML    string
	Tables  []Table
	Queries []*Query
	Notes   []string // what is not as in the database
	Bytes   int64    // of the database, without free pages
	Free    int64    // of its free pages

	builder *builder
	source  *Source
}

// Table is a table of the database whose rows are imitated.
type Table struct {
	Name string
	Rows int64 // in the database
	Full int64 // in the workload at the full scale
}

// Query is a phase that reads.
type Query struct {
	Phase    string
	SQL      string // as in the workload
	original string // the same for the database, whose schema has other literals
	table    *table // whose rows have the parameters
	args     []arg
	columns  []string // types of the result
	words    *column  // the parameter is a word of its texts
	weight   int64
}

// arg is a parameter of a query.
type arg struct {
	name   string
	column *column
}

// small is the number of rows below which a table is not scaled: it is probably a list that
// has the same length however much data there is.
const small = 1000

// maxQueries is how many reading phases a workload has at most.
const maxQueries = 60

type builder struct {
	schema       *schema
	name         string
	file         string
	keep         bool
	share        float64
	packed       bool // VACUUM after loading
	sets         []*dataSet
	names        map[string]bool // of data sets and parameters, in lower case
	dictionaries map[string]string
	vocabularies map[*column]string
	numbers      map[string]string
	renamed      map[string]string  // indexes that are called otherwise in the workload
	parameters   map[*column]string // of queries, by the column that they are compared with
	words        map[*column]string // the same for words
	inserts      string
	reads        string
	checks       []check // that the workload has
	notes        []string
}

// From makes a workload from a database that [Open] has opened.
func From(ctx context.Context, source *Source, o Options) (*Workload, error) {
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	db := source.copy.DB()
	s, err := readSchema(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("database %s: SQLite cannot read it: %w", source.path, err)
	}
	s.log = source.copy.WAL
	b := &builder{schema: s, file: filepath.Base(source.path), keep: o.KeepValues, share: o.Share}
	if b.share == 0 {
		b.share = 1
	}
	b.name = nameOf(b.file)
	b.texts()
	for _, t := range s.tables {
		if !t.whole {
			continue
		}
		o.Tell("reading " + t.name)
		err := t.scan(ctx, db, func(rows int64) { o.Tell(fmt.Sprintf("reading %s: %d rows", t.name, rows)) })
		if err != nil {
			return nil, fmt.Errorf("database %s: SQLite cannot read it: %w", source.path, err)
		}
	}
	w := &Workload{Bytes: s.bytes, Free: s.free, builder: b, source: source}
	if err := w.write(ctx); err != nil {
		return nil, err
	}
	if err := w.try(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// write writes the workload's file.
func (w *Workload) write(ctx context.Context) error {
	b := w.builder
	b.sets, b.notes, b.checks = nil, nil, nil
	b.names = map[string]bool{"set": true, "statement": true}
	b.dictionaries, b.vocabularies, b.numbers = map[string]string{}, map[*column]string{}, map[string]string{}
	b.renamed = map[string]string{}
	b.parameters, b.words = map[*column]string{}, map[*column]string{}
	w.Tables, w.Queries = nil, nil
	var tables []*table
	for _, t := range b.schema.tables {
		if t.whole {
			t.set = b.unused(t.name)
			tables = append(tables, t)
			w.Tables = append(w.Tables, Table{t.name, t.rows, b.scaled(t.rows)})
		}
	}
	b.inserts, b.reads = b.unused("inserts"), b.unused("reads")
	b.loosen(tables)
	var loaded []string
	for _, t := range parentsFirst(tables) {
		if t.rows > 0 {
			loaded = append(loaded, b.load(t))
		}
	}
	more := b.additions(tables)
	w.Queries = b.queries(tables)
	b.probe(w.Queries)
	before, after, err := b.script(ctx)
	if err != nil {
		return err
	}
	w.YAML = b.yaml(tables, loaded, more, w.Queries, before, after)
	w.Notes = b.notes
	return nil
}

func (b *builder) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(b.notes, n) {
		b.notes = append(b.notes, n)
	}
}

// nameOf returns the name of the workload of a file.
func nameOf(file string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, strings.TrimSuffix(file, filepath.Ext(file)))
	if name = strings.Trim(name, "-"); name == "" {
		return "imitation"
	}
	return name
}

// unused returns a name for a data set or parameter that nothing else has.
func (b *builder) unused(name string) string {
	name = identifierOf(name)
	free := name
	for i := 2; b.names[strings.ToLower(free)]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	b.names[strings.ToLower(free)] = true
	return free
}

func (b *builder) newSet(name, table, count string) *dataSet {
	d := &dataSet{name: b.unused(name), table: table, count: count}
	b.sets = append(b.sets, d)
	return d
}

// scaled returns how many rows of a table there are at the full scale.
func (b *builder) scaled(rows int64) int64 {
	if rows < small && b.share < 1 {
		return rows
	}
	n := int64(math.Round(float64(rows) * b.share))
	if b.share < 1 {
		n = max(n, small)
	}
	return n
}

// texts decides which tables are filled by inserts, and which columns have words.
func (b *builder) texts() {
	s := b.schema
	for _, t := range s.tables {
		switch {
		case t.shadow:
		case t.virtual == "":
			t.whole = true
		case strings.HasPrefix(t.virtual, "fts") && shadows[t.virtual] != nil:
			if t.contents == "" {
				t.whole = true
				for _, c := range t.columns {
					c.prose = true
				}
			} else if t.content = s.table(t.contents); t.content != nil {
				for _, c := range t.columns {
					if of := t.content.column(c.name); of != nil {
						of.prose = true
					}
				}
			}
		case strings.HasPrefix(t.virtual, "rtree"):
			t.whole = true
		}
	}
}

// loosen finds the unique indexes that generated rows would violate.
func (b *builder) loosen(tables []*table) {
	for _, t := range tables {
		for _, x := range t.indexes {
			x.loose = ""
			if !x.unique || x == t.composite || x.sibling || slices.ContainsFunc(x.columns, func(c *column) bool { return c.unique }) && x.whole {
				continue
			}
			if x.whole && len(x.columns) == 1 && x.columns[0].stats.distinctive() {
				x.columns[0].unique = true
				continue
			}
			switch {
			case x.origin != "c":
				x.loose = "it is one of several keys of several columns"
				b.note("table %s: the key of %s is an index that is not UNIQUE here, because %s", t.name, columnNames(x.columns), x.loose)
				continue
			case !x.whole:
				x.loose = "it is of an expression"
			case x.partial != "":
				x.loose = "it is partial"
			default:
				x.loose = "it is one of several of several columns"
			}
			if x.loose != "" {
				b.note("index %s is not UNIQUE here, because %s", x.name, x.loose)
			}
		}
	}
}

// parentsFirst sorts tables so that rows come after those that they refer to.
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

// load adds the data set of a table.
func (b *builder) load(t *table) string {
	d := &dataSet{name: t.set, table: t.name, count: "$" + t.set}
	b.fill(d, t, false)
	b.sets = append(b.sets, d)
	return d.name
}

func (b *builder) fill(d *dataSet, t *table, more bool) {
	if strings.HasPrefix(t.virtual, "rtree") {
		b.boxes(d, t, more)
		return
	}
	for _, c := range t.columns {
		b.column(d, t, c, more)
	}
}

// boxes makes the rows of an R-tree: points, because a box needs two bounds of which one is
// not less than the other.
func (b *builder) boxes(d *dataSet, t *table, more bool) {
	b.note("table %s: its boxes are points", t.name)
	points := b.dictionaries["points "+t.name]
	if points == "" {
		p := b.newSet(t.set+"_points", "", "$"+t.set)
		points = p.name
		b.dictionaries["points "+t.name] = points
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
	}
	first := "1"
	if more {
		first = "1 + $" + t.set
	}
	d.add(generated{name: t.columns[0].name, kind: "serial", value: first})
	row := d.help(t.columns[0], "row", generated{kind: "serial", value: "0"}, t.columns)
	for j := 1; j+1 < len(t.columns); j += 2 {
		for _, c := range t.columns[j : j+2] {
			d.add(generated{name: c.name, kind: "pick", value: fmt.Sprintf("%s.x%d", points, j), also: []string{"at: " + row}})
		}
	}
}

// additions adds data sets of rows that are inserted into the largest tables after loading.
func (b *builder) additions(tables []*table) []*dataSet {
	const most = 5
	largest := slices.Clone(tables)
	slices.SortStableFunc(largest, func(x, y *table) int { return int(max(-1, min(1, y.rows-x.rows))) })
	var list []*dataSet
	for _, t := range largest {
		if t.rows == 0 || len(list) == most {
			break
		}
		if !b.extendable(t) {
			b.note("no rows are inserted into %s after loading, because its keys leave no room for them", t.name)
			continue
		}
		d := b.newSet("more_"+t.name, t.name, "$"+b.inserts)
		b.fill(d, t, true)
		list = append(list, d)
	}
	return list
}

// typeOf returns the type that a column of a result has.
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

// selected returns what a query selects of a table, and the types.
func (t *table) selected(alias string) (expressions, types []string) {
	for _, c := range t.columns {
		name := alias + "." + driver.Quote(c.name)
		switch {
		case len(c.stats.present()) > 1:
			expressions = append(expressions, "typeof("+name+")")
			types = append(types, "text")
			continue
		case strings.Contains(c.declared, "DATE") || strings.Contains(c.declared, "TIME") || strings.Contains(c.declared, "BOOL"):
			name = "+" + name // libraries would convert what is declared so
		}
		expressions = append(expressions, name)
		types = append(types, c.typeOf())
	}
	return expressions, types
}

// mixed reports whether a column cannot be a parameter, because only SQLite knows it.
func (c *column) mixed() bool { return len(c.stats.present()) != 1 }

// queries returns the reads that are typical for the schema.
func (b *builder) queries(tables []*table) []*Query {
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
		if i := slices.IndexFunc(t.columns, func(c *column) bool { return c.rowid }); i >= 0 {
			add(b.read(t, []*column{t.columns[i]}, true, ""), t.name+" by "+t.columns[i].name)
		}
		for _, x := range t.indexes {
			var names []string
			for _, c := range x.columns {
				names = append(names, c.name)
			}
			if !x.whole || slices.ContainsFunc(x.columns, (*column).mixed) {
				b.note("nothing is read by index %s, because its key is an expression or has values of several types", x.name)
				continue
			}
			if q := b.read(t, x.columns, x.unique, x.partial); q != nil {
				add(q, t.name+" by "+strings.Join(names, ", "))
			}
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
	slices.SortStableFunc(list, func(x, y *Query) int { return int(max(-1, min(1, y.weight-x.weight))) })
	if len(list) > maxQueries {
		b.note("%d of %d queries are left out, those of the smallest tables", len(list)-maxQueries, len(list))
		list = list[:maxQueries]
	}
	return list
}

// phaseName makes a name of a phase.
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

// condition returns "a.x = :x AND …", and the parameters.
func (b *builder) condition(t *table, alias string, columns []*column) (string, []arg) {
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
	if b.parameters[c] == "" {
		b.parameters[c] = b.unused(t.set + "_" + c.name)
	}
	return b.parameters[c]
}

// read reads rows by a key.
func (b *builder) read(t *table, columns []*column, unique bool, partial string) *Query {
	expressions, types := t.selected("t")
	where, args := b.condition(t, "t", columns)
	q := &Query{table: t, args: args, columns: types, weight: t.rows}
	begin := "SELECT " + strings.Join(expressions, ", ") + " FROM " + driver.Quote(t.name) + " AS t WHERE "
	end := ""
	if !unique {
		if t.rowid != "" {
			end = " ORDER BY t." + t.rowid
		}
		end += limit
	}
	q.SQL, q.original = begin+where+end, begin+where+end
	if partial != "" {
		anonymous := partial
		if !b.keep {
			// As an index, so that its condition is treated as that of the index.
			o := object{kind: "view", table: t.name, sql: partial}
			anonymous = b.schema.anonymous(o)
		}
		q.SQL, q.original = begin+where+" AND ("+anonymous+")"+end, begin+where+" AND ("+partial+")"+end
	}
	return q
}

// indexed reports whether an index begins with the columns.
func (t *table) indexed(columns []*column) bool {
	return columns[0].rowid || slices.ContainsFunc(t.indexes, func(x *index) bool {
		return x.partial == "" && len(x.columns) >= len(columns) && !slices.ContainsFunc(columns, func(c *column) bool { return !slices.Contains(x.columns[:len(columns)], c) })
	})
}

func (f *foreign) on() string {
	var parts []string
	for i, c := range f.columns {
		parts = append(parts, "c."+driver.Quote(c.name)+" = p."+driver.Quote(f.to[i].name))
	}
	return strings.Join(parts, " AND ")
}

// joined reads a row with those that refer to it.
func (b *builder) joined(t *table, f *foreign) *Query {
	if !t.indexed(f.columns) && t.rows > small {
		b.note("%s is not read with its %s, because no index begins with %s", f.parent.name, t.name, f.columns[0].name)
		return nil
	}
	parents, types := f.parent.selected("p")
	children, more := t.selected("c")
	where, args := b.condition(f.parent, "p", f.to)
	sql := "SELECT " + strings.Join(append(parents, children...), ", ") + " FROM " + driver.Quote(f.parent.name) + " AS p JOIN " + driver.Quote(t.name) + " AS c ON " + f.on() + " WHERE " + where
	if t.rowid != "" {
		sql += " ORDER BY c." + t.rowid
	}
	return &Query{table: f.parent, args: args, columns: append(types, more...), SQL: sql + limit, original: sql + limit, weight: t.rows}
}

// joinedBack reads a row with the one that it refers to.
func (b *builder) joinedBack(t *table, f *foreign) *Query {
	var key []*column
	if i := slices.IndexFunc(t.columns, func(c *column) bool { return c.rowid }); i >= 0 {
		key = []*column{t.columns[i]}
	} else if i := slices.IndexFunc(t.indexes, func(x *index) bool { return x.origin == "pk" }); i >= 0 {
		key = t.indexes[i].columns
	}
	if key == nil || slices.ContainsFunc(key, (*column).mixed) {
		return nil
	}
	children, types := t.selected("c")
	parents, more := f.parent.selected("p")
	where, args := b.condition(t, "c", key)
	sql := "SELECT " + strings.Join(append(children, parents...), ", ") + " FROM " + driver.Quote(t.name) + " AS c JOIN " + driver.Quote(f.parent.name) + " AS p ON " + f.on() + " WHERE " + where
	return &Query{table: t, args: args, columns: append(types, more...), SQL: sql, original: sql, weight: t.rows}
}

// match searches a full-text index for a word.
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
			name := b.words[c]
			if name == "" {
				name = b.unused(of.set + "_" + c.name + "_word")
				b.words[c] = name
			}
			sql := "SELECT rowid FROM " + driver.Quote(t.name) + " WHERE " + driver.Quote(t.name) + " MATCH :" + name + " ORDER BY rowid" + limit
			return &Query{table: of, args: []arg{{name, nil}}, words: c, columns: []string{"int"}, SQL: sql, original: sql, weight: of.rows}
		}
	}
	return nil
}

// probe adds the data set whose rows have the parameters of the queries.
func (b *builder) probe(queries []*Query) {
	d := &dataSet{name: b.reads, count: "$" + b.reads}
	rows := map[*table]string{}
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
				g := generated{name: a.name, kind: "pick", value: b.vocabulary(q.words) + ".word"}
				if s := skew(w.distinct.values(), w.distinct.repeats()); s > 0 {
					g.also = []string{fmt.Sprintf("skew: %g", s)}
				}
				d.add(g)
				continue
			}
			row := rows[q.table]
			if row == "" {
				row = b.unused(q.table.set + "_row")
				rows[q.table] = row
				d.add(generated{name: row, kind: "int", value: fmt.Sprintf("[0, $%s - 1]", q.table.set), hidden: true})
			}
			value := q.table.set + "." + a.column.name
			if !isPlain(a.column.name) {
				value = yamlText(value)
			}
			d.add(generated{name: a.name, kind: "pick", value: value, also: []string{"at: " + row}})
		}
	}
	if len(d.columns) > 0 {
		b.sets = append(b.sets, d)
	}
}

// script returns the schema, and what comes after the rows. SQL that no longer compiles
// without the literals of the user is left out.
func (b *builder) script(ctx context.Context) (before, after string, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", "", err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, o := range b.schema.objects {
		t := b.schema.table(o.name)
		if o.kind == "table" && t != nil && (t.shadow || t.virtual != "" && shadows[t.virtual] == nil) {
			if !t.shadow {
				b.note("table %s is left out: it is of the module %s, which sqlite3perf's SQLite does not have", t.name, t.virtual)
			}
			continue
		}
		text := o.sql
		indexes := ""
		if o.kind == "table" {
			for _, x := range t.indexes {
				if x.loose == "" || x.origin == "c" {
					continue
				}
				if list, ok := withoutKey(tokenize(text), x.columns); ok {
					text = join(list)
					name := b.unused(t.name + "_" + x.columns[0].name + "_key")
					b.renamed[x.name] = name
					indexes += fmt.Sprintf("CREATE INDEX %s ON %s(%s);\n", driver.Quote(name), driver.Quote(t.name), columnNames(x.columns))
				}
			}
		}
		if !b.keep {
			anonymous := o
			anonymous.sql = text
			text = b.schema.anonymous(anonymous)
		}
		var checks []check
		if o.kind == "table" && t.virtual == "" {
			if text, checks = b.withoutViolated(t, text); len(checks) > 0 {
				// An application may have its own functions.
				if _, err := db.ExecContext(ctx, "EXPLAIN "+text); err != nil {
					for _, c := range checks {
						c.violate(fmt.Sprintf("SQLite does not compile those of this table: %v", err))
					}
					text, checks = b.withoutViolated(t, text)
				}
			}
		}
		if o.kind == "index" {
			if x := b.index(o); x != nil && x.loose != "" {
				list := tokenize(text)
				if i := slices.IndexFunc(list, func(t token) bool { return t.is("UNIQUE") }); i >= 0 {
					text = join(slices.Delete(list, i, i+1))
				}
			}
		}
		text = strings.TrimSpace(strings.ReplaceAll(text, "\r", ""))
		if _, err := db.ExecContext(ctx, text); err != nil {
			b.note("%s %s is left out: without its literals SQLite says: %v", o.kind, o.name, err)
			continue
		}
		b.checks = append(b.checks, checks...)
		if o.kind == "trigger" {
			after += text + ";\n"
		} else {
			before += text + ";\n" + indexes
		}
	}
	rebuild := ""
	for _, t := range b.schema.tables {
		switch {
		case t.content != nil:
			rebuild += fmt.Sprintf("INSERT INTO %s(%s) VALUES ('rebuild');\n", driver.Quote(t.name), driver.Quote(t.name))
		case t.contents == "''":
			b.note("table %s is empty: it keeps no texts that could be imitated", t.name)
		}
	}
	after = rebuild + after
	if b.packed {
		after += "VACUUM;\n"
	}
	if b.schema.analyzed {
		after += "ANALYZE;\n"
	}
	if b.schema.encoding != "UTF-8" {
		b.note("texts are UTF-8 here, and %s in the database", b.schema.encoding)
	}
	return before, after, nil
}

// columnNames returns the names of columns as SQL.
func columnNames(columns []*column) string {
	var names []string
	for _, c := range columns {
		names = append(names, driver.Quote(c.name))
	}
	return strings.Join(names, ", ")
}

func (b *builder) index(o object) *index {
	t := b.schema.table(o.table)
	if t == nil {
		return nil
	}
	i := slices.IndexFunc(t.indexes, func(x *index) bool { return x.name == o.name })
	if i < 0 {
		return nil
	}
	return t.indexes[i]
}

// needs returns the features that the schema uses and that some drivers lack.
func (b *builder) needs() []string {
	var list []string
	for _, t := range b.schema.tables {
		if slices.Contains(driver.FeatureKeys(), t.virtual) && shadows[t.virtual] != nil && !slices.Contains(list, t.virtual) {
			list = append(list, t.virtual)
		}
	}
	return list
}

// yaml writes the file.
func (b *builder) yaml(tables []*table, loaded []string, more []*dataSet, queries []*Query, before, after string) string {
	var w strings.Builder
	fmt.Fprintf(&w, "# Made by sqlite3perf workload from %s.\n", yamlText(b.file))
	if !b.keep {
		w.WriteString("# No text of the database is in it: texts are letters. Times and numbers of 1000 or more are rounded or moved;\n# smaller integers, and how frequent they are, stay.\n")
	}
	for _, n := range b.notes {
		fmt.Fprintf(&w, "# %s.\n", strings.Join(strings.Fields(n), " "))
	}
	fmt.Fprintf(&w, "name: %s\nabout: |\n  An imitation of a database. Loading it is not timed; then rows are read by each index and\n"+
		"  along each foreign key, and rows are inserted into its largest tables.\n", b.name)
	if n := b.needs(); n != nil {
		fmt.Fprintf(&w, "needs: [%s]\n", strings.Join(n, ", "))
	}
	settings := "journal_mode: delete, synchronous: full"
	if b.schema.log {
		settings = "journal_mode: wal, synchronous: normal"
	}
	settings += fmt.Sprintf(", page_size: %d", b.schema.pageSize)
	if b.schema.vacuum > 0 {
		settings += ", auto_vacuum: " + [...]string{"none", "full", "incremental"}[b.schema.vacuum]
	}
	// SQLite's default; the file does not know what the application sets.
	fmt.Fprintf(&w, "settings: {%s, foreign_keys: off}\n", settings)
	b.scales(&w, tables, more, queries)
	fmt.Fprintf(&w, "schema: |2\n%s", indented(before, "  "))
	if len(b.sets) > 0 {
		w.WriteString("rows:\n")
	}
	for _, d := range b.sets {
		fmt.Fprintf(&w, "  %s:\n    count: %s\n", yamlName(d.name), d.count)
		if d.table != "" && d.table != d.name {
			fmt.Fprintf(&w, "    table: %s\n", yamlText(d.table))
		}
		w.WriteString("    columns:\n")
		for _, c := range d.columns {
			fmt.Fprintf(&w, "      %s: %s\n", yamlName(c.name), c)
		}
	}
	w.WriteString("phases:\n")
	if len(loaded) > 0 {
		fmt.Fprintf(&w, "  - {name: load, untimed: true, insert: [%s]}\n", strings.Join(loaded, ", "))
	}
	if after != "" {
		fmt.Fprintf(&w, "  - name: finish\n    untimed: true\n    script: |2\n%s", indented(after, "      "))
	}
	for _, q := range queries {
		fmt.Fprintf(&w, "  - name: %s\n    query: %s\n    for each: %s\n    columns: [%s]\n", yamlText(q.Phase), yamlText(q.SQL), b.reads, strings.Join(q.columns, ", "))
	}
	if len(more) > 0 {
		w.WriteString("  # All rows of a phase are one transaction. With \"transaction: per statement\" each row is one, as in most\n  # web services: then synchronous decides how long it takes.\n")
	}
	for _, d := range more {
		fmt.Fprintf(&w, "  - {name: %s, insert: %s, transaction: one}\n", yamlText(phaseName("insert "+d.table)), d.name)
	}
	if len(more) == 0 && len(queries) == 0 {
		w.WriteString("  - {name: check, script: PRAGMA integrity_check}\n")
	}
	return w.String()
}

// scales writes the numbers of rows.
func (b *builder) scales(w *strings.Builder, tables []*table, more []*dataSet, queries []*Query) {
	const largest = 10_000
	most := int64(1)
	for _, t := range tables {
		most = max(most, t.rows)
	}
	var full, quick, factor []string
	add := func(name string, rows, few int64) {
		full = append(full, fmt.Sprintf("%s: %d", name, rows))
		quick = append(quick, fmt.Sprintf("%s: %d", name, few))
	}
	for _, t := range tables {
		if t.rows == 0 {
			continue
		}
		rows := b.scaled(t.rows)
		few := rows
		if rows >= small {
			factor = append(factor, t.set)
			few = min(rows, max(small, t.rows*largest/max(most, largest)))
		}
		add(t.set, rows, few)
	}
	if len(more) > 0 {
		add(b.inserts, 1000, 1000)
	}
	if len(queries) > 0 {
		add(b.reads, 10_000, 1000)
	}
	if len(full) == 0 {
		return
	}
	fmt.Fprintf(w, "scales:\n  full: {%s}\n  quick: {%s}\n", strings.Join(full, ", "), strings.Join(quick, ", "))
	if factor != nil {
		fmt.Fprintf(w, "  factor: [%s]\n", strings.Join(factor, ", "))
	}
}

func indented(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
