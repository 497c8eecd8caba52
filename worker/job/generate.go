package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// batch returns how many rows the largest INSERT has.
func (g generate) batch() int { return int(min(int64(g.Batch), g.Rows)) }

func (g generate) run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) (err error) {
	// An INSERT has one parameter for the ID of its first row, and two parameters for each row.
	if most := mostParameters(d); g.batch() > (most-1)/2 {
		return &Error{protocol.CodeUsage, protocol.BadField("batch", g.Batch, "its INSERT of %d rows has %d parameters, and this driver's SQLite takes at most %d: want %d or less",
			g.batch(), 2*uint64(g.batch())+1, most, (most-1)/2)}
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
	tell(protocol.Progress{Stage: "create"})
	if err := g.create(ctx, conn); err != nil {
		return err
	}
	out := &protocol.Generated{}
	r.Generate = out
	tell(protocol.Progress{Stage: "insert"})
	if err := g.fill(ctx, conn, gen, tell, out); err != nil {
		if n, cerr := driver.Number(context.WithoutCancel(ctx), conn, "SELECT count(*) FROM "+driver.Quote(g.Table)); cerr == nil {
			err = &Error{protocol.CodePartial, fmt.Errorf("after %d of %d rows, which are in table %s: %w", n, g.Rows, g.Table, err)}
		}
		return err
	}
	if out.Rows < g.Rows {
		return ctx.Err()
	}
	if g.Vacuum {
		tell(protocol.Progress{Stage: "vacuum", Rows: out.Rows})
		begin := time.Now()
		if err := conn.Script(ctx, "VACUUM"); err != nil {
			return fmt.Errorf("VACUUM: %w; all %d rows are in table %s", err, out.Rows, g.Table)
		}
		out.VacuumNS = int64(time.Since(begin))
	}
	return nil
}

// mostParameters returns how many parameters SQLite accepts in a statement: the limit
// that it was compiled with, or the default of its version.
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

// create recreates the table in one transaction, unless mayWrite returns an error. If the
// database contains no other objects and has no application ID, create sets its application ID to
// [ApplicationID].
func (g generate) create(ctx context.Context, c driver.Conn) error {
	// The transaction reads before it writes. With IMMEDIATE, no other connection can write between
	// the read and the write.
	if err := c.Script(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := g.remake(ctx, c)
	if err == nil {
		err = c.Script(ctx, "COMMIT")
	}
	if err != nil {
		// Only the first error matters.
		_ = c.Script(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return err
}

// remake does the work of the method "create" within the current transaction.
func (g generate) remake(ctx context.Context, c driver.Conn) error {
	if err := g.mayWrite(ctx, c); err != nil {
		return err
	}
	if err := c.Script(ctx, "DROP TABLE IF EXISTS "+driver.Quote(g.Table)); err != nil {
		return err
	}
	objects, err := driver.Number(ctx, c, "SELECT count(*) FROM main.sqlite_master")
	if err != nil {
		return err
	}
	id, err := driver.Number(ctx, c, "PRAGMA application_id")
	if err != nil {
		return err
	}
	if objects == 0 && id == 0 {
		if err := c.Script(ctx, fmt.Sprintf("PRAGMA application_id = %d", ApplicationID)); err != nil {
			return err
		}
	}
	return c.Script(ctx, schema(g.Table))
}

// mayWrite returns an error if the job would destroy a user's data, or would put a table into a
// database that sqlite3perf did not create.
func (g generate) mayWrite(ctx context.Context, r driver.Runner) error {
	old, err := lookUp(ctx, r, g.Table)
	if err != nil {
		return err
	}
	var objects, id, version int64
	for _, n := range []struct {
		of  *int64
		sql string
	}{{&objects, "SELECT count(*) FROM main.sqlite_master"}, {&id, "PRAGMA application_id"}, {&version, "PRAGMA user_version"}} {
		if *n.of, err = driver.Number(ctx, r, n.sql); err != nil {
			return err
		}
	}
	switch {
	case old.kind == "view":
		return refuse(protocol.CodeForeign, g.Table+" is a view, which generate does not replace: name a table", "table")
	case g.Force || objects == 0 && id == 0 && version == 0:
	case id != ApplicationID && old.kind == "":
		return refuse(protocol.CodeForeign, "sqlite3perf did not create this database: use another file, or create a table "+g.Table+" in it by force", "force")
	case id != ApplicationID:
		return refuse(protocol.CodeForeign, "sqlite3perf did not create this database: use another file, or replace its table "+g.Table+" by force", "force")
	case old.kind != "" && (len(old.columns) != len(columnNames) || old.lacking() != ""):
		return refuse(protocol.CodeForeign, fmt.Sprintf("sqlite3perf did not create table %s (its columns: %s): use another table, or replace it by force",
			g.Table, strings.Join(old.columns, ", ")), "table", "force")
	}
	return nil
}

const (
	// chunkRows is approximately how many rows are made at a time.
	chunkRows = 4096

	// chunks is the number of chunks: one being filled, one ready, one being inserted.
	chunks = 3

	// One call of the driver runs several INSERTs. Their number is adjusted so that a call takes
	// between shortCall and longCall, because a job can be stopped only between calls.
	shortCall, longCall = 10 * time.Millisecond, 40 * time.Millisecond
)

// chunk holds generated rows and their layout for the INSERTs.
type chunk struct {
	made    driver.Batch  // each row is a row of the table
	inserts driver.Batch  // each row has the parameters of an INSERT
	spans   []driver.Span // memory for the Spans of all columns of the batch "inserts"
	count   int           // the number of rows in the batch "inserts"
}

// arrange fills k.inserts with the parameters of INSERTs. The parameter "per" is the number of rows
// of one INSERT. The parameters of an INSERT are the ID of its first row, from which SQLite
// computes the other IDs, and the values of the other columns in all its rows.
func (k *chunk) arrange(per int) {
	ids, columns := k.made.Columns[0].Ints, k.made.Columns[1:]
	k.count = len(ids) / per
	b := &k.inserts
	b.PerExec = 1
	if n := 1 + len(columns)*per; len(b.Columns) != n {
		b.Columns = make([]driver.Column, n)
	}
	first := &b.Columns[0]
	first.Type, first.Ints = driver.Int, first.Ints[:0]
	for i := 0; i < len(ids); i += per {
		first.Ints = append(first.Ints, ids[i])
	}
	k.spans = slices.Grow(k.spans[:0], (len(b.Columns)-1)*k.count)
	for j := range b.Columns[1:] {
		to, from := &b.Columns[1+j], &columns[j%len(columns)]
		to.Type, to.Data, to.Spans = driver.Text, from.Data, k.spans[j*k.count:j*k.count]
		for r := j / len(columns); r < len(ids); r += per {
			to.Spans = append(to.Spans, from.Spans[r])
		}
	}
}

// fill inserts the rows. A second goroutine generates the values in advance.
func (g generate) fill(ctx context.Context, c driver.Conn, gen *plan.Gen, tell func(protocol.Progress), out *protocol.Generated) (err error) {
	per := g.batch()
	// A running statement is not interrupted, even if ctx ends.
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
	wg.Go(func() {
		defer close(made)
		makeErr = g.make(making, gen, per, stmt, made, used)
	})

	var inserted atomic.Int64
	begin := time.Now()
	defer watch(g.EveryMS, func() {
		tell(protocol.Progress{Stage: "insert", ElapsedNS: int64(time.Since(begin)), Rows: inserted.Load()})
	})()
	// After an interruption, the rows inserted until then are reported.
	defer func() { out.Rows, out.WallNS = inserted.Load(), int64(time.Since(begin)) }()
	step := 1 // INSERTs per call
	for k := range made {
		for lo := 0; lo < k.count; {
			if ctx.Err() != nil {
				return nil
			}
			hi := min(lo+step, k.count)
			start := time.Now()
			if err := stmt.Exec(work, &k.inserts, lo, hi); err != nil {
				return err
			}
			inserted.Add(int64((hi - lo) * per))
			switch took := time.Since(start); {
			case took < shortCall:
				step = min(2*step, chunkRows)
			case took > longCall:
				step = max(step/2, 1)
			}
			lo = hi
		}
		used <- k
	}
	if makeErr != nil || ctx.Err() != nil {
		return makeErr
	}
	if rest := g.Rows % int64(per); rest > 0 {
		if err := g.rest(work, c, gen, int(rest)); err != nil {
			return err
		}
		inserted.Add(rest)
	}
	return nil
}

// The method "rest" inserts the last n rows, which are too few for an INSERT of full size.
func (g generate) rest(ctx context.Context, c driver.Conn, gen *plan.Gen, n int) error {
	k := &chunk{}
	if err := gen.Fill(&k.made, dataSet, g.Rows-int64(n), g.Rows); err != nil {
		return err
	}
	k.arrange(n)
	stmt, err := c.Prepare(ctx, insert(g.Table, n, !g.Prepared))
	if err != nil {
		return err
	}
	return errors.Join(stmt.Exec(ctx, &k.inserts, 0, 1), stmt.Close())
}

// make generates the rows of all INSERTs of full size. It takes free chunks from the channel
// "used", fills them, and sends them to the channel "made".
func (g generate) make(ctx context.Context, gen *plan.Gen, per int, stmt driver.Stmt, made chan<- *chunk, used <-chan *chunk) error {
	size, end := int64(max(1, chunkRows/per)*per), g.Rows/int64(per)*int64(per)
	box, _ := stmt.(driver.Boxer)
	for lo := int64(0); lo < end; lo += size {
		select {
		case <-ctx.Done():
			return nil
		case k := <-used:
			if err := gen.Fill(&k.made, dataSet, lo, min(lo+size, end)); err != nil {
				return err
			}
			k.arrange(per)
			if box != nil {
				box.Box(&k.inserts)
			}
			made <- k
		}
	}
	return nil
}

// watch calls f every everyMS milliseconds in a goroutine until the returned function is
// called. If everyMS is 0, watch never calls f.
func watch(everyMS int64, f func()) (end func()) {
	if everyMS <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.Tick(time.Duration(everyMS) * time.Millisecond)
		for {
			select {
			case <-tick:
				f()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}
