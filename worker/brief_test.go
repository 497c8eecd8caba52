package worker_test

import (
	"sync/atomic"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestBrief checks how the field Brief of a request affects the phases that it names. If the field
// names a query, the query is measured, but not executed again to hash its answers. If the field
// names a mix, the database is not checked after the mix, but the mix still has a checksum.
func TestBrief(t *testing.T) {
	for _, brief := range []bool{false, true} {
		f := newFake()
		var executed atomic.Int64 // executions by all clients
		f.answer = func(sql string, params []any) ([]driver.Row, error) {
			if len(params) != 1 {
				return one(sql, params)
			}
			executed.Add(1)
			return []driver.Row{{{Int: params[0].(int64)}}}, nil
		}
		mix := mixOf(plan.Mix{Clients: 1, Count: 10})
		req := trialOf(t, blog(3, selectUsers(1), mix), driver.Settings{"pool_size": "2"})
		hashed, checks := 3, 1
		if brief {
			req.Brief = []string{"query", "mix"}
			hashed, checks = 0, 0
		}
		got := serve(t, f, req)
		query := got[len(got)-5].Sample
		if wanted := int64(12 + hashed); executed.Load() != wanted || (query.Checksum == "") != brief {
			t.Errorf("brief %v: %d executions, want %d; checksum %q", brief, executed.Load(), wanted, query.Checksum)
		}
		if m := mixSample(t, got); f.checks != checks || m.Checksum == "" {
			t.Errorf("brief %v: %d checks of the database, want %d; checksum of the mix %q", brief, f.checks, checks, m.Checksum)
		}
	}
}
