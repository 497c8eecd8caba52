package imitate

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Comparison says how similar an imitation is to its database.
type Comparison struct {
	Bytes   int64 // size of the imitation
	Queries []Compared

	// Sizes lists the tables and indexes whose sizes differ most. If the size of the imitation is
	// about the size of the database, Sizes lists only tables and indexes whose sizes differ by
	// more than a factor of 2. Sizes is nil if the imitation has only a part of the rows.
	Sizes []Size
}

// Size is the size of a table or index: Bytes[0] in the database, and Bytes[1] in the imitation.
type Size struct {
	Name  string
	Bytes [2]int64
}

// Near reports whether the sizes are within a factor of 2.
func (s *Size) Near() bool { return near(float64(s.Bytes[0]), float64(s.Bytes[1]), 0) }

// Compared is one query on the database and on its imitation.
type Compared struct {
	Query *Query
	Plan  [2]string // SQLite's plan of the query: in the database, and in the imitation
	Rows  [2]float64
	Time  [2]time.Duration // median time of an execution, by this process's SQLite

	renamed string // plan in the database, with the names that indexes have in the imitation
}

// SamePlan reports whether SQLite's plan of the query is the same in the database and in the
// imitation.
func (c *Compared) SamePlan() bool { return c.renamed == c.Plan[1] }

// NearRows reports whether the query returns about as many rows on the imitation as on the
// database: within a factor of 2, or with a difference of at most half a row.
func (c *Compared) NearRows() bool { return near(c.Rows[0], c.Rows[1], 0.5) }

// NearTime reports whether the query takes about as long on the imitation as on the database:
// within a factor of 2, or with a difference of at most 5 µs.
func (c *Compared) NearTime() bool {
	return near(float64(c.Time[0]), float64(c.Time[1]), float64(5*time.Microsecond))
}

// near reports whether two values are within a factor of 2, or differ by at most the parameter "little".
func near(x, y, little float64) bool { return max(x, y) <= 2*min(x, y) || math.Abs(x-y) <= little }

// Near reports whether SQLite's plan of the query is the same, and NearRows and NearTime are true.
func (c *Compared) Near() bool { return c.SamePlan() && c.NearRows() && c.NearTime() }

// NearSize is the greatest difference between the size of an imitation and the size of its database
// that counts as near. It is a fraction of the database's size.
const NearSize = 0.1

// Compare loads the workload, at the full scale, into a database next to the copy, and runs its
// queries on both. It also tries the CHECK constraints, the triggers and the phases that insert. If
// any of them fail, it changes the workload's YAML to leave them out. If a VACUUM brings the
// imitation's size nearer to that of the database, Compare adds a VACUUM to the YAML.
//
// The parameter "resolved" is the workload's plan. The parameter "keep" is a path to which the
// imitation is copied. No file may exist there yet. If "keep" is "", there is no copy.
func (w *Workload) Compare(ctx context.Context, resolved *plan.Plan, keep string, tell func(what string)) (*Comparison, error) {
	dir, err := os.MkdirTemp(w.source.dir, "imitation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "imitation.db")
	db, err := openOne(driver.Settings{}.URI(path, nil))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	l, err := newLoader(db, resolved, 1, tell)
	if err != nil {
		return nil, err
	}
	if err := l.load(ctx, w.builder.schema); err != nil {
		return nil, fmt.Errorf("loading the imitation: %w", err)
	}
	found, err := w.builder.violations(ctx, db)
	if err := w.writeAgain(ctx, found, err); err != nil {
		return nil, err
	}
	c := &Comparison{}
	if c.Bytes, err = w.pack(ctx, db); err != nil {
		return nil, err
	}
	for _, q := range w.Queries {
		tell("comparing " + q.Phase)
		compared, err := w.compare(ctx, l, q)
		if err != nil {
			return nil, err
		}
		c.Queries = append(c.Queries, compared)
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
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_, err = snapshot.Write(ctx, file, keep, false)
	return c, err
}

// pack returns the size of the imitation. If the imitation in db is larger than [Workload.Wanted]
// says, pack runs VACUUM on db. If that brings the size nearer to the wanted size, pack adds a
// VACUUM to the workload.
func (w *Workload) pack(ctx context.Context, db *sql.DB) (int64, error) {
	bytes, err := usedBytes(ctx, db)
	want := w.Wanted()
	if err != nil || w.builder.packed || float64(bytes) <= 1.02*want {
		return bytes, err
	}
	if _, err := db.ExecContext(ctx, "VACUUM"); err != nil {
		return 0, fmt.Errorf("VACUUM of the imitation: %w", err)
	}
	packed, err := usedBytes(ctx, db)
	if err != nil || math.Abs(float64(packed)-want) >= math.Abs(float64(bytes)-want) {
		return bytes, err
	}
	w.builder.packed = true
	return packed, w.write(ctx)
}

// compare runs a query on the database and on its imitation. The loader l has loaded the imitation.
func (w *Workload) compare(ctx context.Context, l *loader, q *Query) (c Compared, err error) {
	c.Query = q
	database := w.source.DB()
	if c.Plan[0], c.Rows[0], err = q.run(ctx, database, q.original, q.sampled()); err != nil {
		return c, fmt.Errorf("the query %s on the database: %w", q.Phase, err)
	}
	c.renamed = c.Plan[0]
	for name, now := range w.builder.renamed {
		c.renamed = strings.ReplaceAll(c.renamed, " "+name+" ", " "+now+" ")
	}
	values, err := l.values(w.builder.reads, q)
	if err != nil {
		return c, err
	}
	if c.Plan[1], c.Rows[1], err = q.run(ctx, l.db, q.SQL, values); err != nil {
		return c, fmt.Errorf("the query %s on the imitation: %w", q.Phase, err)
	}
	if c.Time, err = q.time(ctx, [2]*sql.DB{database, l.db}, [2]string{q.original, q.SQL}, [2][][]any{q.sampled(), values}); err != nil {
		return c, fmt.Errorf("the query %s: %w", q.Phase, err)
	}
	return c, nil
}

// mostSizes is the greatest length of [Comparison].Sizes.
const mostSizes = 3

// sizes returns up to mostSizes tables and indexes whose sizes differ most, the greatest difference first.
// Each difference is more than a hundredth of the database. If the parameter "whole" is false, sizes omits
// tables and indexes whose sizes are within a factor of 2.
func (w *Workload) sizes(ctx context.Context, db *sql.DB, whole bool) ([]Size, error) {
	found := map[string]*Size{}
	for i, of := range []*sql.DB{w.source.DB(), db} {
		var name string
		var bytes int64
		err := all(ctx, of, "SELECT name, sum(pgsize) FROM dbstat GROUP BY name", nil, []any{&name, &bytes}, func() error {
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

// Wanted returns the size in bytes that the imitation should have. If the workload has all rows, this is the
// size of the database. If the workload has a part of the rows, this is about the same part of that size.
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

// usedBytes returns the size of a database in bytes, without its free pages.
func usedBytes(ctx context.Context, db *sql.DB) (int64, error) {
	var bytes int64
	err := db.QueryRowContext(ctx, `SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&bytes)
	return bytes, err
}
