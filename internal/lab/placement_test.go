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

// TestPlacement checks that each executable is placed once per round, however many cases it has in the
// round, and that it is in the page cache afterwards.
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
	p := &placement{}
	for i, round := range []struct{ first, second []string }{
		{[]string{one, other}, nil},
		{[]string{one, other}, nil},
		{[]string{one, other}, nil},
	} {
		p.began = time.Now().Add(-time.Hour) // placing is a small part of the time
		if p.ran == nil {
			p.ran = map[string]map[*Case]bool{}
		}
		if got := p.before([]*Case{&a, &c}); !slices.Equal(got, round.first) {
			t.Errorf("round %d, first workload: %q was placed, want %q", i+1, got, round.first)
		}
		if got := p.before([]*Case{&b}); !slices.Equal(got, round.second) {
			t.Errorf("round %d, second workload: %q was placed, want %q", i+1, got, round.second)
		}
	}
	f, err := os.Open(one)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if placed := p.before([]*Case{&a}); !slices.Equal(placed, []string{one}) {
		t.Errorf("%q was placed, want %q", placed, one)
	}

	p.spent = time.Since(p.began) // placing has taken all of the time
	if got := p.before([]*Case{&a}); got != nil {
		t.Errorf("%q was placed, although placing takes too long", got)
	}
}

// TestPlacementMissing checks that an executable that can't be opened is not placed.
func TestPlacementMissing(t *testing.T) {
	var c Case
	c.Worker = filepath.Join(t.TempDir(), "missing")
	if got := (&placement{}).before([]*Case{&c}); got != nil {
		t.Errorf("%q was placed", got)
	}
}
