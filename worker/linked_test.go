package worker_test

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestEnvironment checks that a proof has the variables that the request names. Variables of Go's
// runtime must have the value that the runtime uses. Other variables must be present only if they
// are set.
func TestEnvironment(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(3 << 30))
	t.Setenv("GOGC", "50")
	t.Setenv("SQLITE3PERF_TEST_EMPTY", "")
	t.Setenv("SQLITE3PERF_TEST_SET", "blue")
	environment := func(names ...string) map[string]string {
		t.Helper()
		req := trialOf(t, blog(1), nil)
		req.Environment = names
		got := serve(t, newFake(), req)
		for _, a := range got {
			if a.Type == protocol.TypeReady {
				return a.Proof.Environment
			}
		}
		t.Fatalf("no proof in %+v", got)
		return nil
	}
	if got := environment(); len(got) > 0 {
		t.Errorf("without names: %v", got)
	}
	want := map[string]string{
		"GOGC": "400", "GOMEMLIMIT": strconv.FormatInt(3<<30, 10), "GOMAXPROCS": strconv.Itoa(runtime.GOMAXPROCS(0)),
		"SQLITE3PERF_TEST_EMPTY": "", "SQLITE3PERF_TEST_SET": "blue",
	}
	got := environment("GOGC", "GOMEMLIMIT", "GOMAXPROCS", "SQLITE3PERF_TEST_EMPTY", "SQLITE3PERF_TEST_SET", "SQLITE3PERF_TEST_ABSENT")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(1<<63 - 1)
	if d := cmp.Diff(map[string]string{"GOGC": "off", "GOMEMLIMIT": "off"}, environment("GOGC", "GOMEMLIMIT")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
