package worker_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// lockedAtFirst makes INSERTs into the table b fail because of a lock. The parameter "attempts" is
// the number of attempts that fail for each row. The INSERTs of the verification pass, which run
// before the clock starts, succeed.
func lockedAtFirst(f *fake, attempts int) {
	var mu sync.Mutex
	begun, seen := false, map[int64]int{}
	f.answer = one
	f.execFail = func(sql string, row []any) error {
		mu.Lock()
		defer mu.Unlock()
		begun = begun || sql == "PHASES"
		if !strings.Contains(sql, `"b"`) {
			return nil
		}
		id := row[0].(int64)
		if seen[id]++; seen[id] > 1 && seen[id] <= 1+attempts { // the first INSERT of an ID belongs to the verification pass
			return &driver.Error{Code: 5, Err: errors.New("database is locked")}
		}
		return nil
	}
}

func TestMixRetries(t *testing.T) {
	for _, test := range []struct {
		attempts        int64
		retries, failed int64 // how often each write is retried, and how often it fails in the end
	}{
		{attempts: 2, retries: 1, failed: 1},
		{attempts: 3, retries: 2},
		{attempts: 9, retries: 2},
	} {
		f := newFake()
		lockedAtFirst(f, 2)
		p := blog(1, mixOf(plan.Mix{Clients: 1, Count: 100, Retry: &plan.Retry{Attempts: test.attempts, BackoffUS: 1}}))
		s := mixSample(t, serve(t, f, trialOf(t, p, nil)))
		failed := int64(0)
		for _, e := range s.Errors {
			failed += e.Count
		}
		writes := s.Latency[1].Count
		if s.Retries != writes*test.retries || failed != writes*test.failed || writes == 0 || s.Operations != 100 || s.Failed != failed || s.Latency[1].Failed != failed {
			t.Errorf("%d attempts: %d retries, %d of %d writes failed, %d operations", test.attempts, s.Retries, failed, writes, s.Operations)
		}
	}
}

// TestMixWithoutRetry checks that without Retry no operation is repeated.
func TestMixWithoutRetry(t *testing.T) {
	f := newFake()
	lockedAtFirst(f, 1)
	s := mixSample(t, serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 1, Count: 100})), nil)))
	if s.Retries != 0 || len(s.Errors) != 1 || s.Errors[0].Count == 0 {
		t.Errorf("%d retries, errors %+v", s.Retries, s.Errors)
	}
}

// TestMixRetriesLocksOnly checks that an operation is not repeated if the cause of its error is
// not a lock.
func TestMixRetriesLocksOnly(t *testing.T) {
	f := newFake()
	f.answer = one
	var tries atomic.Int64
	f.execFail = func(sql string, _ []any) error {
		if !strings.Contains(sql, `"b"`) || tries.Add(1) <= 30 { // the INSERTs of the verification pass, before the clock starts, succeed
			return nil
		}
		return &driver.Error{Code: 13, Err: errors.New("database or disk is full")}
	}
	p := blog(1, mixOf(plan.Mix{Clients: 1, Count: 100, Retry: &plan.Retry{Attempts: 5}}))
	got := serve(t, f, trialOf(t, p, nil))
	if last := got[len(got)-1]; last.Type != protocol.TypeFailed || last.Reason.Code != "disk-full" || tries.Load() != 31 {
		t.Errorf("after %d tries: %+v", tries.Load(), last)
	}
}

func TestMixMutex(t *testing.T) {
	most := func(around, within bool) int64 {
		f := newFake()
		var now, most atomic.Int64
		f.answer = func(string, []any) ([]driver.Row, error) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(100 * time.Microsecond) // long enough for other clients to arrive
			now.Add(-1)
			return []driver.Row{{{Int: 1}}}, nil
		}
		phase := mixOf(plan.Mix{Clients: 8, Count: 200, Mutex: around})
		if within {
			phase.Mix.Operations[0].Calls[0].Mutex = true
		}
		mixSample(t, serve(t, f, trialOf(t, blog(1, phase), driver.Settings{"pool_size": "8"})))
		return most.Load()
	}
	if n := most(true, false); n != 1 {
		t.Errorf("%d operations at once under the mutex, want 1", n)
	}
	if n := most(false, true); n != 1 {
		t.Errorf("%d statements at once under the mutex, want 1", n)
	}
	if n := most(false, false); n < 2 {
		t.Errorf("%d operations at once without a mutex: want several, because otherwise the test proves nothing", n)
	}
}

func TestMixGOMAXPROCS(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	f := newFake()
	var seen sync.Map
	f.answer = func(string, []any) ([]driver.Row, error) {
		seen.Store(runtime.GOMAXPROCS(0), true)
		return []driver.Row{{{Int: 1}}}, nil
	}
	mixSample(t, serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 2, Count: 50, GOMAXPROCS: before + 3})), driver.Settings{"pool_size": "2"})))
	if _, ok := seen.Load(before + 3); !ok {
		t.Error("the phase did not have as many threads as it asks for")
	}
	if now := runtime.GOMAXPROCS(0); now != before {
		t.Errorf("%d threads after the phase, %d before", now, before)
	}
}

// TestInsertTimedValues checks that the allocations for generating values are measured if
// TimedValues is set.
func TestInsertTimedValues(t *testing.T) {
	bytes := func(timed bool) int64 {
		p := blog(1, insertPhase(plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1, TimedValues: timed}))
		p.DataSets[0].Count, p.DataSets[0].Total, p.DataSets[1].Total = 20_000, 20_000, 20_000*p.DataSets[1].Count
		f := newFake()
		f.quiet = true
		got := serve(t, f, trialOf(t, p, nil))
		if last := got[len(got)-1]; last.Type != protocol.TypeDone {
			t.Fatalf("ended with %+v", last.Reason)
		}
		return got[len(got)-2].Sample.AllocBytes
	}
	timed, untimed := bytes(true), bytes(false)
	if timed < untimed+8*20_000 {
		t.Errorf("%d bytes allocated with TimedValues, %d without: want at least 160,000 more", timed, untimed)
	}
}

// TestMixWithoutRowsIsNotVerified checks that a mix is not run for verification if none of its
// statements returns rows.
func TestMixWithoutRowsIsNotVerified(t *testing.T) {
	f := newFake()
	phase := mixOf(plan.Mix{Clients: 1, Count: 50})
	phase.Mix.Operations = phase.Mix.Operations[1:]
	p := blog(1, phase)
	p.Schema = "PHASES"
	s := mixSample(t, serve(t, f, trialOf(t, p, nil)))
	begun := strings.Count(strings.Join(story(f), " "), "begin")
	if begun != 50 || s.Operations != 50 {
		t.Errorf("%d transactions for %d operations", begun, s.Operations)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256(nil)); s.Checksum != want {
		t.Errorf("checksum %s, want the checksum of no rows, %s", s.Checksum, want)
	}
}
