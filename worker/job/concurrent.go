package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// group counts the operations of its members. The members are either all readers or all writers.
type group struct {
	shards []*shard
	total  tally
}

// shard counts the operations of some members of a group. A group has only a few shards, so that all
// shards can be collected each second. It has more than one shard, so that members rarely wait for each
// other.
type shard struct {
	mu sync.Mutex
	tally
}

// tally has the counts of operations that some or all members of a group have run.
type tally struct {
	operations, failed, rows int64
	hist                     *latency.Histogram
	errors                   protocol.ErrorCounts
}

func newTally() tally {
	return tally{hist: latency.New(), errors: protocol.ErrorCounts{}}
}

// take adds the counts of the tally "other" to t and sets "other" to zero.
func (t *tally) take(other *tally) {
	t.operations += other.operations
	t.failed += other.failed
	t.rows += other.rows
	t.hist.Merge(other.hist)
	t.errors.Merge(other.errors)
	other.operations, other.failed, other.rows = 0, 0, 0
	other.hist.Reset()
	clear(other.errors)
}

func (t *tally) report(operation string) protocol.Group {
	r := protocol.Group{Operations: t.operations, Failed: t.failed, Rows: t.rows, Errors: t.errors.List(), Latency: t.hist.Summary(operation)}
	r.Latency.Failed = t.failed
	return r
}

// shardsOf is the maximum number of shards of a group.
const shardsOf = 8

func newGroup(members int) *group {
	g := &group{total: newTally()}
	for range min(members, shardsOf) {
		g.shards = append(g.shards, &shard{tally: newTally()})
	}
	return g
}

func (s *shard) note(ns, rows int64, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.rows += rows
	} else {
		// A failed operation counts like any other operation, so that a group does not seem faster
		// if its operations fail.
		e, ok := errors.AsType[*driver.Error](err)
		if !ok || !driver.IsLock(e.Code) && e.Primary() != driver.CodeConstraint {
			return err
		}
		s.failed++
		s.errors.Add(e.Code, 1, ns)
	}
	s.operations++
	s.hist.Record(ns)
	return nil
}

// collect moves the counts of all shards into the total and returns the moved counts.
func (g *group) collect() protocol.Group {
	now := newTally()
	for _, s := range g.shards {
		s.mu.Lock()
		now.take(&s.tally)
		s.mu.Unlock()
	}
	r := now.report("")
	r.Latency.Histogram = "" // only the total is sent with a histogram
	g.total.take(&now)
	return r
}

// clients is the state that readers and writers share.
type clients struct {
	concurrent
	db       driver.DB
	gen      *plan.Gen
	explicit bool // set if each write is in an explicit transaction, which begins in the mode of the setting txlock
	next     atomic.Int64
	stop     atomic.Bool
	started  chan struct{}
}

func (c concurrent) run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) (err error) {
	gen, err := newGenerator(d.Seed)
	if err != nil {
		return err
	}
	if err := c.prepare(ctx, d); err != nil {
		return err
	}
	_, explicit := d.Settings["txlock"]
	cl := &clients{concurrent: c, db: d.DB, gen: gen, explicit: explicit, started: make(chan struct{})}
	cl.next.Store(c.From)

	readers, writers := newGroup(c.Readers), newGroup(c.Writers)
	failed := make(chan error, c.Readers+c.Writers)
	var wg sync.WaitGroup
	var ready sync.WaitGroup
	start := func(n int, g *group, f func(driver.Runner, *shard) error) {
		for i := range n {
			ready.Add(1)
			wg.Go(func() {
				if err := cl.client(context.WithoutCancel(ctx), &ready, g.shards[i%len(g.shards)], f); err != nil {
					failed <- err
					cl.stop.Store(true)
				}
			})
		}
	}
	start(c.Readers, readers, cl.read)
	start(c.Writers, writers, cl.write)
	if c.Checkpoints {
		wg.Go(cl.checkpoint)
	}
	ready.Wait()
	begin := time.Now()
	close(cl.started)

	err = cl.oversee(ctx, begin, failed, readers, writers, tell)
	cl.stop.Store(true)
	wg.Wait()
	out := &protocol.Concurred{WallNS: int64(time.Since(begin)), LastID: cl.next.Load() - 1}
	readers.collect()
	writers.collect()
	out.Readers, out.Writers = readers.total.report("read"), writers.total.report("write")
	r.Concurrent = out
	if err == nil && len(failed) > 0 {
		err = <-failed
	}
	return err
}

// checkpoint runs checkpoints until the job ends. It ignores errors, for example if another
// connection holds a lock, because checkpoints only have to disturb the clients. The command crash,
// which runs this job, then checks the database that the job leaves behind.
func (cl *clients) checkpoint() {
	<-cl.started
	for n := 0; !cl.stop.Load(); n++ {
		mode := []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[n%4]
		_ = cl.db.Script(context.Background(), "PRAGMA wal_checkpoint("+mode+")")
	}
}

// oversee reports the activity of each second until the time is up, a client fails, or the job
// is stopped.
func (cl *clients) oversee(ctx context.Context, begin time.Time, failed <-chan error, readers, writers *group, tell func(protocol.Progress)) error {
	end, second := time.After(time.Duration(cl.DurationMS)*time.Millisecond), time.Tick(time.Second)
	last := begin
	report := func() {
		now := time.Now()
		a := &protocol.Activity{WallNS: int64(now.Sub(last)), Readers: readers.collect(), Writers: writers.collect()}
		last = now
		tell(protocol.Progress{Stage: "second", ElapsedNS: int64(now.Sub(begin)), Second: a})
	}
	for {
		select {
		case <-second:
			report()
		case <-end:
			if time.Since(last) > time.Second/2 {
				report() // report the last interval, which ended before the ticker fired
			}
			return nil
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// prepare creates the table if it does not exist. If Clear is set, prepare first drops an
// existing table.
func (c concurrent) prepare(ctx context.Context, d *Database) error {
	if kept, err := c.kept(ctx, d.DB); kept || err != nil {
		return err
	}
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(c.table().create(ctx, conn), conn.Close())
}

// mayWrite returns an error if sqlite3perf did not create the database and the job would write
// rows or a table into it.
func (c concurrent) mayWrite(ctx context.Context, r driver.Runner) error {
	if kept, err := c.kept(ctx, r); kept || err != nil {
		return err
	}
	return c.table().mayWrite(ctx, r)
}

// table returns the job of the kind "generate" that creates the table.
func (c concurrent) table() generate {
	return generate{&protocol.Generate{Table: c.Table, Force: c.Force}}
}

// kept reports whether the job keeps an existing table: the table exists, and Clear is not set.
// It returns an error if the job may not use that table.
func (c concurrent) kept(ctx context.Context, r driver.Runner) (bool, error) {
	if c.Clear {
		return false, nil
	}
	o, err := lookUp(ctx, r, c.Table)
	if err != nil || o.kind == "" {
		return false, err
	}
	return true, c.mayUse(ctx, r)
}

// mayUse returns an error if an existing table lacks a required column, or if the job would write
// to a database that sqlite3perf did not create.
func (c concurrent) mayUse(ctx context.Context, r driver.Runner) error {
	if err := ready(ctx, r, c.Table); err != nil || c.Writers == 0 || c.Force {
		return err
	}
	id, err := driver.Number(ctx, r, "PRAGMA application_id")
	if err == nil && id != ApplicationID {
		err = refuse(protocol.CodeForeign, "sqlite3perf did not create this database: use another file or no writers, or write rows to its table "+c.Table+" by force", "writers", "force")
	}
	return err
}

// client runs the function f as one reader or writer, with its own connection or with the pool. It
// calls ready.Done when it has its connection, and runs f after the channel cl.started is closed.
func (cl *clients) client(ctx context.Context, ready *sync.WaitGroup, s *shard, f func(driver.Runner, *shard) error) (err error) {
	var runner driver.Runner = cl.db
	if cl.Own {
		var conn driver.Conn
		conn, err = cl.db.Conn(ctx)
		if err == nil {
			defer func() { err = errors.Join(err, conn.Close()) }()
			runner = conn
		}
	}
	ready.Done()
	if err != nil {
		return err
	}
	<-cl.started
	return f(runner, s)
}

// read repeats the query of a reader until the job stops.
func (cl *clients) read(r driver.Runner, s *shard) error {
	ctx := context.Background()
	stmt, err := r.Prepare(ctx, driver.Statement{
		SQL:     "SELECT ID, rand, hash FROM " + driver.Quote(cl.Table) + " ORDER BY ID DESC LIMIT 3",
		Columns: []driver.ColumnType{{Type: driver.Int, Nullable: true}, {Type: driver.Text, Nullable: true}, {Type: driver.Text, Nullable: true}},
		AdHoc:   true,
	})
	if err != nil {
		return err
	}
	rows := int64(0)
	count := func(driver.Row) error { rows++; return nil }
	for !cl.stop.Load() {
		rows = 0
		begin := time.Now()
		err := stmt.Query(ctx, nil, 0, count)
		if err := s.note(int64(time.Since(begin)), rows, err); err != nil {
			return errors.Join(fmt.Errorf("reading: %w", err), stmt.Close())
		}
	}
	return stmt.Close()
}

// write inserts rows until the job stops. It does not retry a row whose INSERT failed, so the
// table lacks that ID.
func (cl *clients) write(r driver.Runner, s *shard) error {
	ctx := context.Background()
	stmt, err := r.Prepare(ctx, insert(cl.Table, 1, true))
	if err != nil {
		return err
	}
	b := &driver.Batch{PerExec: 1}
	for !cl.stop.Load() {
		id := cl.next.Add(1) - 1
		if err := cl.gen.Fill(b, dataSet, id, id+1); err != nil {
			return err
		}
		begin := time.Now()
		err := cl.insert(ctx, r, stmt, b)
		if err := s.note(int64(time.Since(begin)), 1, err); err != nil {
			return errors.Join(fmt.Errorf("writing: %w", err), stmt.Close())
		}
	}
	return stmt.Close()
}

func (cl *clients) insert(ctx context.Context, r driver.Runner, stmt driver.Stmt, b *driver.Batch) error {
	if !cl.explicit {
		return stmt.Exec(ctx, b, 0, 1)
	}
	tx, err := r.Begin(ctx)
	if err != nil {
		return err
	}
	inside, err := tx.Stmt(ctx, stmt)
	if err == nil {
		err = inside.Exec(ctx, b, 0, 1)
	}
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		_ = tx.Rollback(ctx) // only the first error matters
	}
	return err
}
