package imitate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// openMemory opens an empty database in memory.
func openMemory() (*sql.DB, error) { return openOne(":memory:") }

// openOne opens a database with one connection.
func openOne(name string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", name)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// preparer is a database or a transaction.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// loader fills a database by running the untimed phases of a plan.
type loader struct {
	db   *sql.DB
	gen  *plan.Gen
	plan *plan.Plan
	tell func(string)
}

// cacheKiB is the size in KiB of the page cache with which the imitation is loaded.
const cacheKiB = 256 << 10

func newLoader(db *sql.DB, p *plan.Plan, seed uint64, tell func(string)) (*loader, error) {
	gen, err := plan.NewGenerator(seed, p)
	return &loader{db: db, gen: gen, plan: p, tell: tell}, err
}

func (l *loader) load(ctx context.Context, s *schema) error {
	// Rows go to random places of the indexes, so the cache should hold the indexes. Queries on the copy of
	// the database take no locks. In the exclusive locking mode, queries on the imitation take no locks
	// either, so their times can be compared.
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

// patience is the time that SQLite may take for the first row. patiencePerRow is the time for each
// further row. Most rows take some microseconds.
var patience, patiencePerRow = 10 * time.Second, 10 * time.Millisecond

// errEndless says that a statement was stopped because it ran too long. For example, a trigger in the
// schema of a database may run forever.
var errEndless = errors.New("it takes too long: a trigger, a generated column, a constraint or an index of the database computes for seconds")

// within calls the function "do", which handles the given number of rows. If "do" takes much longer than
// is usual for this number of rows, within returns [errEndless].
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
			if back := tx.Rollback(); !errors.Is(err, errEndless) { // an interrupted SQLite has already rolled back, so Rollback fails
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

// rows inserts some rows of a data set. The parameters "from" and "to" are row numbers. The row with the
// number "to" is not inserted.
func (l *loader) rows(ctx context.Context, db preparer, d *plan.DataSet, from, to int64) error {
	// Statements that insert several rows take less time per row.
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
			list = batch.Append(list[:0], r, r+n)
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
