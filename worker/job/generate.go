package job

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/workload"
)

// Generate drops and makes anew the table, and fills it: Batch rows to an
// INSERT, each INSERT a transaction of its own, on one connection.
type Generate struct {
	Table    string `json:"table"`
	Rows     int64  `json:"rows"`
	Batch    int    `json:"batch"`
	Prepared bool   `json:"prepared,omitempty"` // else each INSERT is run as SQL text
	Vacuum   bool   `json:"vacuum,omitempty"`
	Force    bool   `json:"force,omitempty"` // in a database that sqlite3perf did not make, too
	EveryMS  int64  `json:"every_ms,omitempty"`
}

// Generated is what Generate has done.
type Generated struct {
	Rows     int64 `json:"rows"`                // in the table
	WallNS   int64 `json:"wall_ns"`             // of the INSERTs
	VacuumNS int64 `json:"vacuum_ns,omitempty"` // of VACUUM
}

func (g *Generate) check() error {
	switch {
	case g.Rows < 1:
		return fmt.Errorf("-r %d: want at least 1 row", g.Rows)
	case g.Batch < 1:
		return fmt.Errorf("-b %d: want at least 1 row per INSERT, such as 100", g.Batch)
	case g.EveryMS < 0:
		return fmt.Errorf("progress every %d ms: want 0 or more", g.EveryMS)
	}
	return checkTable(g.Table)
}

// batch is the rows of the largest INSERT.
func (g *Generate) batch() int { return int(min(int64(g.Batch), g.Rows)) }

func (g *Generate) run(ctx context.Context, d *Database, tell func(Progress), r *Result) (err error) {
	if most := mostParameters(d); 3*int64(g.batch()) > int64(most) {
		return errorf(CodeUsage, "-b %d: its INSERT of %d rows has %d parameters, and this driver's SQLite takes at most %d: want -b %d or less",
			g.Batch, g.batch(), 3*g.batch(), most, most/3)
	}
	gen, err := newGenerator(d.Seed)
	if err != nil {
		return err
	}
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	tell(Progress{Stage: "create"})
	if err := g.create(ctx, conn); err != nil {
		return err
	}
	out := &Generated{}
	r.Generate = out
	tell(Progress{Stage: "insert"})
	if err := g.fill(ctx, conn, gen, tell, out); err != nil {
		if n, cerr := number(context.WithoutCancel(ctx), conn, "SELECT count(*) FROM "+quote(g.Table)); cerr == nil {
			err = &Error{CodePartial, fmt.Errorf("after %d of %d rows, which are in table %s: %w", n, g.Rows, g.Table, err)}
		}
		return err
	}
	if out.Rows < g.Rows {
		return ctx.Err()
	}
	if g.Vacuum {
		tell(Progress{Stage: "vacuum", Rows: out.Rows})
		begin := time.Now()
		if err := conn.Script(ctx, "VACUUM"); err != nil {
			return fmt.Errorf("VACUUM: %w; all %d rows are in table %s", err, out.Rows, g.Table)
		}
		out.VacuumNS = int64(time.Since(begin))
	}
	return nil
}

// mostParameters is how many parameters SQLite takes in a statement: what it
// was compiled with, else the default of its version.
func mostParameters(d *Database) int {
	for _, o := range d.Proof.CompileOptions {
		if v, ok := strings.CutPrefix(o, "MAX_VARIABLE_NUMBER="); ok {
			if n, err := strconv.Atoi(v); err == nil {
				return n
			}
		}
	}
	var major, minor int
	if _, err := fmt.Sscanf(d.Proof.SQLiteVersion, "%d.%d", &major, &minor); err == nil && major == 3 && minor < 32 {
		return 999
	}
	return 32766
}

// create makes the table anew in one transaction, unless it would take
// something away from somebody. It marks a database in which there is nothing
// else.
func (g *Generate) create(ctx context.Context, c driver.Conn) error {
	id, err := number(ctx, c, "PRAGMA application_id")
	if err != nil {
		return err
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	objects, err := number(ctx, c, "SELECT count(*) FROM main.sqlite_master")
	if err != nil {
		return err
	}
	old, err := lookUp(ctx, c, g.Table)
	if err != nil {
		return err
	}
	switch {
	case old.kind == "view":
		return errorf(CodeForeign, "%s is a view, which generate does not replace: name a table with --table", g.Table)
	case g.Force || objects == 0:
	case id != ApplicationID:
		return errorf(CodeForeign, "sqlite3perf did not make this database: name another file, or have its table %s dropped and made anew with --force", g.Table)
	case old.kind != "" && (len(old.columns) != len(columnNames) || old.lacking() != ""):
		return errorf(CodeForeign, "table %s is not one that sqlite3perf made (it has %s): name another with --table, or have it dropped with --force", g.Table, strings.Join(old.columns, ", "))
	}
	if err := c.Script(ctx, "DROP TABLE IF EXISTS "+quote(g.Table)); err != nil {
		return err
	}
	if objects, err = number(ctx, c, "SELECT count(*) FROM main.sqlite_master"); err != nil {
		return err
	}
	if objects == 0 {
		if err := c.Script(ctx, fmt.Sprintf("PRAGMA application_id = %d", ApplicationID)); err != nil {
			return err
		}
	}
	if err := c.Script(ctx, schema(g.Table)); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

const (
	// chunkRows is about how many rows are made at a time.
	chunkRows = 4096

	// chunks is how many of these there are: being made, ready, being inserted.
	chunks = 3

	// shortCall and longCall bound the time for which the driver is left alone
	// with a range of rows, so that a job can be stopped.
	shortCall, longCall = 10 * time.Millisecond, 40 * time.Millisecond
)

// chunk is rows that have been made.
type chunk struct {
	batch driver.Batch
	rows  int
}

// fill inserts the rows. The values are made ahead of it, on another core.
func (g *Generate) fill(ctx context.Context, c driver.Conn, gen *workload.Gen, tell func(Progress), out *Generated) (err error) {
	per := g.batch()
	// All of this is the driver's to see through: a statement that is under way
	// is not broken off.
	work := context.WithoutCancel(ctx)
	stmt, err := c.Prepare(work, insert(g.Table, per, !g.Prepared))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()

	making, stop := context.WithCancel(ctx)
	made, used := make(chan *chunk, chunks), make(chan *chunk, chunks)
	for range chunks {
		used <- &chunk{}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	var makeErr error
	wg.Go(func() { makeErr = g.make(making, gen, per, made, used) })

	var inserted atomic.Int64
	begin := time.Now()
	defer watch(g.EveryMS, func() {
		tell(Progress{Stage: "insert", ElapsedNS: int64(time.Since(begin)), Rows: inserted.Load()})
	})()
	// Also what was inserted before an interruption is reported.
	defer func() { out.Rows, out.WallNS = inserted.Load(), int64(time.Since(begin)) }()
	step := per // rows per call
	for k := range made {
		whole := k.rows - k.rows%per
		k.batch.PerExec = per
		for lo := 0; lo < whole; {
			if ctx.Err() != nil {
				return nil
			}
			hi := min(lo+step, whole)
			start := time.Now()
			if err := stmt.Exec(work, &k.batch, lo, hi); err != nil {
				return err
			}
			inserted.Add(int64(hi - lo))
			switch took := time.Since(start); {
			case took < shortCall:
				step = min(2*step, chunkRows/per*per+per)
			case took > longCall && step > per:
				step = step / 2 / per * per
			}
			lo = hi
		}
		if rest := k.rows - whole; rest > 0 {
			if err := g.rest(work, c, k, whole); err != nil {
				return err
			}
			inserted.Add(int64(rest))
		}
		used <- k
	}
	return makeErr
}

// rest inserts the rows that are fewer than an INSERT takes.
func (g *Generate) rest(ctx context.Context, c driver.Conn, k *chunk, from int) error {
	n := k.rows - from
	stmt, err := c.Prepare(ctx, insert(g.Table, n, !g.Prepared))
	if err != nil {
		return err
	}
	k.batch.PerExec = n
	return errors.Join(stmt.Exec(ctx, &k.batch, from, k.rows), stmt.Close())
}

// make makes all rows, in chunks of whole INSERTs, and closes made.
func (g *Generate) make(ctx context.Context, gen *workload.Gen, per int, made chan<- *chunk, used <-chan *chunk) error {
	defer close(made)
	size := int64(max(1, chunkRows/per) * per)
	for lo := int64(0); lo < g.Rows; lo += size {
		select {
		case <-ctx.Done():
			return nil
		case k := <-used:
			hi := min(lo+size, g.Rows)
			if err := gen.Fill(&k.batch, dataSet, lo, hi); err != nil {
				return err
			}
			k.rows = int(hi - lo)
			made <- k
		}
	}
	return nil
}

// watch calls f every so often, from one goroutine, until the function that it
// returns is called.
func watch(everyMS int64, f func()) (end func()) {
	if everyMS <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(time.Duration(everyMS) * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}
