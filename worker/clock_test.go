package worker_test

import (
	"math"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestMixTimeIsOfItsOperations checks that the time of a mix in a closed loop does not include the
// time for generating the parameters of each chunk of operations.
func TestMixTimeIsOfItsOperations(t *testing.T) {
	call := plan.Call{SQL: `INSERT INTO "a" VALUES (?,?,?,?)`, Rows: -1}
	for _, name := range []string{"a", "b", "c", "d"} {
		call.Parameters = append(call.Parameters, plan.Parameter{Name: name, Type: driver.Int,
			Generator: &plan.Generator{Kind: plan.GenZipf, Low: 1, High: 1 << 30, Skew: 1.1}})
	}
	f := newFake()
	p := blog(1, plan.Phase{Name: "mix", Mix: &plan.Mix{Clients: 1, Count: 40_000,
		Operations: []plan.Operation{{Name: "write", Weight: 1, Calls: []plan.MixCall{{Call: call}}}}}})
	s := mixSample(t, serve(t, f, trialOf(t, p, nil)))
	h, err := latency.Decode(s.Latency[0].Histogram)
	if err != nil {
		t.Fatal(err)
	}
	all := h.Summary("")
	wall, sum := float64(s.WallNS), float64(all.MeanNS*all.Count)
	if math.Abs(wall-sum) > wall/100 {
		t.Errorf("%d operations of %d ns on average, but %d ns in all", all.Count, all.MeanNS, s.WallNS)
	}
}
