package rqlite_test

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// busy is a plan with which the node uses much CPU time, and this process almost none.
var busy = &plan.Plan{
	Schema: "CREATE TABLE t(b)",
	Phases: []plan.Phase{{Name: "work", Script: `
		INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT randomblob(100) FROM n;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT count(*) FROM t, n WHERE length(hex(b)) + i > 0`}},
}

// TestSoakNodesAreCharged checks that the CPU time of the nodes counts as the driver's.
func TestSoakNodesAreCharged(t *testing.T) {
	runtime.GC() // so that freeing the memory of other tests costs no CPU time later
	before := ownCPU(t)
	answers := request(t, protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 3, Path: filepath.Join(t.TempDir(), "test.db"), Plan: busy})
	own := ownCPU(t) - before
	for _, a := range answers {
		if a.Type != protocol.TypeSample {
			continue
		}
		if cpu := a.Sample.UserNS + a.Sample.SystemNS; cpu <= own {
			t.Errorf("the sample has %d ns of CPU time, want more than the %d ns that this process alone has used", cpu, own)
		}
		return
	}
	t.Errorf("no sample: %+v", answers[len(answers)-1])
}

func ownCPU(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
