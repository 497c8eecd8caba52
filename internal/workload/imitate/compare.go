package imitate

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Comparison is how near an imitation is.
type Comparison struct {
	Bytes   int64 // of the imitation
	Queries []Compared

	// Sizes are the tables and indexes whose sizes differ most, if the whole does; otherwise
	// those that are not near. There are none if the imitation has a part of the rows.
	Sizes []Size
}

// Size is what a table or index takes of the database and of the imitation.
type Size struct {
	Name  string
	Bytes [2]int64
}

// Near reports whether the sizes are within a factor of 2.
func (s *Size) Near() bool { return near(float64(s.Bytes[0]), float64(s.Bytes[1]), 0) }

// Compared is one query on the database and on its imitation.
type Compared struct {
	Query *Query
	Plan  [2]string // the database's and the imitation's
	Rows  [2]float64
	Time  [2]time.Duration // the median of an execution, by this process's SQLite

	renamed string // the database's plan with the names that indexes have in the imitation
}

// SamePlan reports whether SQLite plans the query in the same way.
func (c *Compared) SamePlan() bool { return c.renamed == c.Plan[1] }

// NearRows and NearTime report whether the query returns about as many rows on the imitation,
// and takes about as long: within a factor of 2.
func (c *Compared) NearRows() bool { return near(c.Rows[0], c.Rows[1], 0.5) }

// NearTime is [Compared.NearRows] of times.
func (c *Compared) NearTime() bool {
	return near(float64(c.Time[0]), float64(c.Time[1]), float64(5*time.Microsecond))
}

// near reports whether two values are within a factor of 2, or differ by little.
func near(x, y, little float64) bool { return max(x, y) <= 2*min(x, y) || math.Abs(x-y) <= little }

// Near reports whether the plan, the rows and the time are near.
func (c *Compared) Near() bool { return c.SamePlan() && c.NearRows() && c.NearTime() }

// NearSize is the share by which the size of an imitation may differ.
const NearSize = 0.1

// Compare loads the workload, at the full scale, into a database beside the copy, and runs
// its queries on both, and tries its triggers and the phases that insert: what fails is left
// out of the workload, which then has another YAML. resolved is the workload's plan. keep is a file that the database is copied to, which must not exist; "" for none. If the database is packed, as after
// VACUUM, and so the imitation is nearer to its size with a VACUUM, the workload gets one.
func (w *Workload) Compare(ctx context.Context, resolved *plan.Plan, keep string, tell func(what string)) (*Comparison, error) {
	dir, err := os.MkdirTemp(w.source.dir, "imitation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "imitation.db")
	db, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	gen, err := plan.NewGenerator(1, resolved)
	if err != nil {
		return nil, err
	}
	l := &loader{db: db, gen: gen, plan: resolved, tell: tell}
	if err := l.load(ctx, w.builder.schema); err != nil {
		return nil, fmt.Errorf("loading the imitation: %w", err)
	}
	found, err := w.builder.violations(ctx, db)
	if err == nil && found {
		err = w.write(ctx)
	}
	if err != nil {
		return nil, err
	}
	c := &Comparison{}
	if c.Bytes, err = usedBytes(ctx, db); err != nil {
		return nil, err
	}
	if want := w.Wanted(); !w.builder.packed && float64(c.Bytes) > 1.02*want {
		if _, err := db.ExecContext(ctx, "VACUUM"); err != nil {
			return nil, fmt.Errorf("VACUUM of the imitation: %w", err)
		}
		packed, err := usedBytes(ctx, db)
		if err != nil {
			return nil, err
		}
		if math.Abs(float64(packed)-want) < math.Abs(float64(c.Bytes)-want) {
			w.builder.packed, c.Bytes = true, packed
			if err := w.write(ctx); err != nil {
				return nil, err
			}
		}
	}
	for _, q := range w.Queries {
		tell("comparing " + q.Phase)
		one := Compared{Query: q}
		if one.Plan[0], one.Rows[0], err = q.run(ctx, w.source.copy.DB(), q.original, q.sampled()); err != nil {
			return nil, fmt.Errorf("the query %s on the database: %w", q.Phase, err)
		}
		one.renamed = one.Plan[0]
		for name, now := range w.builder.renamed {
			one.renamed = strings.ReplaceAll(one.renamed, " "+name+" ", " "+now+" ")
		}
		values, err := l.values(w.builder.reads, q)
		if err != nil {
			return nil, err
		}
		if one.Plan[1], one.Rows[1], err = q.run(ctx, db, q.SQL, values); err != nil {
			return nil, fmt.Errorf("the query %s on the imitation: %w", q.Phase, err)
		}
		if one.Time, err = q.time(ctx, [2]*sql.DB{w.source.copy.DB(), db}, [2]string{q.original, q.SQL}, [2][][]any{q.sampled(), values}); err != nil {
			return nil, fmt.Errorf("the query %s: %w", q.Phase, err)
		}
		c.Queries = append(c.Queries, one)
	}
	if w.builder.share == 1 {
		if c.Sizes, err = w.sizes(ctx, db, math.Abs(float64(c.Bytes)/w.Wanted()-1) > NearSize/2); err != nil {
			return nil, err
		}
	}
	if err := w.tryInserts(ctx, l, workload.Full, !found); err != nil || keep == "" {
		return c, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return c, copyNew(path, keep)
}

// copyNew copies a file to a path at which there must be none.
func copyNew(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Close()
	} else {
		out.Close()
	}
	if err != nil {
		os.Remove(to)
	}
	return err
}

// mostSizes is how many tables and indexes are named that make a size differ.
const mostSizes = 3

// sizes returns the tables and indexes whose sizes differ most, the greatest difference first:
// all by more than a hundredth of the database, and unless the whole differs those that are not
// near.
func (w *Workload) sizes(ctx context.Context, db *sql.DB, whole bool) ([]Size, error) {
	found := map[string]*Size{}
	for i, of := range []*sql.DB{w.source.copy.DB(), db} {
		var name string
		var bytes int64
		err := all(ctx, of, "SELECT name, sum(pgsize) FROM dbstat GROUP BY name", nil, func() []any { return []any{&name, &bytes} }, func() error {
			if i == 0 {
				name = cmp.Or(w.builder.renamed[name], name)
			}
			if found[name] == nil {
				found[name] = &Size{Name: name}
			}
			found[name].Bytes[i] = bytes
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("the sizes of tables and indexes: %w", err)
		}
	}
	var list []Size
	for _, name := range slices.Sorted(maps.Keys(found)) {
		s := *found[name]
		if s.difference() > w.Bytes/100 && (whole || !s.Near()) && !strings.HasPrefix(name, "sqlite_stat") {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(x, y Size) int { return cmp.Compare(y.difference(), x.difference()) })
	return list[:min(len(list), mostSizes)], nil
}

func (s *Size) difference() int64 { return max(s.Bytes[0]-s.Bytes[1], s.Bytes[1]-s.Bytes[0]) }

// Wanted returns the size that the imitation should have: with a part of the rows, about
// that part of the database's.
func (w *Workload) Wanted() float64 {
	if w.builder.share == 1 {
		return float64(w.Bytes)
	}
	var rows, full int64
	for _, t := range w.Tables {
		rows += t.Rows
		full += t.Full
	}
	return float64(w.Bytes) * float64(full) / math.Max(1, float64(rows))
}

// openFile opens a database with one connection.
func openFile(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String())
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// usedBytes returns the size of a database without free pages.
func usedBytes(ctx context.Context, db *sql.DB) (int64, error) {
	var bytes int64
	err := db.QueryRowContext(ctx, `SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&bytes)
	return bytes, err
}

// preparer is a database or a transaction.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// loader loads the part of a plan that is not timed into a database.
type loader struct {
	db   *sql.DB
	gen  *plan.Gen
	plan *plan.Plan
	tell func(string)
}

// cacheKiB is how much of the imitation is kept in memory while it is loaded.
const cacheKiB = 256 << 10

func (l *loader) load(ctx context.Context, s *schema) error {
	// Rows go to random places of the indexes, which therefore should be in memory.
	// Without locks, queries are timed as those of the copy, which has none.
	settings := fmt.Sprintf("PRAGMA locking_mode = exclusive; PRAGMA page_size = %d; PRAGMA auto_vacuum = %d; PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = %d", s.pageSize, s.vacuum, -cacheKiB)
	for _, script := range []string{settings, unchecked, l.plan.Schema} {
		if _, err := l.db.ExecContext(ctx, script); err != nil {
			return err
		}
	}
	rows := int64(0)
	for i := range l.plan.Phases {
		p := &l.plan.Phases[i]
		switch {
		case !p.Untimed:
			return nil
		case p.Script != "":
			l.tell("finishing the imitation")
			err := within(ctx, time.Now(), rows, func(ctx context.Context) error {
				_, err := l.db.ExecContext(ctx, p.Script)
				return err
			})
			if err != nil {
				return err
			}
		case p.Insert != nil:
			if err := l.insert(ctx, p.Insert); err != nil {
				return err
			}
			for _, name := range p.Insert.Sets {
				rows += l.plan.DataSet(name).Total
			}
		}
	}
	return nil
}

// patience is how long SQLite may compute for the first row, and patiencePerRow for each
// other. Usual rows take some microseconds.
var patience, patiencePerRow = 10 * time.Second, 10 * time.Millisecond

// errEndless is the error of what does not end: the schema of a database may compute anything.
var errEndless = errors.New("it takes too long: a trigger, a generated column, a constraint or an index of the database computes for seconds")

// within does something for a number of rows, and returns [errEndless] if that takes much
// longer than rows usually do.
func within(ctx context.Context, begin time.Time, rows int64, do func(context.Context) error) error {
	limited, cancel := context.WithDeadline(ctx, begin.Add(patience+time.Duration(rows)*patiencePerRow))
	defer cancel()
	err := do(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return errEndless
	}
	return err
}

func (l *loader) insert(ctx context.Context, in *plan.Insert) (err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			if back := tx.Rollback(); !errors.Is(err, errEndless) { // whose interruption has done it
				err = errors.Join(err, back)
			}
		}
	}()
	for _, name := range in.Sets {
		d := l.plan.DataSet(name)
		if err := l.rows(ctx, tx, d, 0, d.Total); err != nil {
			return fmt.Errorf("table %s: %w", d.Table, err)
		}
	}
	return tx.Commit()
}

// rows inserts the rows from number from up to number to of a data set.
func (l *loader) rows(ctx context.Context, db preparer, d *plan.DataSet, from, to int64) error {
	// Statements of several rows take less time.
	several := min(max(1, 400/max(1, len(d.Bound()))), 40)
	var statements [2]*sql.Stmt
	for i, rows := range []int{1, several} {
		text, _ := d.InsertSQL(rows)
		st, err := db.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		defer st.Close()
		statements[i] = st
	}
	var batch driver.Batch
	var list []any
	begin := time.Now()
	step := min(l.gen.RowsFitting(d.Name), 10_000)
	for lo := from; lo < to; lo += step {
		l.tell(fmt.Sprintf("loading the imitation of %s: %d of %d rows", d.Table, lo, d.Total))
		hi := min(lo+step, to)
		if err := l.gen.Fill(&batch, d.Name, lo, hi); err != nil {
			return err
		}
		for r := 0; r < int(hi-lo); {
			st, n := statements[0], 1
			if r+several <= int(hi-lo) {
				st, n = statements[1], several
			}
			list = list[:0]
			for i := range n {
				list = append(list, values(&batch, r+i)...)
			}
			err := within(ctx, begin, lo-from+int64(r+n), func(ctx context.Context) error {
				_, err := st.ExecContext(ctx, list...)
				return err
			})
			if err != nil {
				return fmt.Errorf("from row %d: %w", lo+int64(r), err)
			}
			r += n
		}
	}
	return nil
}

// values returns the values of row r of a batch, valid until it is filled again.
func values(b *driver.Batch, r int) []any {
	list := make([]any, len(b.Columns))
	for j := range b.Columns {
		list[j] = b.Columns[j].Any(r)
	}
	return list
}

// sampled returns parameters of a query from rows of the database.
func (q *Query) sampled() [][]any {
	var list [][]any
	if q.words != nil {
		for _, word := range q.words.stats.words.sample.sample {
			list = append(list, []any{`"` + word + `"`})
		}
		return list
	}
	for _, row := range q.table.sample.sample {
		args := make([]any, len(q.args))
		for i, a := range q.args {
			for j, c := range q.table.columns {
				if c == a.column {
					args[i] = row[j]
				}
			}
		}
		list = append(list, args)
	}
	return list
}

// values returns parameters of a query from the rows of the data set reads.
func (l *loader) values(reads string, q *Query) ([][]any, error) {
	var columns []string
	for _, a := range q.args {
		columns = append(columns, reads+"."+a.name)
	}
	var b driver.Batch
	if err := l.gen.FillColumns(&b, columns, reads, 0, min(probes, l.plan.DataSet(reads).Total)); err != nil {
		return nil, err
	}
	var list [][]any
	for r := range int(min(probes, l.plan.DataSet(reads).Total)) {
		list = append(list, values(&b, r))
	}
	return list, nil
}

// run returns SQLite's plan for a query, and how many rows it returns on average.
func (q *Query) run(ctx context.Context, db *sql.DB, text string, values [][]any) (string, float64, error) {
	st, err := db.PrepareContext(ctx, text) //nolint:sqlclosecheck // closed below; it does not see that in a closure
	if err != nil {
		return "", 0, err
	}
	defer st.Close()
	rows, done := 0, 0
	named := make([]any, len(q.args))
	begin := time.Now()
	for _, v := range values {
		for i, a := range q.args {
			named[i] = sql.Named(a.name, v[i])
		}
		err := within(ctx, time.Now(), 0, func(ctx context.Context) error {
			n, err := count(st.QueryContext(ctx, named...))
			rows += n
			return err
		})
		if err != nil {
			return "", 0, err
		}
		if done++; time.Since(begin) > patience {
			break
		}
	}
	for i, a := range q.args {
		named[i] = sql.Named(a.name, nil)
		if len(values) > 0 {
			named[i] = sql.Named(a.name, values[0][i])
		}
	}
	var parts []string
	var id, parent, unused any
	var detail string
	err = all(ctx, db, "EXPLAIN QUERY PLAN "+text, named, func() []any { return []any{&id, &parent, &unused, &detail} }, func() error {
		parts = append(parts, detail)
		return nil
	})
	return strings.Join(parts, "; "), float64(rows) / math.Max(1, float64(done)), err
}

// timed is how long the executions of a query on one side are timed, about.
const timed = 500 * time.Millisecond

// time returns the median time of an execution on both databases, which take turns.
func (q *Query) time(ctx context.Context, dbs [2]*sql.DB, texts [2]string, values [2][][]any) (medians [2]time.Duration, err error) {
	var statements [2]*sql.Stmt
	for i, db := range dbs {
		st, err := db.PrepareContext(ctx, texts[i])
		if err != nil {
			return medians, err
		}
		defer st.Close()
		statements[i] = st
	}
	var took [2][]time.Duration
	var all [2]time.Duration
	named := make([]any, len(q.args))
	for k := 0; k < min(len(values[0]), len(values[1])) && (k < 3 || all[0] < timed && all[1] < timed); k++ {
		for turn := range statements {
			i := (turn + k) % 2 // the first of a turn may take longer
			for j, a := range q.args {
				named[j] = sql.Named(a.name, values[i][k][j])
			}
			begin := time.Now()
			if _, err := count(statements[i].QueryContext(ctx, named...)); err != nil {
				return medians, err
			}
			t := time.Since(begin)
			took[i] = append(took[i], t)
			all[i] += t
		}
	}
	for i, list := range took {
		if slices.Sort(list); len(list) > 0 {
			medians[i] = list[len(list)/2]
		}
	}
	return medians, nil
}

func count(rows *sql.Rows, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n := 0
	for rows.Next() {
		n++
	}
	return n, cmp.Or(rows.Err(), rows.Close())
}
