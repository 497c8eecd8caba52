package machine_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
)

func TestLook(t *testing.T) {
	dir := t.TempDir()
	r, err := machine.Look(dir)
	if err != nil || r.Fsync <= 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	if known := r.Load >= 0; known != (runtime.GOOS != "windows") {
		t.Errorf("got load %v", r.Load)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := machine.Look(filepath.Join(dir, "absent")); err == nil {
		t.Error("no error for a directory that is absent")
	}
}

func TestMedianOf(t *testing.T) {
	for _, c := range []struct {
		of   []time.Duration
		want time.Duration
	}{
		{[]time.Duration{5}, 5},
		{[]time.Duration{9, 1}, 5},
		{[]time.Duration{9, 1, 2}, 2},
		{[]time.Duration{4, 100, 1, 2}, 3},
	} {
		if got := machine.MedianOf(c.of); got != c.want {
			t.Errorf("%v: got %d, want %d", c.of, got, c.want)
		}
	}
}

// TestCalibrationWork checks that the work of Calibrate is the same on all machines and in all versions.
// Otherwise its times could not be compared.
func TestCalibrationWork(t *testing.T) {
	table := machine.NewTable()
	at, steps := table[0], 1
	for ; at != 0; steps++ {
		at = table[at]
	}
	if steps != len(table) {
		t.Errorf("the cycle has %d places of %d", steps, len(table))
	}
	const want = 0x98ac938f169d0dc9
	if got := machine.Work(table); got != want {
		t.Errorf("work gave %#x, want %#x", got, uint64(want))
	}
	if d := machine.Calibrate(); d <= 0 {
		t.Errorf("Calibrate took %v", d)
	} else {
		t.Logf("Calibrate took %v", d)
	}
}

func BenchmarkCalibrate(b *testing.B) {
	var total time.Duration
	for b.Loop() {
		total += machine.Calibrate()
	}
	b.ReportMetric(float64(total)/float64(b.N), "reported-ns/op")
}
