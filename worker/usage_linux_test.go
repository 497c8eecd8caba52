package worker_test

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestChildCPU checks that the CPU time of a living child is known to the nanosecond,
// not only to the 10 ms tick of /proc.
func TestChildCPU(t *testing.T) {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = busy.Process.Kill()
		_ = busy.Wait() // the error says that the process was killed
	}()
	first := int64(0)
	for range 1000 {
		user, system := worker.LivingChildrenCPU()
		sum := user + system
		if user < 0 || system < 0 || sum < first {
			t.Fatalf("user %d ns, system %d ns: want both at least 0, and a sum of at least %d ns", user, system, first)
		}
		if first > 0 && sum > first && (sum-first)%1e7 != 0 {
			return
		}
		if first == 0 {
			first = sum
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("the CPU time changed only by whole ticks of 10 ms, beginning at %d ns", first)
}

func TestShares(t *testing.T) {
	for given, want := range map[[2]int64][2]int64{
		{5, 7}: {5, 7}, {-5, 7}: {0, 2}, {7, -5}: {2, 0}, {0, 0}: {0, 0},
	} {
		if user, system := worker.Shares(given[0], given[1]); user != want[0] || system != want[1] {
			t.Errorf("%v: %d, %d; want %v", given, user, system, want)
		}
	}
}

// TestMixCPUIsOfItsOperations checks that the CPU time of a mix does not include the CPU time for
// generating parameters between two chunks of operations. In this test, generating takes most of
// the CPU time.
func TestMixCPUIsOfItsOperations(t *testing.T) {
	s := mixSample(t, serve(t, quietFake(), trialOf(t, costlyParameters(), nil)))
	if cpu := s.UserNS + s.SystemNS; cpu > 20*s.WallNS {
		t.Errorf("CPU time of %d ns in %d ns, on one thread", cpu, s.WallNS)
	}
}

func quietFake() *fake {
	f := newFake()
	f.quiet = true
	return f
}

// costlyParameters returns a plan whose mix takes longer to generate parameters than to use them.
func costlyParameters() *plan.Plan {
	call := plan.Call{SQL: `INSERT INTO "a" VALUES (?)`, Rows: -1}
	for i := range 30 {
		call.Parameters = append(call.Parameters, plan.Parameter{Name: fmt.Sprint("p", i), Type: driver.Int,
			Generator: &plan.Generator{Kind: plan.GenZipf, Low: 1, High: 1 << 30, Skew: 1.1}})
	}
	return blog(1, plan.Phase{Name: "mix", Mix: &plan.Mix{Clients: 1, Count: 40_000,
		Operations: []plan.Operation{{Name: "write", Weight: 1, Calls: []plan.MixCall{{Call: call}}}}}})
}
