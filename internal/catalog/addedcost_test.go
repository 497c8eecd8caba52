package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

// TestAddedCostLines checks that no percentage is given for an added time whose interval contains 0.
func TestAddedCostLines(t *testing.T) {
	got := addedCostLines(&driver.AddedCost{Phases: []driver.AddedPhase{
		{Phase: "insert", WallRatio: estimate.Estimate{Median: 0.876}, WallAdded: estimate.Estimate{Median: -768, Low: -1100, High: 562}},
		{Phase: "query", WallRatio: estimate.Estimate{Median: 1.05}, WallAdded: estimate.Estimate{Median: 12, Low: 9, High: 15}},
	}})
	want := []string{"sqlite3perf adds, per row or operation: insert -768 ns (-1100 to 562) (no clear difference from 0), query 12 ns (9 to 15) (+5.0%)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
