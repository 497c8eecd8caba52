package locks_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// lockedRun is a run of one mix. Tests add its cases one by one.
type lockedRun struct{ run *result.Run }

func newLockedRun() *lockedRun { return &lockedRun{&result.Run{Rounds: 6}} }

// add adds a case with a sample of 1 s in each of six rounds. In each sample, slightly more operations
// succeeded than the parameter "ok" says, and others ended with the given errors.
func (f *lockedRun) add(info driver.Info, s driver.Settings, ok int64, errors ...protocol.ErrorCount) *result.Case {
	c := result.Case{ID: len(f.run.Cases) + 1, Workload: "w", Scale: "quick", Driver: info.Name, Info: info, Settings: s, Phases: []string{"mix"}}
	f.run.Cases = append(f.run.Cases, c)
	for round := 1; round <= 6; round++ {
		sample := result.Sample{Phase: "mix", Metric: result.MetricTimePerOp, WallNS: 1e9, Operations: ok + int64(round), Errors: errors,
			Clients: []int64{ok / 2, ok / 2}, Costs: protocol.Costs{WALBytes: int64(round) << 10}, WALRestarts: 2}
		for _, e := range errors {
			sample.Operations += e.Count
			sample.Failed += e.Count
		}
		sample.Latency = []latency.Summary{{Operation: "change", Count: sample.Operations, Failed: sample.Failed, MeanNS: 1e6, P50NS: 1e6, P99NS: 2e6, P999NS: int64(round) * 1e6, MaxNS: int64(round) * 1e7}}
		f.run.Trials = append(f.run.Trials, result.Trial{Case: c.ID, Round: round, Order: len(f.run.Trials) + 1, Status: result.OK, Samples: []result.Sample{sample}})
	}
	return &f.run.Cases[len(f.run.Cases)-1]
}

// hang adds a case whose only trial failed with the given error code.
func (f *lockedRun) hang(info driver.Info, s driver.Settings, code string) {
	c := result.Case{ID: len(f.run.Cases) + 1, Workload: "w", Scale: "quick", Driver: info.Name, Info: info, Settings: s, Phases: []string{"mix"}}
	f.run.Cases = append(f.run.Cases, c)
	f.run.Trials = append(f.run.Trials, result.Trial{Case: c.ID, Round: 1, Order: len(f.run.Trials) + 1, Status: result.Failed, Reason: &protocol.Reason{Code: code, Phase: "mix", Message: "no end"}})
}

func (f *lockedRun) explain(t *testing.T) *locks.LockedMix {
	t.Helper()
	l := locks.ExplainLocks(stats.Analyze(f.run, "native"))
	if len(l.Mixes) != 1 {
		t.Fatalf("%d mixes, want 1", len(l.Mixes))
	}
	return l.Mixes[0]
}

func settings(journal, lock, timeout, size string, more ...string) driver.Settings {
	s := driver.Settings{"journal_mode": journal, "txlock": lock, "busy_timeout": timeout, "pool_size": size}
	for i := 0; i < len(more); i += 2 {
		s[more[i]] = more[i+1]
	}
	return s
}

func failed(code int, count, eachNS int64) protocol.ErrorCount {
	return protocol.ErrorCount{Code: code, Name: driver.CodeName(code), Count: count, WaitNS: count * eachNS}
}

var (
	ofMattn = driver.Info{Name: "mattn"}
	ofPlain = driver.Info{Name: "plain", Limits: map[string]string{"codes=extended": "reports primary codes"}}
)

const ms = int64(1e6)

func TestWhy(t *testing.T) {
	for name, c := range map[string]struct {
		info driver.Info
		s    driver.Settings
		e    protocol.ErrorCount
		want locks.LockWhy
	}{
		"nothing waits":                {ofMattn, settings("wal", "immediate", "0", "4"), failed(5, 9, 0), locks.WhyNoWait},
		"an old snapshot":              {ofMattn, settings("wal", "deferred", "5000", "4"), failed(517, 9, 0), locks.WhySnapshot},
		"an old snapshot, no timeout":  {ofMattn, settings("wal", "deferred", "0", "4"), failed(517, 9, 0), locks.WhySnapshot},
		"the same by its primary code": {ofPlain, settings("wal", "deferred", "5000", "4"), failed(5, 9, 10*ms), locks.WhyUpgrade},
		"two who have read":            {ofMattn, settings("delete", "deferred", "5000", "4"), failed(5, 9, 10*ms), locks.WhyUpgrade},
		"the whole timeout":            {ofMattn, settings("delete", "immediate", "100", "4"), failed(5, 9, 101*ms), locks.WhyTimeout},
		"a shared cache":               {ofMattn, settings("wal", "immediate", "5000", "4"), failed(262, 9, 0), locks.WhySharedCache},
		"at once, immediate":           {ofMattn, settings("wal", "immediate", "5000", "4"), failed(5, 9, 0), locks.WhyUnknown},
		"after the timeout":            {ofMattn, settings("wal", "immediate", "5000", "4"), failed(driver.CodeCanceled, 9, 50*ms), locks.WhyCanceled},
		"recovery":                     {ofMattn, settings("wal", "immediate", "0", "4"), failed(261, 9, 0), locks.WhyNoWait},
	} {
		f := newLockedRun()
		f.add(c.info, c.s, 1000, c.e)
		cell := f.explain(t).Cells[0]
		if len(cell.Causes) != 1 || cell.Causes[0].Why != c.want || cell.Causes[0].Count != 6*c.e.Count {
			t.Errorf("%s: %+v, want %s", name, cell.Causes, c.want)
		}
	}
}

// TestWhyByProof checks the reason for lock errors in a cell whose settings have no busy_timeout. The
// busy_timeout that the worker read from SQLite (in the trial's proof) must decide the reason.
func TestWhyByProof(t *testing.T) {
	f := newLockedRun()
	s := settings("wal", "immediate", "5000", "4")
	delete(s, "busy_timeout")
	f.add(ofMattn, s, 1000, failed(5, 3, 0))
	for i := range f.run.Trials {
		f.run.Trials[i].Proof = &protocol.Proof{Connections: []driver.Settings{{"busy_timeout": "0"}}}
	}
	if got := f.explain(t).Cells[0].Causes[0].Why; got != locks.WhyNoWait {
		t.Errorf("%s, want %s", got, locks.WhyNoWait)
	}
}

// TestRemedies expects the remedies to be the choices that change the fewest settings, the fastest
// first. The price of a remedy is its rate divided by the rate of the choice that had errors.
func TestRemedies(t *testing.T) {
	f := newLockedRun()
	f.add(ofMattn, settings("wal", "deferred", "5000", "4"), 1000, failed(517, 9, 0))
	f.add(ofMattn, settings("wal", "immediate", "5000", "4"), 900)
	f.add(ofMattn, settings("wal", "deferred", "5000", "1"), 2000)
	f.add(ofMattn, settings("delete", "immediate", "5000", "4"), 5000) // changes two settings, so it is no remedy
	f.add(ofMattn, settings("wal", "deferred", "5000", "4", "write_mutex", "on"), 500, failed(5, 1, 0))
	f.add(driver.Info{Name: "modernc"}, settings("wal", "immediate", "5000", "4"), 9000)
	m := f.explain(t)
	var got []string
	for _, r := range m.Cells[0].Remedies {
		for _, c := range r.Changes {
			got = append(got, c.What+": "+c.From+" → "+c.To)
		}
	}
	if want := []string{"pool: pool of 4 → pool of one", "txlock: deferred → immediate"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	price := m.Cells[0].Remedies[1].Price
	if price == nil || price.Median < 0.89 || price.Median > 0.91 || price.Interval == nil {
		t.Errorf("price %+v, want 0.9 with an interval", price)
	}
	for i, c := range m.Cells {
		if trouble := i == 0 || i == 4; c.Trouble() != trouble || trouble != (c.Remedies != nil) {
			t.Errorf("case %d: trouble %v, remedies %d", i+1, c.Trouble(), len(c.Remedies))
		}
	}
}

// TestPriceOfTheSameWork has a mix in which most writes fail at once, which leaves more time for
// reads. It expects the price to count only the writes, because failing must not make a choice look
// faster.
func TestPriceOfTheSameWork(t *testing.T) {
	f := newLockedRun()
	f.add(ofMattn, settings("wal", "deferred", "0", "4"), 0)
	f.add(ofMattn, settings("wal", "deferred", "5000", "4"), 0)
	for i := range f.run.Trials {
		tr := &f.run.Trials[i]
		x := &tr.Samples[0]
		reads, writes, lost := int64(30_000+tr.Round), int64(1000), int64(10_000)
		if tr.Case == 2 {
			reads, writes, lost = int64(10_000+tr.Round), 3000, 0
		}
		x.Operations, x.Failed = reads+writes+lost, lost
		if lost > 0 {
			x.Errors = []protocol.ErrorCount{failed(5, lost, 0)}
		}
		x.Latency = []latency.Summary{{Operation: "read", Count: reads, MeanNS: 1e4}, {Operation: "write", Count: writes + lost, Failed: lost, MeanNS: 1e4}}
	}
	m := f.explain(t)
	if m.Cells[0].Rate.Median < m.Cells[1].Rate.Median {
		t.Fatal("the mix in which writes fail is not the one with more operations per second")
	}
	r := m.Cells[0].Remedies
	if len(r) != 1 || r[0].Price == nil || r[0].Others == nil {
		t.Fatalf("remedies %+v", r)
	}
	if p, o := r[0].Price.Median, r[0].Others.Median; p < 2.99 || p > 3.01 || o < 0.33 || o > 0.34 {
		t.Errorf("%.3g times the writes and %.3g times the reads, want 3 and a third", p, o)
	}
	// Without a successful write there is no ratio.
	for i := range f.run.Trials {
		if tr := &f.run.Trials[i]; tr.Case == 1 {
			tr.Samples[0].Latency[1].Failed = tr.Samples[0].Latency[1].Count
		}
	}
	if r := f.explain(t).Cells[0].Remedies; r[0].Price != nil || r[0].Others == nil {
		t.Errorf("remedies %+v", r)
	}
}

// TestToday checks that the fastest choice and the one with the lowest latency are compared with
// the workload's own settings, in a mix (operations of several clients at once) without lock
// errors.
func TestToday(t *testing.T) {
	f := newLockedRun()
	f.add(ofMattn, settings("wal", "immediate", "10000", "8"), 6000).Today = true
	f.add(ofMattn, settings("wal", "immediate", "10000", "1"), 15000)
	f.add(ofMattn, settings("wal", "immediate", "10000", "8", "write_mutex", "on"), 12000)
	for i := range f.run.Trials {
		tr := &f.run.Trials[i]
		tr.Samples[0].Latency[0].P999NS = []int64{0, 200, 50, 25}[tr.Case] * ms
	}
	m := f.explain(t)
	if m.Today == nil || m.Today.Pool() != "pool of 8" || m.Best == nil || m.Best.Pool() != "pool of one" || m.Calm == nil || m.Calm.Pool() != "pool of 8 + mutex" || m.Equal != nil || m.EquallyCalm != nil {
		t.Fatalf("today %+v, best %+v, equal %+v, calm %+v, as calm %+v", m.Today, m.Best, m.Equal, m.Calm, m.EquallyCalm)
	}
	if m.Gain == nil || m.Gain.Median < 2.49 || m.Gain.Median > 2.51 || m.Calmer == nil || m.Calmer.Median < 7.99 || m.Calmer.Median > 8.01 {
		t.Errorf("gain %+v, want 2.5; calmer %+v, want 8", m.Gain, m.Calmer)
	}
	f.add(ofMattn, settings("wal", "deferred", "10000", "8"), 6000).Today = true
	if m := f.explain(t); m.Today != nil || m.Gain != nil {
		t.Errorf("Today is %+v although the run has two variants of the workload's own settings", m.Today)
	}
}

// TestLockProcesses checks that cells with different numbers of processes are separate mixes, so no
// remedy changes that number.
func TestLockProcesses(t *testing.T) {
	f := newLockedRun()
	f.add(ofMattn, settings("wal", "deferred", "5000", "4", "processes", "1"), 1000)
	f.add(ofMattn, settings("wal", "deferred", "5000", "1", "processes", "2"), 900, failed(517, 9, 0))
	f.add(ofMattn, settings("wal", "immediate", "5000", "1", "processes", "2"), 800)
	l := locks.ExplainLocks(stats.Analyze(f.run, "native"))
	if len(l.Mixes) != 2 || l.Mixes[0].String() != "w mix" || l.Mixes[1].String() != "w mix in 2 processes" || l.Mixes[1].Processes != 2 {
		t.Fatalf("%d mixes: %v", len(l.Mixes), l.Mixes)
	}
	if best := l.Mixes[0].Best; best == nil || best.TxLock != "deferred" {
		t.Errorf("in one process %+v", best)
	}
	if best := l.Mixes[1].Best; best == nil || best.TxLock != "immediate" {
		t.Errorf("in two processes %+v", best)
	}
	if r := l.Mixes[1].Cells[0].Remedies; len(r) != 1 || r[0].Changes[0].What != "txlock" {
		t.Errorf("remedies %+v", r)
	}
}

// TestBest checks that the best choice is the fastest one without errors on any driver.
func TestBest(t *testing.T) {
	f := newLockedRun()
	modernc := driver.Info{Name: "modernc"}
	f.add(ofMattn, settings("wal", "deferred", "0", "4"), 9000)
	f.add(modernc, settings("wal", "deferred", "0", "4"), 9000, failed(517, 1, 0))
	f.add(ofMattn, settings("wal", "immediate", "5000", "4"), 1000)
	f.add(modernc, settings("wal", "immediate", "5000", "4"), 1000)
	f.add(ofMattn, settings("wal", "immediate", "5000", "1", "pool_readers", "4"), 1500)
	f.add(modernc, settings("wal", "immediate", "5000", "1", "pool_readers", "4"), 1400)
	m := f.explain(t)
	want := &locks.LockChoice{JournalMode: "wal", TxLock: "immediate", BusyTimeout: "5000", Connections: 1, Readers: 4}
	if diff := cmp.Diff(want, m.Best); diff != "" {
		t.Error(diff)
	}
	if c := m.Cell("modernc", *want); c == nil || !c.Clean() || c.Choice.Pool() != "1 writer + 4 readers" {
		t.Errorf("its cell is %+v", c)
	}
	f.add(driver.Info{Name: "crawshaw"}, settings("wal", "deferred", "0", "4"), 9000, failed(5, 1, 0))
	if m := f.explain(t); m.Best != nil {
		t.Errorf("the best choice is %+v, but crawshaw was not measured with it", m.Best)
	}
}

// TestEndless checks that endless waits are distinguished from other failures, and have a remedy.
func TestEndless(t *testing.T) {
	for want, own := range map[locks.LockWhy]driver.Settings{locks.WhyEndless: {}, locks.WhyEndlessShared: {"cache": "shared"}} {
		f := newLockedRun()
		f.hang(ofMattn, settings("wal", "deferred", "0", "4").With(own), protocol.CodeEndless)
		f.add(ofMattn, settings("wal", "deferred", "0", "8").With(own), 1000)
		m := f.explain(t)
		c := m.Cells[0]
		if !c.Endless || len(c.Causes) != 1 || c.Causes[0].Why != want || !want.Endless() || len(c.Remedies) != 1 || c.Remedies[0].Price != nil {
			t.Errorf("%s: %+v with %+v", want, c.Causes, c.Remedies)
		}
		if l := locks.ExplainLocks(stats.Analyze(f.run, "")); !l.Complete() {
			t.Errorf("%s: Complete is false, although an endless wait is a result", want)
		}
	}
	// A failure with another code is not an endless wait.
	for _, code := range []string{protocol.CodeCrash, protocol.CodeTimeout, protocol.CodeCheck} {
		f := newLockedRun()
		f.hang(ofMattn, settings("wal", "deferred", "0", "4"), code)
		f.add(ofMattn, settings("wal", "deferred", "0", "8"), 1000)
		if c := f.explain(t).Cells[0]; c.Endless || c.Trouble() || len(c.Causes) > 0 {
			t.Errorf("%s counts as an endless wait", code)
		}
		if locks.ExplainLocks(stats.Analyze(f.run, "")).Complete() {
			t.Errorf("%s: Complete is true although a cell has no figures", code)
		}
	}
}

// TestFigures checks the figures of a cell, which come from all of its trials.
func TestFigures(t *testing.T) {
	f := newLockedRun()
	f.add(ofMattn, settings("wal", "deferred", "0", "4"), 1000, failed(5, 1000, ms/2))
	c := f.explain(t).Cells[0]
	if c.Failed != 6000 || c.Operations != 12021 || c.Longest != 60*ms || c.P999 != 6*ms || c.WALBytes != 6<<10 || c.Restarts != 2 || c.Fairness != 1 {
		t.Errorf("%+v", c)
	}
	if c.Rate.Median < 1003 || c.Rate.Median > 1004 || c.Rate.Interval == nil {
		t.Errorf("rate %+v, want 1003.5 with an interval", c.Rate)
	}
	if c.InVain < 0.24 || c.InVain > 0.26 {
		t.Errorf("in vain %v, want a quarter", c.InVain)
	}
}

// TestSharedCache expects a private cache to be a remedy only if it was measured.
func TestSharedCache(t *testing.T) {
	shared := settings("wal", "immediate", "5000", "4", "cache", "shared")
	f := newLockedRun()
	f.add(ofMattn, shared, 900, failed(262, 9, ms))
	if got := f.explain(t); got.Best != nil || got.Cells[0].Remedies != nil {
		t.Errorf("a private cache was not measured: best %+v, remedies %+v; want none", got.Best, got.Cells[0].Remedies)
	}
	f.add(ofMattn, shared.With(driver.Settings{"cache": "private"}), 800)
	got := f.explain(t)
	if got.Best == nil || got.Best.Cache != "private" {
		t.Errorf("best %+v", got.Best)
	}
	r := got.Cells[0].Remedies
	if len(r) != 1 || len(r[0].Changes) != 1 || r[0].Changes[0] != (locks.LockChange{What: "cache", From: "shared", To: "private"}) || r[0].Price == nil {
		t.Errorf("remedies %+v", r)
	}
}

// TestPaced expects choices of a mix with a fixed rate to be compared by latency.
func TestPaced(t *testing.T) {
	f := newLockedRun()
	f.add(ofMattn, settings("wal", "deferred", "5000", "4"), 900, failed(517, 9, ms))
	f.add(ofMattn, settings("wal", "immediate", "5000", "4"), 1000)
	f.add(ofMattn, settings("wal", "immediate", "5000", "1"), 990)
	for i := range f.run.Trials {
		s := &f.run.Trials[i].Samples[0]
		s.Metric = result.MetricLatency
		if f.run.Trials[i].Case == 3 {
			s.Latency[0].P99NS = ms
		}
	}
	got := f.explain(t)
	if !got.Paced || got.Best == nil || got.Best.Connections != 1 || got.Equal != nil {
		t.Errorf("paced %v, best %+v, equal %+v", got.Paced, got.Best, got.Equal)
	}
	if r := got.Cells[0].Remedies; len(r) != 1 || r[0].Price != nil {
		t.Errorf("remedies %+v: want no price in operations per second", r)
	}
}

// TestWaits checks that a cell has the waits of all trials, as fractions of the clients' time, in a
// fixed order.
func TestWaits(t *testing.T) {
	f := newLockedRun()
	f.add(ofMattn, settings("wal", "immediate", "5000", "1"), 1000)
	for i := range f.run.Trials {
		f.run.Trials[i].Samples[0].Waits = []protocol.Wait{{For: protocol.WaitMutex}, {For: protocol.WaitConnection, Count: int64(i), WaitNS: 100 * ms}}
	}
	got := f.explain(t).Cells[0].Waits
	if len(got) != 2 || got[0].For != protocol.WaitConnection || got[1].For != protocol.WaitMutex {
		t.Fatalf("%+v", got)
	}
	// 6021 operations of 1 ms each waited 600 ms in all, for a connection.
	if w := got[0]; w.Count != 15 || w.Share < 0.099 || w.Share > 0.1 || w.PerOpNS != 600*ms/6021 {
		t.Errorf("%+v", w)
	}
	if w := got[1]; w.Count != 0 || w.Share != 0 || w.PerOpNS != 0 {
		t.Errorf("waits for the mutex: %+v, want zeros", w)
	}
	g := newLockedRun()
	g.add(ofMattn, settings("wal", "immediate", "5000", "1"), 1000)
	if got := g.explain(t).Cells[0].Waits; got != nil {
		t.Errorf("waits %+v although the worker reports none", got)
	}
}

// TestReplayFigures checks that lock errors are counted separately from other errors, and that lock
// errors count even if they were recorded.
func TestReplayFigures(t *testing.T) {
	f := newLockedRun()
	const constraint = 2067 // SQLITE_CONSTRAINT_UNIQUE
	f.add(ofMattn, settings("wal", "deferred", "0", "4"), 1000, failed(5, 10, 2*ms), failed(constraint, 7, ms))
	f.add(ofMattn, settings("wal", "deferred", "5000", "4"), 1000, failed(constraint, 7, ms))
	for i := range f.run.Trials {
		x := &f.run.Trials[i].Samples[0]
		x.Skipped, x.Different = 3, 5
		x.Latency[0].Failed = x.Failed
		if f.run.Trials[i].Case == 1 {
			x.Results = []protocol.ErrorCount{failed(517, 4, 0), failed(constraint, 2, 0)}
		}
	}
	m := f.explain(t)
	c := m.Cells[0]
	if c.Locked != 6*14 || c.Failed != 6*21 || c.Skipped != 18 || c.Different != 30 {
		t.Errorf("locked %d, failed %d, skipped %d, different %d", c.Locked, c.Failed, c.Skipped, c.Different)
	}
	want := []locks.LockCause{
		{Why: locks.WhyNoWait, Code: 5, Name: "SQLITE_BUSY", Count: 60, MeanNS: 2 * ms},
		{Why: locks.WhyOther, Code: constraint, Name: "SQLITE_CONSTRAINT_UNIQUE", Count: 42, MeanNS: ms},
		{Why: locks.WhySnapshot, Code: 517, Name: "SQLITE_BUSY_SNAPSHOT", Count: 24},
	}
	if diff := cmp.Diff(want, c.Causes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]locks.FailedOperation{{Operation: "change", Failed: 6 * 17}}, c.FailedBy); diff != "" {
		t.Error(diff)
	}
	if c.Rate.Median > 1000 {
		t.Errorf("%v operations per second: lock errors that were also recorded counted as successes", c.Rate.Median)
	}
	if other := m.Cells[1]; other.Trouble() || !other.Clean() || m.Best == nil || m.Best.BusyTimeout != "5000" || len(c.Remedies) != 1 {
		t.Errorf("nothing failed because of a lock with %+v, but the best choice is %+v", other.Choice, m.Best)
	}
}

// TestEqual expects choices that do not differ clearly from the best one to be listed with it.
func TestEqual(t *testing.T) {
	f := newLockedRun()
	f.add(ofMattn, settings("wal", "deferred", "5000", "4"), 1000, failed(517, 9, 0))
	f.add(ofMattn, settings("wal", "immediate", "5000", "4"), 1000)
	f.add(ofMattn, settings("wal", "immediate", "5000", "1"), 1000)
	f.add(ofMattn, settings("delete", "immediate", "5000", "4"), 100)
	for i := range f.run.Trials {
		if tr := &f.run.Trials[i]; tr.Case == 2 { // faster than case 3 in some rounds, slower in others
			tr.Samples[0].Operations += int64(tr.Round%2*200 - 90)
		}
	}
	m := f.explain(t)
	if m.Best == nil || m.Best.Pool() != "pool of 4" {
		t.Fatalf("the best is %+v", m.Best)
	}
	want := []locks.LockChoice{{JournalMode: "wal", TxLock: "immediate", BusyTimeout: "5000", Connections: 1}}
	if diff := cmp.Diff(want, m.Equal); diff != "" {
		t.Error(diff)
	}
}

// TestNoMix expects no explanation for a phase that is neither a mix nor a replay.
func TestNoMix(t *testing.T) {
	f := newLockedRun()
	f.add(ofMattn, settings("wal", "deferred", "0", "4"), 1000)
	for i := range f.run.Trials {
		f.run.Trials[i].Samples[0].Metric, f.run.Trials[i].Samples[0].Latency = result.MetricTime, nil
	}
	if l := locks.ExplainLocks(stats.Analyze(f.run, "")); len(l.Mixes) != 0 || l.Complete() {
		t.Errorf("%d mixes", len(l.Mixes))
	}
}
