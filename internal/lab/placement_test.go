package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/pagecache"
)

// TestPlacement checks that each executable is read again once per round, however many cases it has in
// the round. If reading takes too much of the run's time, the executable must not be read again.
func TestPlacement(t *testing.T) {
	dir := t.TempDir()
	if err := pagecache.Check(dir); err != nil {
		t.Skipf("files cannot be dropped in %s: %v", dir, err)
	}
	one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
	for _, path := range []string{one, other} {
		if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 1<<20), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var a, b, c Case
	a.Worker, b.Worker, c.Worker = one, one, other
	p := &placement{ran: map[string]map[*Case]bool{}, began: time.Now().Add(-time.Hour)}
	for round := range 3 {
		if got := p.renew([]*Case{&a, &c}); !slices.Equal(got, []string{one, other}) {
			t.Errorf("round %d, first workload: %q was placed, want both", round+1, got)
		}
		if got := p.renew([]*Case{&b}); got != nil {
			t.Errorf("round %d, second workload: %q was placed again", round+1, got)
		}
	}
	p.spent = time.Hour
	if got := p.renew([]*Case{&a}); got != nil {
		t.Errorf("%q was placed, although placing has taken all the time", got)
	}
}

// TestPlacementMissing checks that an executable that can't be opened is not reported as read
// again.
func TestPlacementMissing(t *testing.T) {
	var c Case
	c.Worker = filepath.Join(t.TempDir(), "missing")
	if got := (&placement{}).renew([]*Case{&c}); got != nil {
		t.Errorf("%q was placed", got)
	}
}
