package worker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// mixOf returns a mix of a read and a transaction that writes twice.
func mixOf(m plan.Mix) plan.Phase {
	id := plan.Parameter{Name: "id", Type: driver.Int, Generator: &plan.Generator{Kind: plan.GenSerial, Low: 100, Step: 1}}
	m.Operations = []plan.Operation{
		{Name: "read", Weight: 3, Calls: []plan.MixCall{{Call: plan.Call{SQL: "SELECT 1", Rows: 1, Columns: []driver.ColumnType{{Type: driver.Int}}}}}},
		{Name: "write", Weight: 1, Transaction: true, Calls: []plan.MixCall{
			{Call: plan.Call{SQL: `INSERT INTO "a" VALUES (?)`, Parameters: []plan.Parameter{id}, Rows: -1}},
			{Call: plan.Call{SQL: `INSERT INTO "b" VALUES (?)`, Parameters: []plan.Parameter{id}, Rows: -1}},
		}},
	}
	return plan.Phase{Name: "mix", Mix: &m}
}

func one(string, []any) ([]driver.Row, error) { return []driver.Row{{{Int: 1}}}, nil }

func mixSample(t *testing.T, got []protocol.Response) *protocol.Sample {
	t.Helper()
	if last := got[len(got)-1]; last.Type != protocol.TypeDone {
		t.Fatalf("ended with %+v", last.Reason)
	}
	return got[len(got)-2].Sample
}

func TestMix(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own connection %v", own), func(t *testing.T) {
			f := newFake()
			f.answer = one
			p := blog(1, mixOf(plan.Mix{Clients: 3, Count: 1000, OwnConn: own}))
			p.Schema = "PHASES"
			s := mixSample(t, serve(t, f, trialOf(t, p, driver.Settings{"pool_size": "3"})))
			reads, writes := s.Latency[0].Count, s.Latency[1].Count
			if s.Operations != 1000 || reads+writes != 1000 || s.Rows != reads {
				t.Errorf("sample %+v", s)
			}
			if writes < 200 || writes > 300 {
				t.Errorf("%d writes of 1000, at a weight of 1 in 4", writes)
			}
			if f.open != 0 {
				t.Errorf("%d connections were not returned to the pool", f.open)
			}
			// After the verification pass, each number must have been inserted once by each of
			// the two statements of a transaction, so no two clients have inserted the same
			// number.
			log := story(f)
			log = log[slices.Index(log, "rollback")+1:]
			seen := map[string]int{}
			for _, line := range log {
				seen[line]++
			}
			if int64(seen["begin"]) != writes || int64(seen["commit"]) != writes {
				t.Errorf("%d begins and %d commits for %d writes", seen["begin"], seen["commit"], writes)
			}
			for line, n := range seen {
				if table, id, ok := strings.Cut(line, " "); ok && len(table) == 1 && (n != 1 || seen["a "+id] != 1 || seen["b "+id] != 1) {
					t.Errorf("%q was logged %d times, want each INSERT once, and in both tables", line, n)
				}
			}
		})
	}
}

func TestMixSameWork(t *testing.T) {
	run := func() []string {
		f := newFake()
		f.answer = one
		p := blog(1, mixOf(plan.Mix{Clients: 1, Count: 500}))
		p.Schema = "PHASES"
		mixSample(t, serve(t, f, trialOf(t, p, nil)))
		return story(f)
	}
	if diff := cmp.Diff(run(), run()); diff != "" {
		t.Error(diff)
	}
}

func TestMixCountsLockErrors(t *testing.T) {
	f := newFake()
	f.answer = one
	f.execFail = func(sql string, row []any) error {
		if strings.Contains(sql, `"b"`) && row[0].(int64)%2 == 0 && slices.Contains(story(f), "rollback") {
			return &driver.Error{Code: 517, Err: errors.New("database is locked")}
		}
		return nil
	}
	p := blog(1, mixOf(plan.Mix{Clients: 1, Count: 100}))
	p.Schema = "PHASES"
	s := mixSample(t, serve(t, f, trialOf(t, p, nil)))
	if len(s.Errors) != 1 || s.Errors[0].Code != 517 || s.Errors[0].Name != "SQLITE_BUSY_SNAPSHOT" || s.Errors[0].Count == 0 {
		t.Fatalf("errors %+v", s.Errors)
	}
	if s.Operations != 100 || s.Failed != s.Errors[0].Count || s.Latency[1].Failed != s.Failed || s.Latency[0].Count+s.Latency[1].Count != 100 {
		t.Errorf("%d operations, %d failed, errors %+v, latency %+v", s.Operations, s.Failed, s.Errors, s.Latency)
	}
	rollbacks := int64(-1) // -1, because the rollback of the verification pass, before the clock starts, does not count
	for _, line := range story(f) {
		if line == "rollback" {
			rollbacks++
		}
	}
	if rollbacks != s.Errors[0].Count {
		t.Errorf("%d rollbacks for %d errors", rollbacks, s.Errors[0].Count)
	}
}

func TestMixEndsAtOtherErrors(t *testing.T) {
	f := newFake()
	f.answer = one
	f.execFail = func(sql string, _ []any) error {
		if strings.HasPrefix(sql, "INSERT") {
			return &driver.Error{Code: 13, Err: errors.New("database or disk is full")}
		}
		return nil
	}
	got := serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 2, Count: 100})), driver.Settings{"pool_size": "2"}))
	if last := got[len(got)-1]; last.Type != protocol.TypeFailed || last.Reason.Code != "disk-full" {
		t.Errorf("answered %+v", last)
	}
}

func TestMixDuration(t *testing.T) {
	f := newFake()
	f.answer = one
	s := mixSample(t, serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 2, DurationMS: 20})), driver.Settings{"pool_size": "2"})))
	if s.Operations < 1 {
		t.Errorf("sample %+v", s)
	}
}

func TestMixRate(t *testing.T) {
	f := newFake()
	f.answer = one
	s := mixSample(t, serve(t, f, trialOf(t, blog(1, mixOf(plan.Mix{Clients: 2, Count: 50, Rate: 5000})), driver.Settings{"pool_size": "2"})))
	if s.Operations != 50 {
		t.Errorf("sample %+v", s)
	}
}
