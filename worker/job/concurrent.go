package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// group is the readers or the writers.
type group struct {
	shards []*shard
	total  protocol.Group
	hist   *latency.Histogram // of the total
	errors map[int]*protocol.ErrorCount
}

// shard is where some of a group's members record what they have done. There are few
// enough shards to be collected each second, and enough that members do not wait for
// each other.
type shard struct {
	mu         sync.Mutex
	hist       *latency.Histogram
	operations int64
	failed     int64
	rows       int64
	errors     map[int]*protocol.ErrorCount
}

// shardsOf is how many shards a group has.
const shardsOf = 8

func newGroup(members int) *group {
	g := &group{hist: latency.New(), errors: map[int]*protocol.ErrorCount{}}
	for range min(members, shardsOf) {
		g.shards = append(g.shards, &shard{hist: latency.New(), errors: map[int]*protocol.ErrorCount{}})
	}
	return g
}

func (s *shard) note(ns, rows int64, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.operations++
		s.rows += rows
		s.hist.Record(ns)
		return nil
	}
	// A failed operation counts like any other, so that failing does not make a
	// group faster.
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Primary() {
	case driver.CodeBusy, driver.CodeLocked, driver.CodeConstraint:
	default:
		return err
	}
	if s.errors[e.Code] == nil {
		s.errors[e.Code] = &protocol.ErrorCount{Code: e.Code, Name: driver.CodeName(e.Code)}
	}
	s.errors[e.Code].Count++
	s.errors[e.Code].WaitNS += ns
	s.operations++
	s.failed++
	s.hist.Record(ns)
	return nil
}

// collect empties the shards into the total and returns what was in them.
func (g *group) collect() protocol.Group {
	now := protocol.Group{}
	hist, counts := latency.New(), map[int]*protocol.ErrorCount{}
	for _, s := range g.shards {
		s.mu.Lock()
		now.Operations += s.operations
		now.Failed += s.failed
		now.Rows += s.rows
		hist.Merge(s.hist)
		add(counts, s.errors)
		s.operations, s.failed, s.rows = 0, 0, 0
		s.hist.Reset()
		clear(s.errors)
		s.mu.Unlock()
	}
	g.hist.Merge(hist)
	add(g.errors, counts)
	g.total.Operations += now.Operations
	g.total.Failed += now.Failed
	g.total.Rows += now.Rows
	now.Errors, now.Latency = listErrors(counts), hist.Summary("")
	now.Latency.Failed = now.Failed
	now.Latency.Histogram = "" // only the total has one
	return now
}

func (g *group) sum(operation string) protocol.Group {
	g.total.Errors, g.total.Latency = listErrors(g.errors), g.hist.Summary(operation)
	g.total.Latency.Failed = g.total.Failed
	return g.total
}

func add(to, from map[int]*protocol.ErrorCount) {
	for code, e := range from {
		if to[code] == nil {
			to[code] = &protocol.ErrorCount{Code: code, Name: e.Name}
		}
		to[code].Count += e.Count
		to[code].WaitNS += e.WaitNS
	}
}

func listErrors(m map[int]*protocol.ErrorCount) (list []protocol.ErrorCount) {
	for _, code := range slices.Sorted(maps.Keys(m)) {
		list = append(list, *m[code])
	}
	return list
}

// clients is what the readers and writers have in common.
type clients struct {
	concurrent
	db       driver.DB
	gen      *plan.Gen
	explicit bool // each write is in a transaction, begun as the setting txlock says
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
	ready.Wait()
	begin := time.Now()
	close(cl.started)

	err = cl.oversee(ctx, begin, failed, readers, writers, tell)
	cl.stop.Store(true)
	wg.Wait()
	out := &protocol.Concurred{WallNS: int64(time.Since(begin)), LastID: cl.next.Load() - 1}
	readers.collect()
	writers.collect()
	out.Readers, out.Writers = readers.sum("read"), writers.sum("write")
	r.Concurrent = out
	if err == nil && len(failed) > 0 {
		err = <-failed
	}
	return err
}

// oversee reports each second until the time is up, a client fails, or the job is
// stopped.
func (cl *clients) oversee(ctx context.Context, begin time.Time, failed <-chan error, readers, writers *group, tell func(protocol.Progress)) error {
	end := time.NewTimer(time.Duration(cl.DurationMS) * time.Millisecond)
	defer end.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	last := begin
	report := func() {
		now := time.Now()
		a := &protocol.Activity{WallNS: int64(now.Sub(last)), Readers: readers.collect(), Writers: writers.collect()}
		last = now
		tell(protocol.Progress{Stage: "second", ElapsedNS: int64(now.Sub(begin)), Second: a})
	}
	for {
		select {
		case <-second.C:
			report()
		case <-end.C:
			if time.Since(last) > time.Second/2 {
				report() // the last report, which the ticker has not reached
			}
			return nil
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// prepare creates the table, if it is to be cleared or does not exist.
func (c concurrent) prepare(ctx context.Context, d *Database) error {
	kept, err := c.kept(ctx, d.DB)
	switch {
	case err != nil:
		return err
	case kept:
		return c.mayUse(ctx, d.DB)
	}
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(c.table().create(ctx, conn), conn.Close())
}

// mayWrite refuses to put rows, or a table, into somebody else's database.
func (c concurrent) mayWrite(ctx context.Context, db driver.DB) error {
	kept, err := c.kept(ctx, db)
	switch {
	case err != nil:
		return err
	case kept:
		return c.mayUse(ctx, db)
	}
	return c.table().mayMake(ctx, db)
}

// table returns the job that creates the table.
func (c concurrent) table() generate {
	return generate{&protocol.Generate{Table: c.Table, Force: c.Force}}
}

// kept reports whether the table exists and is to be used unchanged.
func (c concurrent) kept(ctx context.Context, db driver.DB) (bool, error) {
	if c.Clear {
		return false, nil
	}
	o, err := lookUp(ctx, db, c.Table)
	return o.kind != "", err
}

// mayUse refuses an existing table that lacks a column, or that is somebody else's and
// would be written to.
func (c concurrent) mayUse(ctx context.Context, db driver.DB) error {
	if err := ready(ctx, db, c.Table); err != nil || c.Writers == 0 || c.Force {
		return err
	}
	id, err := number(ctx, db, "PRAGMA application_id")
	if err == nil && id != ApplicationID {
		err = refuse(protocol.CodeForeign, "sqlite3perf did not make this database: name another file, have no writers, or have rows written to its table "+c.Table+" by force", "writers", "force")
	}
	return err
}

// client runs one reader or writer, on its own connection or on the pool.
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

// read is one reader.
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

// write is one writer. A row whose INSERT failed is not retried, so its ID is left
// out.
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
		// Only the first error matters.
		_ = tx.Rollback(ctx)
	}
	return err
}
