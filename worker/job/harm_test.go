package job_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// fakeCluster is a cluster whose faults the test chooses with the fields "loses", "lags", "dies"
// and "forgets". A real cluster does not show faults reliably.
type fakeCluster struct {
	driver.DB // nil, because the job calls only the methods below

	loses, lags, dies, forgets bool

	mu      sync.Mutex
	leader  int
	down    map[int]bool
	harmed  []string
	written int
	rows    map[int64]bool
	own     []map[int64]bool // one element for each member; the maps are always empty
}

func newFakeCluster(members int) *fakeCluster {
	return &fakeCluster{down: map[int]bool{}, rows: map[int64]bool{}, own: slices.Repeat([]map[int64]bool{{}}, members)}
}

func (f *fakeCluster) Script(context.Context, string) error { return nil }

func (f *fakeCluster) Prepare(context.Context, driver.Statement) (driver.Stmt, error) {
	return noTables{}, nil
}

// noTables is a statement that returns the number 0, which means that the database has no tables.
type noTables struct{ driver.Stmt }

func (noTables) Query(_ context.Context, _ *driver.Batch, _ int, visit func(driver.Row) error) error {
	return visit(driver.Row{{Int: 0}})
}
func (noTables) Close() error { return nil }

func (f *fakeCluster) Members() (list []driver.Member) {
	for i := range f.own {
		list = append(list, driver.Member{ID: string(rune('a' + i))})
	}
	return list
}

func (f *fakeCluster) Leader(context.Context) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leader, nil
}

var errDown = errors.New("it is down")

func (f *fakeCluster) ExecAt(_ context.Context, member int, _ string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down[member] || f.dies && len(f.harmed) > 0 {
		return errDown
	}
	f.written++
	if !f.loses || f.written%10 > 0 {
		f.rows[args[0].(int64)] = true
	}
	return nil
}

func (f *fakeCluster) IntsAt(_ context.Context, member int, level, sql string, args ...any) ([]int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down[member] && level != "none" {
		return nil, errDown
	}
	rows := f.rows
	least := args[0].(int64)
	switch {
	case f.forgets && member == 0 && level == "none":
		rows = map[int64]bool{}
	case f.lags && level == "none" && strings.Contains(sql, "id = ?"):
		rows = map[int64]bool{}
	}
	if strings.Contains(sql, "id = ?") {
		if rows[least] {
			return []int64{least}, nil
		}
		return nil, nil
	}
	return slices.Collect(maps.Keys(rows)), nil
}

func (f *fakeCluster) acknowledged() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.written
}

func (f *fakeCluster) harm(what string, member int, down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.harmed = append(f.harmed, what)
	f.down[member] = down
	if down {
		f.leader = (member + 1) % len(f.own)
	}
}

// Kill lets the cluster acknowledge ten more writes before the member is down. It does not wait for
// these writes forever, because there are none after the end of the load.
func (f *fakeCluster) Kill(member int) error {
	before := f.acknowledged()
	for range 100 {
		if f.acknowledged() >= before+10 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	f.harm("kill", member, true)
	return nil
}
func (f *fakeCluster) Restart(_ context.Context, member int) error {
	f.harm("restart", member, false)
	return nil
}
func (f *fakeCluster) Isolate(member int) error { f.harm("isolate", member, true); return nil }
func (f *fakeCluster) Heal(member int) error    { f.harm("heal", member, false); return nil }

// harm runs a job of the kind "cluster" on the fake cluster, with the kills and cuts in h and with
// short times. It checks that the job reports each kill and each cut as progress.
func harm(t *testing.T, f *fakeCluster, h protocol.ClusterHarm) (*protocol.Harmed, error) {
	t.Helper()
	h.Clients, h.LoadMS, h.LimitMS, h.Levels = 2, 20, 60_000, driver.ReadLevels
	if h.Patience == 0 {
		h.Patience = 5_000
	}
	d := &job.Database{DB: f, CPU: func() (int64, int64) { return 0, 0 }, PeakRSS: func(bool) int64 { return 0 }}
	var told int
	r, err := job.Run(t.Context(), &protocol.Job{Cluster: &protocol.Cluster{Harm: &h}}, d, func(p protocol.Progress) {
		if p.Harm != nil {
			told++
		}
	})
	if err != nil {
		return nil, err
	}
	if told != h.Kills+h.Cuts {
		t.Errorf("the job reported %d kills and cuts as progress, want %d", told, h.Kills+h.Cuts)
	}
	return r.Cluster.Harmed, nil
}

func TestHarm(t *testing.T) {
	f := newFakeCluster(3)
	got, err := harm(t, f, protocol.ClusterHarm{Kills: 2, Cuts: 1})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, h := range got.Harms {
		kinds = append(kinds, h.Kind+" "+h.Member)
		if h.RecoveredNS <= 0 || h.SilentNS <= 0 {
			t.Errorf("%+v", h)
		}
	}
	if want := []string{"kill a", "kill b", "cut c"}; !slices.Equal(kinds, want) {
		t.Errorf("harmed %q, want %q, which is the leader each time", kinds, want)
	}
	// After all kills and cuts, the job kills all members and starts them again.
	want := "kill restart kill restart isolate heal kill kill kill restart restart restart"
	if words := strings.Join(f.harmed, " "); words != want {
		t.Errorf("calls to the cluster: %s, want %s", words, want)
	}
	if got.Lost != 0 || got.Found < got.Acknowledged || got.Acknowledged == 0 || len(got.Missing) != 3 {
		t.Errorf("%+v", got)
	}
	for _, r := range got.Reads {
		if r.Reads == 0 || r.Stale > 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestHarmLost(t *testing.T) {
	f := newFakeCluster(3)
	f.loses = true
	got, err := harm(t, f, protocol.ClusterHarm{Cuts: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got.Lost == 0 || got.Lost != got.Acknowledged-got.Found || len(got.LostIDs) == 0 || f.rows[got.LostIDs[0]] {
		t.Errorf("%+v", got)
	}
	for _, m := range got.Missing {
		if m.Lost != got.Lost || m.Rows != 0 {
			t.Errorf("%+v, want %d lost", m, got.Lost)
		}
	}
}

func TestHarmStale(t *testing.T) {
	f := newFakeCluster(3)
	f.lags = true
	got, err := harm(t, f, protocol.ClusterHarm{Kills: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got.Reads {
		if none := r.Level == "none"; none != (r.Stale > 0) {
			t.Errorf("%+v", r)
		}
	}
}

func TestHarmWithoutRecovery(t *testing.T) {
	dies, forgets := newFakeCluster(3), newFakeCluster(3)
	dies.dies, forgets.forgets = true, true
	for want, f := range map[string]*fakeCluster{"no write was acknowledged for 300ms after a kill of member a": dies, "member a has not caught up": forgets} {
		begin := time.Now()
		_, err := harm(t, f, protocol.ClusterHarm{Kills: 1, Patience: 300})
		e, ok := errors.AsType[*job.Error](err)
		if !ok || e.Code != protocol.CodeEndless || !strings.Contains(err.Error(), want) {
			t.Errorf("after %v: %v, want %s", time.Since(begin), err, want)
		}
	}
}
