package worker_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
)

// What a living child uses is known to the nanosecond, not to the tick of 10 ms
// that /proc has.
func TestChildCPU(t *testing.T) {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = busy.Process.Kill()
		_ = busy.Wait() // it was killed
	}()
	first := int64(0)
	for range 1000 {
		user, system := worker.LivingChildrenCPU()
		sum := user + system
		if user < 0 || system < 0 || sum < first {
			t.Fatalf("user %d, system %d, after %d", user, system, first)
		}
		if first > 0 && sum > first && (sum-first)%1e7 != 0 {
			return
		}
		if first == 0 {
			first = sum
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("no part of a tick beyond %d ns", first)
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
