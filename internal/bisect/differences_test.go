package bisect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestDifferences checks what is listed as different between two releases.
func TestDifferences(t *testing.T) {
	run := &result.Run{Compares: &result.Compares{Factor: result.FactorDriver, First: "x@v1", Second: "x@v2"}}
	for i, of := range []struct {
		driver string
		proof  protocol.Proof
		linked map[string]string
	}{
		{"x@v1", protocol.Proof{SQLiteVersion: "3.50.0", CompileOptions: []string{"DQS=0", "THREADSAFE=1"}}, map[string]string{"x": "v1", "other": "v7", "same": "v1"}},
		{"x@v2", protocol.Proof{SQLiteVersion: "3.51.0", CompileOptions: []string{"DQS=3", "THREADSAFE=1"}}, map[string]string{"x": "v2", "new": "v8", "same": "v1"}},
	} {
		c := result.Case{ID: i + 1, Driver: of.driver, Linked: of.linked}
		c.Info.Module = "x"
		run.Cases = append(run.Cases, c)
		run.Trials = append(run.Trials, result.Trial{Case: c.ID, Round: 1, Status: result.OK, Proof: &of.proof})
	}
	want := []Difference{
		{"SQLite", "3.50.0", "3.51.0"}, {"compile option", "DQS=0", "DQS=3"},
		{"new", "", "v8"}, {"other", "v7", ""},
	}
	if d := cmp.Diff(want, Differences(&Step{Analysis: stats.Analyze(run, "")})); d != "" {
		t.Error(d)
	}
	if got := Differences(&Step{}); got != nil {
		t.Errorf("%v although nothing was measured", got)
	}
}
