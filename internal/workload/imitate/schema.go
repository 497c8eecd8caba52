package imitate

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// object is an entry of sqlite_schema.
type object struct {
	kind, name, table, sql string
}

// table is a table of the database, with statistics of its rows.
type table struct {
	object
	virtual   string // the module of a virtual table, in lower case; "" for other tables
	shadow    bool   // a virtual table keeps its data in this table
	noRowid   bool
	rowid     string // the name by which the rowid can be read, or ""
	columns   []*column
	indexes   []*index
	foreign   []*foreign
	rows      int64
	content   *table // for a full-text index: the table whose rows it indexes
	contents  string // for a full-text index: the value of its option "content"; "''" if the value is empty, "" if the index does not have this option
	whole     bool   // the workload inserts the table's rows; if false, SQLite writes them
	set       string // name of the table's data set
	sample    reservoir[[]any]
	composite *index         // the multi-column unique index that generated rows satisfy
	siblings  []*column      // the last columns of those unique indexes that differ from the index "composite" only in the last column
	violated  map[int]string // reason why the workload lacks a CHECK constraint, by the constraint's number
	packed    bool           // the table's pages are full, as after insertion in the order of the key
}

// column is an ordinary column of a table, neither generated nor hidden.
type column struct {
	name     string
	declared string // the declared type, in upper case
	affinity string
	notNull  bool
	key      int // position of the column in the primary key, from 1; 0 if it is not part of the key
	rowid    bool
	unique   bool     // no two rows of the imitation may have the same value
	foreign  *foreign // the foreign key that the column is part of, or nil
	prose    bool     // a full-text index has the words of the column
	stats    columnStats
	names    map[string]string // replacements of values in the workload, if the column has few distinct values
}

// index is an index or a key. The field "sql" is "" if no CREATE INDEX created it.
type index struct {
	object
	origin  string // c: CREATE INDEX; u: UNIQUE; pk: PRIMARY KEY
	unique  bool
	partial string // the condition of a partial index, as it is written in the database
	columns []*column
	whole   bool // the index has no expressions
	parts   []part
	groups  []distinct // distinct values of the first column, of the first two columns, …
	changes []int64    // for each element of the field "groups": number of rows whose values in these columns differ from the values in the row before
	last    []uint64   // for each element of groups: the hash of the values of these columns in the row before
	sibling bool       // generated rows are distinct in this index's columns, because they are distinct in the columns of the table's composite index
	loose   string     // why the workload has the index without UNIQUE, or ""
}

// foreign is a foreign key.
type foreign struct {
	parent  *table
	columns []*column // columns of the child table
	to      []*column // columns of the parent table
}

func (t *table) column(name string) *column {
	return find(t.columns, func(c *column) bool { return strings.EqualFold(c.name, name) })
}

// find returns the first element of a list for which the function "is" returns true, or nil if there is none.
func find[T any](list []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i]
	}
	return nil
}

// named returns the text that the workload contains instead of a value of this table. If the workload
// contains the value itself, named returns false.
func (t *table) named(value string) (string, bool) {
	for _, c := range t.columns {
		if name, ok := c.named(value); ok {
			return name, true
		}
	}
	return "", false
}

// named returns the text that replaces a value in the workload. The parameter "value" is a value of the
// column, or a value inside a JSON document in the column. If the workload does not replace it, the result
// "ok" is false.
func (c *column) named(value string) (text string, ok bool) {
	if name, ok := c.names[value]; ok {
		return name, true
	}
	return c.stats.document.objects.named(value)
}

func (s *objectStats) named(value string) (string, bool) {
	for _, key := range slices.Sorted(maps.Keys(s.members)) {
		m := s.members[key]
		if name, ok := m.column.named(value); ok {
			return name, true
		}
		if name, ok := m.objects.named(value); ok {
			return name, true
		}
	}
	return "", false
}

// schema is a database's schema.
type schema struct {
	objects  []object // in the order in which they were created
	tables   []*table
	analyzed bool
	encoding string
	pageSize int64
	vacuum   int64             // value of PRAGMA auto_vacuum
	log      bool              // the database is in WAL mode
	bytes    int64             // size of the database without free pages
	free     int64             // size of the free pages
	literals map[string]string // replacements of texts in the schema
}

func (s *schema) table(name string) *table {
	return find(s.tables, func(t *table) bool { return strings.EqualFold(t.name, name) })
}

// The function "all" runs a query. It reads each row into "dest", and then calls the function "row".
func all(ctx context.Context, db *sql.DB, query string, args, dest []any, row func() error) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readSchema reads the schema of a database, but not its rows.
func readSchema(ctx context.Context, db *sql.DB) (*schema, error) {
	s := &schema{literals: map[string]string{}}
	var o object
	err := all(ctx, db, `SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY rowid`, nil,
		[]any{&o.kind, &o.name, &o.table, &o.sql}, func() error {
			s.analyzed = s.analyzed || o.name == "sqlite_stat1"
			if o.sql != "" && !strings.HasPrefix(o.name, "sqlite_") {
				s.objects = append(s.objects, o)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	var pages, free int64
	for name, dest := range map[string]any{"encoding": &s.encoding, "page_size": &s.pageSize, "auto_vacuum": &s.vacuum, "page_count": &pages, "freelist_count": &free} {
		if err := db.QueryRowContext(ctx, "PRAGMA "+name).Scan(dest); err != nil {
			return nil, fmt.Errorf("PRAGMA %s: %w", name, err)
		}
	}
	s.bytes, s.free = (pages-free)*s.pageSize, free*s.pageSize
	for _, o := range s.objects {
		if o.kind == "table" {
			s.tables = append(s.tables, &table{object: o, violated: map[int]string{}})
		}
	}
	for _, t := range s.tables {
		if err := t.read(ctx, db); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	for _, t := range s.tables {
		if t.virtual == "" {
			continue
		}
		for _, other := range s.tables {
			if other.virtual == "" && strings.HasPrefix(strings.ToLower(other.name), strings.ToLower(t.name)+"_") {
				other.shadow = other.shadow || isShadow(t.virtual, other.name[len(t.name)+1:])
			}
		}
	}
	for _, t := range s.tables {
		if err := s.keys(ctx, db, t); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return s, nil
}

// shadows lists, by module, the suffixes of the tables in which virtual tables keep their data.
var shadows = map[string][]string{
	"fts3": {"content", "segments", "segdir", "docsize", "stat"}, "fts4": {"content", "segments", "segdir", "docsize", "stat"},
	"fts5": {"content", "data", "idx", "docsize", "config"}, "rtree": {"node", "rowid", "parent"}, "rtree_i32": {"node", "rowid", "parent"},
	"geopoly": {"node", "rowid", "parent"},
}

func isShadow(module, suffix string) bool {
	list, known := shadows[module]
	return !known || slices.Contains(list, strings.ToLower(suffix))
}

// read reads the columns of a table and, if it is a virtual table, its module.
func (t *table) read(ctx context.Context, db *sql.DB) error {
	tokens := significant(t.sql)
	if len(tokens) > 1 && tokens[1].Is("VIRTUAL") {
		for i, token := range tokens {
			if token.Is("USING") && i+1 < len(tokens) {
				t.virtual = strings.ToLower(tokens[i+1].Unquoted())
			}
		}
		t.options(tokens)
	}
	if t.virtual != "" && shadows[t.virtual] == nil {
		return nil // the SQLite that reads the database may not have the module
	}
	if err := db.QueryRowContext(ctx, `SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?`, t.name).Scan(&t.noRowid); err != nil {
		return err
	}
	var name, declared string
	var notNull bool
	var key, hidden, keys int
	err := all(ctx, db, `SELECT name, upper(type), "notnull", pk, hidden, (SELECT count(*) FROM pragma_table_xinfo(?1) WHERE pk > 0) FROM pragma_table_xinfo(?1)`,
		[]any{t.name}, []any{&name, &declared, &notNull, &key, &hidden, &keys}, func() error {
			if hidden == 0 {
				rowid := key > 0 && keys == 1 && declared == "INTEGER" && !t.noRowid && t.virtual == ""
				t.columns = append(t.columns, &column{name: name, declared: declared, affinity: workload.Affinity(declared), notNull: notNull, key: key, rowid: rowid, unique: rowid})
			}
			return nil
		})
	if err != nil {
		return err
	}
	if !t.noRowid {
		for _, name := range []string{"rowid", "_rowid_", "oid"} {
			if t.column(name) == nil {
				t.rowid = name
				break
			}
		}
	}
	return nil
}

// options reads the option "content" of a full-text index.
func (t *table) options(tokens []token) {
	for i := range tokens {
		if tokens[i].Is("content") && i+2 < len(tokens) && tokens[i+1].Text == "=" {
			t.contents = tokens[i+2].Unquoted()
			if t.contents == "" || tokens[i+2].Text == "," || tokens[i+2].Text == ")" {
				t.contents = "''"
			}
		}
	}
}

// keys reads the indexes and foreign keys of a table.
func (s *schema) keys(ctx context.Context, db *sql.DB, t *table) error {
	if t.virtual != "" || t.shadow {
		return nil
	}
	if err := s.indexes(ctx, db, t); err != nil {
		return err
	}
	t.compose()
	return s.references(ctx, db, t)
}

// indexes reads the indexes of a table.
func (s *schema) indexes(ctx context.Context, db *sql.DB, t *table) error {
	var unique, partial bool
	var name, origin string
	var number int
	var of sql.NullString
	err := all(ctx, db, `SELECT x.name, x."unique", x.origin, x.partial, p.seqno, p.name FROM pragma_index_list(?) AS x, pragma_index_info(x.name) AS p ORDER BY x.seq DESC, p.seqno`,
		[]any{t.name}, []any{&name, &unique, &origin, &partial, &number, &of}, func() error {
			if number == 0 { // this is the first part of an index
				x := &index{object: object{kind: "index", name: name, table: t.name}, unique: unique, origin: origin, whole: true}
				if i := slices.IndexFunc(s.objects, func(o object) bool { return o.kind == "index" && o.name == name }); i >= 0 {
					x.object = s.objects[i]
				}
				if partial {
					x.partial = whereOf(x.sql)
				}
				t.indexes = append(t.indexes, x)
			}
			x := t.indexes[len(t.indexes)-1]
			c := t.column(of.String)
			x.parts = append(x.parts, part{c, of.String, number})
			if !of.Valid || c == nil { // this part of the key is an expression, the rowid or a generated column
				x.whole = false
				return nil
			}
			x.columns = append(x.columns, c)
			return nil
		})
	for _, x := range t.indexes {
		if x.unique && x.whole && len(x.columns) == 1 && x.partial == "" {
			x.columns[0].unique = true
		}
	}
	return err
}

// origins lists the origins of indexes, as PRAGMA index_list names them, by priority: PRIMARY KEY, UNIQUE,
// CREATE INDEX. If generated rows cannot satisfy all unique indexes, they satisfy an index whose origin is as
// early in this list as possible.
var origins = []string{"pk", "u", "c"}

// compose chooses t.composite, the multi-column unique index that generated rows satisfy. It also
// sets t.siblings.
func (t *table) compose() {
	byOrigin := slices.Clone(t.indexes) // sorted by origin: the primary key, constraints, other indexes
	slices.SortStableFunc(byOrigin, func(x, y *index) int {
		return slices.Index(origins, x.origin) - slices.Index(origins, y.origin)
	})
	for _, x := range byOrigin {
		if x.unique && x.whole && len(x.columns) > 1 && t.composite == nil && x.partial == "" && !slices.ContainsFunc(x.columns, func(c *column) bool { return c.unique }) {
			t.composite = x
			x.groups, x.changes, x.last = make([]distinct, len(x.columns)), make([]int64, len(x.columns)), make([]uint64, len(x.columns))
		}
	}
	for _, x := range t.indexes {
		if x == t.composite || !x.unique || !x.whole || x.partial != "" || t.composite == nil || len(x.columns) != len(t.composite.columns) {
			continue
		}
		last := len(x.columns) - 1
		if slices.Equal(x.columns[:last], t.composite.columns[:last]) && !slices.Contains(t.parts(), x.columns[last]) {
			t.siblings = append(t.siblings, x.columns[last])
			x.sibling = true
		}
	}
}

// references reads the foreign keys of a table. It leaves out keys whose parent or columns are not
// known, and keys with a column that is part of an earlier key.
func (s *schema) references(ctx context.Context, db *sql.DB, t *table) error {
	var found []*foreign
	var number int
	var parent, from string
	var to sql.NullString
	err := all(ctx, db, `SELECT seq, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq`, []any{t.name},
		[]any{&number, &parent, &from, &to}, func() error {
			if number == 0 { // this is the first column of a key
				found = append(found, &foreign{parent: s.table(parent)})
			}
			f := found[len(found)-1]
			f.columns = append(f.columns, t.column(from))
			var target *column
			if f.parent != nil {
				target = f.parent.column(to.String)
				if !to.Valid {
					target = find(f.parent.columns, func(c *column) bool { return c.key == len(f.columns) })
				}
			}
			f.to = append(f.to, target)
			return nil
		})
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.parent == nil || f.parent.virtual != "" || slices.Contains(f.columns, nil) || slices.Contains(f.to, nil) {
			continue
		}
		if slices.ContainsFunc(f.columns, func(c *column) bool { return c.foreign != nil }) {
			continue
		}
		t.foreign = append(t.foreign, f)
		for _, c := range f.columns {
			c.foreign = f
		}
	}
	return nil
}
