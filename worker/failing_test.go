package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// locked is the error that SQLite returns for a lock.
var locked = &driver.Error{Code: driver.CodeBusy, Err: errors.New("database is locked")}

// distribution returns the summary of the latencies in the histogram of l.
func distribution(t *testing.T, l protocol.Latency) latency.Summary {
	t.Helper()
	h, err := latency.Decode(l.Histogram)
	if err != nil {
		t.Fatal(err)
	}
	return h.Summary(l.Operation)
}

// phased returns a plan with one mix. The plan's schema is the text "PHASES", because the function
// "story" returns the part of the driver's log after that text.
func phased(m plan.Mix) *plan.Plan {
	p := blog(1, mixOf(m))
	p.Schema = "PHASES"
	return p
}

// measured returns the driver's log after the verification pass, which runs before the clock starts.
func measured(f *fake) []string {
	log := story(f)
	for i, line := range log { // the verification pass ends with the rollback of the transaction around it
		if line == "rollback" {
			return log[i+1:]
		}
	}
	return log
}

// TestMixFailuresCount checks that failed operations are counted in the field Operations, and recorded
// with their time in the histogram, like operations that succeed. Reads take 1 ms, and writes fail after
// 3 ms.
func TestMixFailuresCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.answer = func(sql string, params []any) ([]driver.Row, error) {
			time.Sleep(time.Millisecond)
			return one(sql, params)
		}
		f.execFail = func(sql string, _ []any) error {
			if !strings.Contains(sql, `"b"`) || !slices.Contains(story(f), "rollback") {
				return nil
			}
			time.Sleep(3 * time.Millisecond)
			return locked
		}
		s := mixSample(t, serve(t, f, trialOf(t, phased(plan.Mix{Clients: 1, Count: 100}), nil)))
		reads, writes := s.Latency[0], s.Latency[1]
		if reads.Count+writes.Count != 100 || writes.Count == 0 || s.Operations != 100 || s.Failed != writes.Count || writes.Failed != writes.Count || reads.Failed != 0 {
			t.Fatalf("%d operations, %d failed: %+v", s.Operations, s.Failed, s.Latency)
		}
		if want := reads.Count*1e6 + writes.Count*3e6; s.WallNS != want {
			t.Errorf("%d ns in all, want %d ns", s.WallNS, want)
		}
		if ms := time.Duration(distribution(t, writes).P50NS).Round(10 * time.Microsecond); ms != 3*time.Millisecond {
			t.Errorf("a failed write took %v, want 3ms", ms)
		}
		if d := cmp.Diff([]protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: writes.Count, WaitNS: writes.Count * 3e6}}, s.Errors); d != "" {
			t.Error(d)
		}
	})
}

// TestMixFailureHasAllAttempts checks that the latency of an operation that fails in the end
// includes all its attempts and the pauses between them.
func TestMixFailureHasAllAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.execFail = func(sql string, _ []any) error {
			if strings.Contains(sql, `"b"`) {
				time.Sleep(time.Millisecond)
				return locked
			}
			return nil
		}
		p := phased(plan.Mix{Clients: 1, Count: 50, Retry: &plan.Retry{Attempts: 3, BackoffUS: 2000}})
		p.Phases[0].Mix.Operations = p.Phases[0].Mix.Operations[1:]
		ok := plan.Operation{Name: "ok", Weight: 1, Calls: []plan.MixCall{p.Phases[0].Mix.Operations[0].Calls[0]}}
		p.Phases[0].Mix.Operations = append(p.Phases[0].Mix.Operations, ok)
		s := mixSample(t, serve(t, f, trialOf(t, p, nil)))
		// The latency is 9 ms: three attempts of 1 ms, with pauses of 2 ms and 4 ms.
		if w := s.Latency[0]; w.Failed != w.Count || w.Count == 0 || time.Duration(distribution(t, w).MaxNS).Round(10*time.Microsecond) != 9*time.Millisecond {
			t.Errorf("%+v", w)
		}
	})
}

// TestMixFailuresAtARate checks a mix at a fixed rate, in which the slowest tenth of the operations
// fails. The percentiles must include these operations.
func TestMixFailuresAtARate(t *testing.T) {
	const slow = 20 * time.Millisecond
	f := newFake()
	f.execFail = func(sql string, row []any) error {
		if strings.Contains(sql, `"b"`) && row[0].(int64)%10 == 0 {
			time.Sleep(slow)
			return locked
		}
		return nil
	}
	p := phased(plan.Mix{Clients: 40, Count: 200, Rate: 1000})
	p.Phases[0].Mix.Operations = p.Phases[0].Mix.Operations[1:] // these operations return no rows, so they are not verified
	s := mixSample(t, serve(t, f, trialOf(t, p, driver.Settings{"pool_size": "40"})))
	d := distribution(t, s.Latency[0])
	if s.Failed != 20 || s.Operations != 200 || d.Count != 200 || d.P99NS < int64(slow) {
		t.Errorf("%d of %d failed, p99 %v, want at least %v", s.Failed, s.Operations, time.Duration(d.P99NS), slow)
	}
}

// The function "unique" makes every second write fail with an error of a UNIQUE constraint. The
// statement that fails is the second one of the write, the INSERT into the table b.
func unique(f *fake) {
	f.answer = one
	f.execFail = func(sql string, row []any) error {
		if strings.Contains(sql, `"b"`) && row[0].(int64)%2 == 0 {
			return &driver.Error{Code: 2067, Err: errors.New("UNIQUE constraint failed: b.id")}
		}
		return nil
	}
}

// TestMixResults checks operations that end with an error that they declare as a result. They must
// count as succeeded, the field Results of the sample must count the error, and the transaction
// must be rolled back. The changes must also be rolled back in the verification pass, which runs
// before the clock starts.
func TestMixResults(t *testing.T) {
	for _, c := range []struct {
		declared []int
		limits   map[string]string
		code     int
	}{
		{[]int{2067}, nil, 2067},
		{[]int{19}, nil, 2067},
		{[]int{787, 2067}, map[string]string{"codes=extended": "primary only"}, 19},
	} {
		f := newFake()
		f.limits = c.limits
		unique(f)
		fail := f.execFail
		f.execFail = func(sql string, row []any) error {
			if err := fail(sql, row); err != nil {
				return &driver.Error{Code: c.code, Err: err}
			}
			return nil
		}
		p := phased(plan.Mix{Clients: 1, Count: 100})
		p.Phases[0].Mix.Operations[1].Results = c.declared
		s := mixSample(t, serve(t, f, trialOf(t, p, nil)))
		writes := s.Latency[1].Count
		if s.Operations != 100 || s.Failed != 0 || len(s.Errors) > 0 || len(s.Results) != 1 || s.Results[0].Code != c.code || s.Results[0].Count != writes/2 && s.Results[0].Count != (writes+1)/2 {
			t.Errorf("%v: %d of %d writes, %+v", c.declared, s.Failed, writes, s)
		}
		log := strings.Join(story(f), "\n")
		for _, want := range []string{
			"a 100\nexec ROLLBACK TO sqlite3perf\nexec RELEASE sqlite3perf\nexec SAVEPOINT sqlite3perf\na 101\nb 101\nexec RELEASE sqlite3perf\n",
			"\nrollback\nbegin\na 100\nrollback\nbegin\na 101\nb 101\ncommit\nbegin\na 102\nrollback\n",
		} {
			if !strings.Contains(log, want) {
				t.Fatalf("%v: no %q in\n%s", c.declared, want, log)
			}
		}
	}
}

// TestMixUndeclared checks that an error ends the trial if the operation does not declare it. The
// message must say how to declare the error, if that is possible.
func TestMixUndeclared(t *testing.T) {
	for code, want := range map[int]string{
		2067: "SQLITE_CONSTRAINT_UNIQUE: verifying operation write: no (if this error is expected, declare it in the operation: results: [SQLITE_CONSTRAINT_UNIQUE])",
		11:   "SQLITE_CORRUPT: verifying operation write: no",
	} {
		for _, later := range []bool{false, true} {
			f := newFake()
			f.answer = one
			f.execFail = func(sql string, _ []any) error {
				if strings.HasPrefix(sql, "INSERT") && (!later || slices.Contains(story(f), "rollback")) {
					return &driver.Error{Code: code, Err: errors.New("no")}
				}
				return nil
			}
			p := phased(plan.Mix{Clients: 1, Count: 100})
			p.Phases[0].Mix.Operations[1].Results = []int{275}
			got := serve(t, f, trialOf(t, p, nil))
			if later {
				want = strings.Replace(want, "verifying ", "", 1)
			}
			if last := got[len(got)-1]; last.Type != protocol.TypeFailed || last.Reason.Message != want {
				t.Errorf("code %d, later %v: %+v, want %s", code, later, last.Reason, want)
			}
		}
	}
}

// TestMixIfEmpty checks that a statement with IfEmpty ends its operation if it returns no rows.
func TestMixIfEmpty(t *testing.T) {
	for _, c := range []struct {
		how         string
		transaction bool
		log         []string // log of the first two executions; the first execution finds no row, and the second finds a row
	}{
		{plan.EmptyRollback, true, []string{"begin", "rollback", "begin", "a 2", "commit"}},
		{plan.EmptyCommit, true, []string{"begin", "commit", "begin", "a 2", "commit"}},
		{plan.EmptyStop, false, []string{"a 2"}},
	} {
		f := newFake()
		f.answer = func(_ string, params []any) ([]driver.Row, error) { // only even seats are free
			if params[0].(int64)%2 != 0 {
				return nil, nil
			}
			return []driver.Row{{{Int: params[0].(int64)}}}, nil
		}
		id := []plan.Parameter{{Name: "id", Type: driver.Int, Generator: &plan.Generator{Kind: plan.GenSerial, Low: 1, Step: 1}}}
		op := plan.Operation{Name: "book", Weight: 1, Transaction: c.transaction, Calls: []plan.MixCall{
			{Call: plan.Call{SQL: "SELECT id FROM seats WHERE id = ?", Parameters: id, Columns: []driver.ColumnType{{Type: driver.Int}}, Rows: 1}, IfEmpty: c.how},
			{Call: plan.Call{SQL: `INSERT INTO "a" VALUES (?)`, Parameters: id, Rows: -1}},
		}}
		p := blog(1, plan.Phase{Name: "mix", Mix: &plan.Mix{Clients: 1, Count: 100, Operations: []plan.Operation{op}}})
		p.Schema = "PHASES"
		s := mixSample(t, serve(t, f, trialOf(t, p, nil)))
		l := s.Latency[0]
		if s.Operations != 100 || s.Failed != 0 || s.Rows != 50 || l.Count != 100 || l.EndedEarly != 50 {
			t.Errorf("%s: %d rows, %+v", c.how, s.Rows, l)
		}
		if d := cmp.Diff(c.log, measured(f)[:len(c.log)]); d != "" {
			t.Errorf("%s: %s", c.how, d)
		}
		// The checksum also depends on which executions ended early.
		var h plan.Hash
		for n := range int64(100) {
			if n%2 == 0 {
				h.Stopped()
			} else {
				h.Row(driver.Row{{Int: n + 1}}, op.Calls[0].Columns)
			}
		}
		if want := h.Sum(); s.Checksum != want {
			t.Errorf("%s: checksum %s, want %s", c.how, s.Checksum, want)
		}
	}
}

// TestMixMutexAroundOperation checks that the mutex of an operation is held from before
// BEGIN until after COMMIT.
func TestMixMutexAroundOperation(t *testing.T) {
	interleaved := func(held bool) bool {
		f := newFake()
		var mu sync.Mutex
		open, most := 0, 0
		f.onTx = func(d int) {
			mu.Lock()
			open += d
			most = max(most, open)
			mu.Unlock()
			time.Sleep(50 * time.Microsecond) // long enough for other clients to arrive
		}
		p := phased(plan.Mix{Clients: 8, Count: 200})
		p.Phases[0].Mix.Operations = p.Phases[0].Mix.Operations[1:] // these operations return no rows, so they are not verified
		p.Phases[0].Mix.Operations[0].Mutex = held
		mixSample(t, serve(t, f, trialOf(t, p, driver.Settings{"pool_size": "8"})))
		return most > 1
	}
	if interleaved(true) {
		t.Error("a transaction began before another one had ended")
	}
	if !interleaved(false) {
		t.Error("without a mutex no two transactions were open at once, so the test proves nothing")
	}
}

// TestMixMutexIsReleasedBetweenAttempts checks that a client does not hold the mutex while it
// waits for its next attempt.
func TestMixMutexIsReleasedBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.execFail = func(sql string, row []any) error {
			if strings.Contains(sql, `"b"`) && row[0].(int64) == 100 {
				return locked
			}
			return nil
		}
		p := phased(plan.Mix{Clients: 2, Count: 2, Retry: &plan.Retry{Attempts: 2, BackoffUS: 1000}})
		p.Phases[0].Mix.Operations = p.Phases[0].Mix.Operations[1:]
		p.Phases[0].Mix.Operations[0].Mutex = true
		s := mixSample(t, serve(t, f, trialOf(t, p, driver.Settings{"pool_size": "2"})))
		if s.Failed != 1 || distribution(t, s.Latency[0]).P50NS >= 1e6 {
			t.Errorf("the other client waited for the mutex: %+v", s.Latency[0])
		}
		if log := fmt.Sprint(measured(f)); strings.Count(log, "rollback") != 1 {
			t.Error(log) // the function "measured" leaves out the log up to the first rollback
		}
	})
}
