package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/result"
	"github.com/sqlite3perf/sqlite3perf/worker/workload"
)

// Concurrent has readers and writers use the table at once, each as fast as it
// can. Writers insert single rows with ascending IDs; readers read the three
// rows with the greatest.
type Concurrent struct {
	Table      string `json:"table"`
	Readers    int    `json:"readers"`
	Writers    int    `json:"writers"`
	From       int64  `json:"from"` // the first ID
	DurationMS int64  `json:"duration_ms"`
	Clear      bool   `json:"clear,omitempty"` // drop the table and make it anew
	Force      bool   `json:"force,omitempty"` // in a database that sqlite3perf did not make, too

	// Own gives each reader and writer a connection of its own, instead of one
	// out of the pool for each operation.
	Own bool `json:"own,omitempty"`

	// KeepOpen has the worker exit without closing the database.
	KeepOpen bool `json:"keep_open,omitempty"`
}

// Concurred is what readers and writers have done in all.
type Concurred struct {
	WallNS  int64 `json:"wall_ns"`
	Readers Group `json:"readers"`
	Writers Group `json:"writers"`
	LastID  int64 `json:"last_id"` // the greatest that was tried
}

// Activity is what went on in an interval.
type Activity struct {
	WallNS  int64 `json:"wall_ns"`
	Readers Group `json:"readers"`
	Writers Group `json:"writers"`
}

// Group is what readers, or writers, have done.
type Group struct {
	Operations int64               `json:"operations"` // those that failed included
	Failed     int64               `json:"failed,omitempty"`
	Rows       int64               `json:"rows"` // read or written
	Errors     []result.ErrorCount `json:"errors,omitempty"`
	Latency    result.Latency      `json:"latency"`
}

// maxMembers is the most readers, and writers: each is a goroutine.
const maxMembers = 1_000_000

func (c *Concurrent) check() error {
	switch {
	case c.Readers < 0:
		return fmt.Errorf("-r %d: want 0 readers or more", c.Readers)
	case c.Writers < 0:
		return fmt.Errorf("-w %d: want 0 writers or more", c.Writers)
	case c.Readers+c.Writers == 0:
		return fmt.Errorf("-r 0 -w 0: want at least one reader or writer")
	case c.Readers > maxMembers || c.Writers > maxMembers:
		return fmt.Errorf("-r %d -w %d: want at most %d readers and %d writers", c.Readers, c.Writers, maxMembers, maxMembers)
	case c.From > math.MaxInt64/2:
		return fmt.Errorf("--from %d: want at most %d, which leaves writers IDs above it", c.From, math.MaxInt64/2)
	case c.DurationMS < 1:
		return fmt.Errorf("-d %v: want a duration above 0, such as 60s", time.Duration(c.DurationMS)*time.Millisecond)
	}
	return checkTable(c.Table)
}

// group is the readers or the writers.
type group struct {
	shards []*shard
	total  Group
	hist   *latency.Histogram // of the total
	errors map[int]*result.ErrorCount
}

// shard is where some of a group's members write down what they have done: few
// enough to be collected each second, enough not to wait for each other.
type shard struct {
	mu         sync.Mutex
	hist       *latency.Histogram
	operations int64
	failed     int64
	rows       int64
	errors     map[int]*result.ErrorCount
}

// shardsOf is how many shards a group has.
const shardsOf = 8

func newGroup(members int) *group {
	g := &group{hist: latency.New(), errors: map[int]*result.ErrorCount{}}
	for range min(members, shardsOf) {
		g.shards = append(g.shards, &shard{hist: latency.New(), errors: map[int]*result.ErrorCount{}})
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
	// One that fails counts like all others: failing does not make faster.
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
		s.errors[e.Code] = &result.ErrorCount{Code: e.Code, Name: driver.CodeName(e.Code)}
	}
	s.errors[e.Code].Count++
	s.errors[e.Code].WaitNS += ns
	s.operations++
	s.failed++
	s.hist.Record(ns)
	return nil
}

// collect empties the shards into the total and returns what was in them.
func (g *group) collect() Group {
	now := Group{}
	hist, counts := latency.New(), map[int]*result.ErrorCount{}
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
	now.Latency.Histogram = "" // of the total only
	return now
}

func (g *group) sum(operation string) Group {
	g.total.Errors, g.total.Latency = listErrors(g.errors), g.hist.Summary(operation)
	g.total.Latency.Failed = g.total.Failed
	return g.total
}

func add(to, from map[int]*result.ErrorCount) {
	for code, e := range from {
		if to[code] == nil {
			to[code] = &result.ErrorCount{Code: code, Name: e.Name}
		}
		to[code].Count += e.Count
		to[code].WaitNS += e.WaitNS
	}
}

func listErrors(m map[int]*result.ErrorCount) (list []result.ErrorCount) {
	for _, code := range slices.Sorted(maps.Keys(m)) {
		list = append(list, *m[code])
	}
	return list
}

// clients is what the readers and writers have in common.
type clients struct {
	*Concurrent
	db       driver.DB
	gen      *workload.Gen
	explicit bool // each write in a transaction, begun as the setting txlock says
	next     atomic.Int64
	stop     atomic.Bool
	started  chan struct{}
}

func (c *Concurrent) run(ctx context.Context, d *Database, tell func(Progress), r *Result) (err error) {
	gen, err := newGenerator(d.Seed)
	if err != nil {
		return err
	}
	if err := c.prepare(ctx, d); err != nil {
		return err
	}
	_, explicit := d.Settings["txlock"]
	cl := &clients{Concurrent: c, db: d.DB, gen: gen, explicit: explicit, started: make(chan struct{})}
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
	out := &Concurred{WallNS: int64(time.Since(begin)), LastID: cl.next.Load() - 1}
	readers.collect()
	writers.collect()
	out.Readers, out.Writers = readers.sum("read"), writers.sum("write")
	r.Concurrent = out
	if err == nil && len(failed) > 0 {
		err = <-failed
	}
	return err
}

// oversee reports each second until the time is over, someone fails, or the job
// is stopped.
func (cl *clients) oversee(ctx context.Context, begin time.Time, failed <-chan error, readers, writers *group, tell func(Progress)) error {
	end := time.NewTimer(time.Duration(cl.DurationMS) * time.Millisecond)
	defer end.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	last := begin
	report := func() {
		now := time.Now()
		a := &Activity{WallNS: int64(now.Sub(last)), Readers: readers.collect(), Writers: writers.collect()}
		last = now
		tell(Progress{Stage: "second", ElapsedNS: int64(now.Sub(begin)), Second: a})
	}
	for {
		select {
		case <-second.C:
			report()
		case <-end.C:
			if time.Since(last) > time.Second/2 {
				report() // the last one, which the ticker has not come to
			}
			return nil
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// prepare makes the table, where it is to be cleared or is not there.
func (c *Concurrent) prepare(ctx context.Context, d *Database) error {
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

// mayWrite refuses to put rows, or a table, into a database of somebody else's.
func (c *Concurrent) mayWrite(ctx context.Context, db driver.DB) error {
	kept, err := c.kept(ctx, db)
	switch {
	case err != nil:
		return err
	case kept:
		return c.mayUse(ctx, db)
	}
	return c.table().mayMake(ctx, db)
}

// table makes the table.
func (c *Concurrent) table() *Generate { return &Generate{Table: c.Table, Force: c.Force} }

// kept reports whether the table is there and to be used as it is.
func (c *Concurrent) kept(ctx context.Context, db driver.DB) (bool, error) {
	if c.Clear {
		return false, nil
	}
	o, err := lookUp(ctx, db, c.Table)
	return o.kind != "", err
}

// mayUse refuses a table that is kept and lacks a column, or that rows are to be
// put into and is somebody else's.
func (c *Concurrent) mayUse(ctx context.Context, db driver.DB) error {
	if err := ready(ctx, db, c.Table); err != nil || c.Writers == 0 || c.Force {
		return err
	}
	id, err := number(ctx, db, "PRAGMA application_id")
	if err == nil && id != ApplicationID {
		err = errorf(CodeForeign, "sqlite3perf did not make this database: name another file, have no writers (-w 0), or have rows written to its table %s with --force", c.Table)
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
		SQL:     "SELECT ID, rand, hash FROM " + quote(cl.Table) + " ORDER BY ID DESC LIMIT 3",
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

// write is one writer. A row whose INSERT failed is not tried again: its ID is
// left out.
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
		// The error that matters is the first.
		_ = tx.Rollback(ctx)
	}
	return err
}
