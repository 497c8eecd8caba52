package imitate

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Options say how a workload is made from a database.
type Options struct {
	// Share is the fraction of the rows that the workload has, such as 0.1; 0 and 1 mean all rows.
	// Tables with fewer than 1000 rows keep all rows. Larger tables keep at least 1000 rows.
	Share float64

	// KeepValues keeps values of the database. These are the texts and numbers of columns with
	// few distinct values, exact ranges, and the literals of the schema.
	KeepValues bool

	// Tell, if not nil, is called from time to time with a description of the current step.
	Tell func(what string)
}

// Workload is a workload that has been made from a database.
type Workload struct {
	YAML    string
	Tables  []Table
	Queries []*Query
	Notes   []string // differences from the database, as sentences
	Bytes   int64    // size of the database without free pages
	Free    int64    // size of the database's free pages

	builder *builder
	source  *Source
}

// Table is a table of the database whose rows are imitated.
type Table struct {
	Name string
	Rows int64 // number of rows in the database
	Full int64 // number of rows in the workload at the full scale
}

// The constant "small" is the number of rows below which a table is not scaled. A table with fewer rows
// is probably a list whose length does not depend on the amount of data.
const small = 1000

type builder struct {
	schema   *schema
	name     string
	file     string
	keep     bool
	share    float64
	packed   bool              // the workload runs VACUUM after loading
	failing  map[string]string // reason why the workload lacks a trigger, by the trigger's name
	closed   map[string]string // reason why no phase inserts into a table, by the table's name
	onlyFull string            // why the workload can only be measured at the full scale, or ""
	draft
}

// draft is the part of a builder that each call of [Workload.write] creates again.
type draft struct {
	sets     []*dataSet
	names    map[string]bool    // names of data sets and parameters, in lower case
	made     map[purpose]string // names of data sets, hidden columns and parameters, by their purpose
	renamed  map[string]string  // new names of indexes that the workload renames, by their names in the database
	inserts  string
	reads    string
	checks   []check         // CHECK constraints of the workload
	scripted map[string]bool // names of the workload's triggers
	notes    []string
}

// purpose says what a data set, a hidden column or a parameter is made for.
type purpose struct {
	what string
	of   any // for example the table or the column for which it is made
}

// once returns the name of the data set, column or parameter for a purpose. If there is none yet, once calls
// the function "make", which makes it and returns its name.
func (b *builder) once(what string, of any, make func() string) string {
	name, made := b.made[purpose{what, of}]
	if !made {
		name = make()
		b.made[purpose{what, of}] = name
	}
	return name
}

// From makes a workload from a database that [Open] has opened.
func From(ctx context.Context, source *Source, o Options) (*Workload, error) {
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	db := source.DB()
	s, err := readSchema(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("database %s: SQLite cannot read it: %w", source.path, err)
	}
	s.log = source.WAL
	b := &builder{schema: s, file: filepath.Base(source.path), keep: o.KeepValues, share: o.Share, failing: map[string]string{}, closed: map[string]string{}}
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
	if err := w.tryChecks(ctx); err != nil {
		return nil, err
	}
	o.Tell("trying the phases that insert")
	return w, w.tryQuick(ctx)
}

// write recreates w.YAML, w.Tables, w.Queries and w.Notes from everything that is known about the
// database so far.
func (w *Workload) write(ctx context.Context) error {
	b := w.builder
	b.draft = draft{names: map[string]bool{"set": true, "statement": true}, made: map[purpose]string{}, renamed: map[string]string{}, scripted: map[string]bool{}}
	w.Tables, w.Queries = nil, nil
	if b.onlyFull != "" {
		b.note("%s", b.onlyFull)
	}
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
	var loaded, unused []string
	for _, t := range parentsFirst(tables) {
		if t.rows > 0 {
			loaded = append(loaded, b.load(t))
		} else {
			unused = append(unused, t.name)
		}
	}
	if unused != nil {
		b.note("no phase uses these tables, which are empty in the database: %s", strings.Join(unused, ", "))
	}
	empty, err := openMemory()
	if err != nil {
		return err
	}
	defer empty.Close()
	before, after := b.script(ctx, empty) // b.script also decides which triggers the workload has
	more := b.additions(tables)
	w.Queries = b.queries(tables, func(q *Query) error {
		_, _, err := q.run(ctx, w.source.DB(), q.original, nil)
		if err == nil {
			_, _, err = q.run(ctx, empty, q.SQL, nil)
		}
		return err
	})
	b.probe(w.Queries)
	w.YAML = b.yaml(tables, loaded, more, w.Queries, before, after)
	w.Notes = b.notes
	return nil
}

// writeAgain writes the workload again if the parameter "changed" is true and the parameter "err" is nil.
// Otherwise it returns "err".
func (w *Workload) writeAgain(ctx context.Context, changed bool, err error) error {
	if err == nil && changed {
		return w.write(ctx)
	}
	return err
}

func (b *builder) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(b.notes, n) {
		b.notes = append(b.notes, n)
	}
}

// nameOf returns the name of a workload that imitates the given file.
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

// unused returns a name that no other data set or parameter has, and reserves it.
func (b *builder) unused(name string) string {
	name = identifierOf(name)
	free := name
	for i := 2; b.names[strings.ToLower(free)]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	b.names[strings.ToLower(free)] = true
	return free
}

// scaled returns how many rows a table has in the workload at the full scale. The parameter "rows" is its
// number of rows in the database.
func (b *builder) scaled(rows int64) int64 {
	if rows < small && b.share < 1 {
		return rows
	}
	// The number is rounded up, here and at the quick scale. Rounding down could leave out rows to which
	// other tables refer.
	n := int64(math.Ceil(float64(rows)*b.share - 1e-6))
	if b.share < 1 {
		n = max(n, small)
	}
	return n
}

// texts decides into which tables rows are inserted, and which columns have texts that consist of
// words.
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
