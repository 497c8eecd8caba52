package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// pools is a driver that numbers the pools that it opens, and records the settings of each pool.
type pools struct {
	*fake
	mu       sync.Mutex
	settings []driver.Settings
	used     map[int][]string // the SQL of the statements prepared on each pool; the key is the number of the pool
}

func (p *pools) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	db, err := p.fake.Open(ctx, path, s)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = append(p.settings, s)
	return &numbered{db, p, len(p.settings) - 1}, err
}

type numbered struct {
	driver.DB
	p  *pools
	id int
}

func (n *numbered) Prepare(ctx context.Context, st driver.Statement) (driver.Stmt, error) {
	n.p.mu.Lock()
	defer n.p.mu.Unlock()
	if n.p.used == nil {
		n.p.used = map[int][]string{}
	}
	n.p.used[n.id] = append(n.p.used[n.id], st.SQL)
	return n.DB.Prepare(ctx, st)
}

// TestPoolReaders checks the setting pool_readers, which asks for a second pool. The proof must have the
// connections of both pools, and operations that only read must use the second pool.
func TestPoolReaders(t *testing.T) {
	f := newFake()
	f.answer = one
	f.pragmas["busy_timeout"] = "100"
	d := &pools{fake: f}
	phase := mixOf(plan.Mix{Clients: 3, Count: 60})
	phase.Mix.Operations[0].Reads = true
	got := serve(t, d, trialOf(t, blog(1, phase), driver.Settings{"pool_size": "1", "pool_readers": "4", "write_mutex": "on", "busy_timeout": "100"}))
	mixSample(t, got)
	sizes := []string{}
	for _, s := range d.settings {
		if s["pool_readers"] != "" || s["write_mutex"] != "" {
			t.Errorf("the driver was given pool_readers or write_mutex: %v", s)
		}
		sizes = append(sizes, s["pool_size"])
	}
	if !slices.Equal(sizes, []string{"1", "1", "4", "1"}) { // the second pool observes txlock, the third pool has the readers, and the last pool checks the database
		t.Errorf("the pools have %v connections, want 1, 1, 4 and 1", sizes)
	}
	reads, writes := phase.Mix.Operations[0].Calls[0].SQL, phase.Mix.Operations[1].Calls[0].SQL
	if !slices.Contains(d.used[2], reads) || slices.Contains(d.used[2], writes) || slices.Contains(d.used[0], reads) || !slices.Contains(d.used[0], writes) {
		t.Errorf("statements by pool: %v", d.used)
	}
	for _, a := range got {
		switch a.Type {
		case protocol.TypeReady:
			if n := len(a.Proof.Connections); n != 5 {
				t.Errorf("proof of %d connections, want 5", n)
			}
			for _, c := range a.Proof.Connections {
				if c["pool_size"] != "1" || c["pool_readers"] != "4" || c["write_mutex"] != "on" {
					t.Errorf("the proof of a connection has %v", c)
				}
			}
		case protocol.TypeSettings:
			if len(a.Connections) != 5 {
				t.Errorf("%d connections read back after %q, want 5", len(a.Connections), a.Phase)
			}
		}
	}
	if f.open != 0 {
		t.Errorf("%d connections were not returned to the pool", f.open)
	}
}

// TestPoolReadersOwn checks clients that keep their own connections. At the end they must return
// their connections to both pools: the first pool and the readers' pool.
func TestPoolReadersOwn(t *testing.T) {
	f := newFake()
	f.answer = one
	d := &pools{fake: f}
	phase := mixOf(plan.Mix{Clients: 2, Count: 60, OwnConn: true})
	phase.Mix.Operations[0].Reads = true
	mixSample(t, serve(t, d, trialOf(t, blog(1, phase), driver.Settings{"pool_size": "2", "pool_readers": "2"})))
	if f.open != 0 {
		t.Errorf("%d connections were not returned to the pool", f.open)
	}
}

// TestWriteMutex checks that operations that may write run one at a time, and that operations that
// only read run at the same time.
func TestWriteMutex(t *testing.T) {
	most := func(reads bool) int64 {
		f := newFake()
		var now, most atomic.Int64
		f.answer = func(string, []any) ([]driver.Row, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(100 * time.Microsecond) // long enough for other clients to arrive
			return []driver.Row{{{Int: 1}}}, nil
		}
		phase := mixOf(plan.Mix{Clients: 8, Count: 400})
		phase.Mix.Operations = phase.Mix.Operations[:1]
		phase.Mix.Operations[0].Reads = reads
		mixSample(t, serve(t, f, trialOf(t, blog(1, phase), driver.Settings{"pool_size": "8", "write_mutex": "on"})))
		return most.Load()
	}
	if n := most(false); n != 1 {
		t.Errorf("%d operations at once under the mutex, want 1", n)
	}
	if n := most(true); n < 2 {
		t.Errorf("%d operations at once that only read, want several", n)
	}
}

// counting is a driver whose pools count waits. They report a wait of one millisecond for each
// query that the fake has answered.
type counting struct {
	*fake
	answered atomic.Int64
}

func (c *counting) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	db, err := c.fake.Open(ctx, path, s)
	return &countingDB{db, c}, err
}

type countingDB struct {
	driver.DB
	of *counting
}

func (d *countingDB) Waited() (int64, time.Duration) {
	n := d.of.answered.Load()
	return n, time.Duration(n) * time.Millisecond
}

// TestWaitsForConnections checks that a sample has the waits of all pools during the phase, without
// the waits before its clock starts. If the driver does not count waits, the sample must have none.
func TestWaitsForConnections(t *testing.T) {
	for pools, s := range map[int64]driver.Settings{1: {"pool_size": "3"}, 2: {"pool_size": "1", "pool_readers": "3"}} {
		c := &counting{fake: newFake()}
		c.answer = func(string, []any) ([]driver.Row, error) {
			c.answered.Add(1)
			return []driver.Row{{{Int: 1}}}, nil
		}
		phase := mixOf(plan.Mix{Clients: 3, Count: 60})
		phase.Mix.Operations = phase.Mix.Operations[:1]
		phase.Mix.Operations[0].Reads = true
		got := mixSample(t, serve(t, c, trialOf(t, blog(1, phase), s))).Waits
		if len(got) != 1 || got[0].For != protocol.WaitConnection || got[0].Count != 60*pools || got[0].WaitNS != 60*pools*1e6 {
			t.Errorf("%d pools: %+v, want 60 waits of 1 ms in each", pools, got)
		}
	}
	f := newFake()
	f.answer = one
	if got := mixSample(t, serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 3, Count: 60})), driver.Settings{"pool_size": "3"}))).Waits; got != nil {
		t.Errorf("waits %+v, want nil, because the pool does not count waits", got)
	}
}

// TestWaitsForMutex checks that several clients wait for the mutex, and that a single client
// does not.
func TestWaitsForMutex(t *testing.T) {
	for _, clients := range []int{1, 8} {
		for _, within := range []bool{false, true} {
			f := newFake()
			f.answer = func(string, []any) ([]driver.Row, error) {
				time.Sleep(100 * time.Microsecond) // long enough for other clients to arrive
				return []driver.Row{{{Int: 1}}}, nil
			}
			phase := mixOf(plan.Mix{Clients: clients, Count: 200, Mutex: !within})
			phase.Mix.Operations = phase.Mix.Operations[:1]
			phase.Mix.Operations[0].Calls[0].Mutex = within
			got := mixSample(t, serve(t, f, trialOf(t, blog(1, phase), driver.Settings{"pool_size": "8"}))).Waits
			if len(got) != 1 || got[0].For != protocol.WaitMutex || (got[0].Count > 0) != (clients > 1) || (got[0].WaitNS > 0) != (clients > 1) {
				t.Errorf("%d clients, within a statement %v: %+v", clients, within, got)
			}
		}
	}
}

// TestWaitsForRetry checks that a sample has one wait for each attempt after the first.
func TestWaitsForRetry(t *testing.T) {
	f := newFake()
	lockedAtFirst(f, 2)
	s := mixSample(t, serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 1, Count: 100, Retry: &plan.Retry{Attempts: 3, BackoffUS: 10}})), nil)))
	if len(s.Waits) != 1 || s.Waits[0].For != protocol.WaitRetry || s.Waits[0].Count != s.Retries || s.Waits[0].WaitNS < s.Retries*10_000 || s.Retries == 0 {
		t.Errorf("waits %+v, want one for each of the %d retries", s.Waits, s.Retries)
	}
}

// TestPatience checks that a phase without progress fails, that the error says which operations
// wait, and that the worker does not close the database.
func TestPatience(t *testing.T) {
	f := newFake()
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	var begun atomic.Int64
	f.answer = func(string, []any) ([]driver.Row, error) {
		if begun.Add(1) > 1100 { // the verification pass, before the clock starts, is over
			<-forever
		}
		return []driver.Row{{{Int: 1}}}, nil
	}
	phase := mixOf(plan.Mix{Clients: 2, Count: 5000, PatienceMS: 50})
	phase.Mix.Operations = phase.Mix.Operations[:1]
	p := blog(1, phase)
	got := serve(t, f, trialOf(t, p, driver.Settings{"pool_size": "2"}))
	last := got[len(got)-1]
	if last.Type != protocol.TypeFailed || last.Reason.Code != protocol.CodeEndless || last.Reason.Phase != phase.Name ||
		!strings.HasPrefix(last.Reason.Message, "no operation has ended for 50ms: of 2 clients 2 wait, 2 in operation ") {
		t.Errorf("answered %+v", last.Reason)
	}
	if slices.Contains(f.log, "close") && strings.Count(strings.Join(f.log, "\n"), "close") > 1 { // the worker has closed one pool, with which it observed txlock
		t.Error("the database was closed while operations were under way")
	}
}

// TestReplayPatience checks that a replay without progress fails, and that a recorded pause
// between events does not count as waiting.
func TestReplayPatience(t *testing.T) {
	replayed := func(hangs bool) protocol.Response {
		f := newFake()
		forever := make(chan struct{})
		t.Cleanup(func() { close(forever) })
		f.answer = func(string, []any) ([]driver.Row, error) {
			if hangs {
				<-forever
			}
			return []driver.Row{{{Int: 1}}}, nil
		}
		r := &plan.Replay{Operations: []string{"other", "SELECT t"}, Statements: []plan.Replayed{{Operation: 1, SQL: "SELECT 1", Reads: true}},
			Events: plan.Events{Statement: []int{0, 0}, Connection: []int{0, 1}, Transaction: []int{0, 1}, Rows: []int64{1, 1}}, Connections: 2, PatienceMS: 40}
		if !hangs {
			r.Speed, r.Events.AtNS = 1, []int64{0, 100e6}
		}
		got := serve(t, f, trialOf(t, blog(1, plan.Phase{Name: "replay", Replay: r}), driver.Settings{"pool_size": "2"}))
		return got[len(got)-1]
	}
	if last := replayed(true); last.Type != protocol.TypeFailed || last.Reason.Code != protocol.CodeEndless ||
		last.Reason.Message != "no operation has ended for 40ms: of 2 clients 2 wait, 2 in operation SELECT t" {
		t.Errorf("answered %+v", last.Reason)
	}
	if last := replayed(false); last.Type != protocol.TypeDone {
		t.Errorf("answered %+v", last.Reason)
	}
}

// TestCheckHangs lets one of the worker's own checks hang. The error must say so, and the worker
// must not try to close the database.
func TestCheckHangs(t *testing.T) {
	before := *worker.OursLimit
	*worker.OursLimit = 30 * time.Millisecond
	t.Cleanup(func() { *worker.OursLimit = before })
	f := newFake()
	f.hang = make(chan struct{})
	t.Cleanup(func() { close(f.hang) })
	f.answer = one
	got := serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 2, Count: 20, PatienceMS: 60_000})), driver.Settings{"pool_size": "2"}))
	last := got[len(got)-1]
	if last.Type != protocol.TypeFailed || last.Reason.Code != protocol.CodeCheck || !strings.HasPrefix(last.Reason.Message, "the check hung: quick_check after the phase has not ended within 30ms") {
		t.Errorf("answered %+v", last.Reason)
	}
	if strings.Count(strings.Join(story(f), "\n"), "close") > 1 { // the worker has closed one pool, with which it observed txlock
		t.Error("the database was closed while the check was under way")
	}
}

// TestPatienceEnough checks that PatienceMS does not change a phase that makes progress.
func TestPatienceEnough(t *testing.T) {
	f := newFake()
	f.answer = one
	s := mixSample(t, serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 3, Count: 90, PatienceMS: 60_000})), driver.Settings{"pool_size": "3"})))
	if s.Operations != 90 {
		t.Errorf("%d operations", s.Operations)
	}
}

// TestClients checks that the sample of a mix with a duration has the number of operations of
// each client.
func TestClients(t *testing.T) {
	f := newFake()
	f.answer = one
	s := mixSample(t, serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 3, DurationMS: 20})), driver.Settings{"pool_size": "3"})))
	sum := int64(0)
	for _, n := range s.Clients {
		sum += n
	}
	if len(s.Clients) != 3 || sum != s.Operations {
		t.Errorf("operations by client: %v, want 3 clients and %d operations in total", s.Clients, s.Operations)
	}
	if s := mixSample(t, serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 3, Count: 30})), driver.Settings{"pool_size": "3"}))); s.Clients != nil {
		t.Errorf("operations by client: %v, want nil, because the mix has a count", s.Clients)
	}
}

// TestAnother checks that a statement of a transaction may set the field Another (to run on another
// connection) if the clients share the pool, but not if each client has its own connection.
func TestAnother(t *testing.T) {
	for want, m := range map[string]plan.Mix{
		"": {Clients: 1, Count: 40},
		"plan.phases[0].mix.operations[0].calls[0].another is set": {Clients: 1, Count: 40, OwnConn: true},
	} {
		f := newFake()
		f.answer = one
		phase := mixOf(m)
		phase.Mix.Operations[0].Transaction = true
		phase.Mix.Operations[0].Calls[0].Another = true
		got := serve(t, f, trialOf(t, blog(1, phase), driver.Settings{"pool_size": "2"}))
		last := got[len(got)-1]
		if want == "" && last.Type != protocol.TypeDone || want != "" && (last.Reason == nil || !strings.Contains(last.Reason.Message, want)) {
			t.Errorf("ended with %+v, want %q", last.Reason, want)
		}
	}
}

// TestTimeout checks operations that fail after their timeout. They must be counted as canceled,
// whatever their error is, and must not be repeated.
func TestTimeout(t *testing.T) {
	for what, test := range map[string]struct {
		timeout time.Duration
		err     error
		want    string
	}{
		"the context's error":  {time.Millisecond, context.DeadlineExceeded, "canceled"},
		"interrupted":          {time.Millisecond, &driver.Error{Code: driver.CodeInterrupt, Err: errors.New("interrupted")}, "canceled"},
		"a lock, too late":     {time.Millisecond, &driver.Error{Code: driver.CodeBusy, Err: errors.New("database is locked")}, "canceled"},
		"a lock, in good time": {time.Hour, &driver.Error{Code: driver.CodeBusy, Err: errors.New("database is locked")}, "SQLITE_BUSY"},
	} {
		f := newFake()
		f.answer = one
		var attempts atomic.Int64
		f.execFail = func(sql string, _ []any) error {
			if !strings.Contains(sql, `"b"`) || !slices.Contains(story(f), "rollback") { // the INSERTs of the verification pass, before the clock starts, succeed
				return nil
			}
			attempts.Add(1)
			time.Sleep(2 * time.Millisecond)
			return test.err
		}
		phase := mixOf(plan.Mix{Clients: 1, Count: 40, Retry: &plan.Retry{Attempts: 2}})
		phase.Mix.Operations[1].TimeoutMS = test.timeout.Milliseconds()
		p := blog(1, phase)
		p.Schema = "PHASES"
		s := mixSample(t, serve(t, f, trialOf(t, p, nil)))
		if len(s.Errors) != 1 || s.Errors[0].Name != test.want || s.Errors[0].Count != s.Failed || s.Failed == 0 {
			t.Errorf("%s: %d failed, errors %+v", what, s.Failed, s.Errors)
		}
		each := int64(1)
		if test.want != "canceled" {
			each = 2
		}
		if s.Failed > 0 && attempts.Load() != each*s.Failed {
			t.Errorf("%s: %d attempts for %d failed operations", what, attempts.Load(), s.Failed)
		}
	}
}

// TestTxlockUnobserved checks that a trial fails if txlock cannot be observed.
func TestTxlockUnobserved(t *testing.T) {
	f := newFake()
	f.rollback = errors.New("no rollback")
	got := serve(t, f, trialOf(t, blog(1), nil))
	if r := got[len(got)-1].Reason; r == nil || !strings.Contains(r.Message, "observing txlock: no rollback") {
		t.Errorf("%+v", r)
	}
}
