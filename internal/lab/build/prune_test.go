package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPrune checks that workers unused for a long time are removed, and nothing else.
func TestPrune(t *testing.T) {
	cache := t.TempDir()
	now := time.Now()
	long := now.Add(-unusedTime - time.Hour)
	put := func(name, content string, at time.Time) string {
		path := filepath.Join(cache, name)
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sum := strings.Repeat("0", sumLength)
	for _, name := range []string{"old", "used", "recent"} {
		put(name, "a worker", long)
		put(name+sumSuffix, sum, long)
	}
	put("recent"+sumSuffix, sum, now)
	put("gone"+sumSuffix, sum, long)
	put("mine", "not a worker", long)
	put("notes"+sumSuffix, "not a sum", long)
	put("notes", "not a worker", long)
	use(filepath.Join(cache, "used"))
	use(filepath.Join(cache, "absent"))
	prune(cache, now.Add(-unusedTime))
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{"mine", "notes", "notes" + sumSuffix, "recent", "recent" + sumSuffix, useLock, "used", "used" + sumSuffix}
	slices.Sort(want)
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUseWaitsForPrune checks that the function "use" waits while prune removes workers. Otherwise "use"
// could mark a worker that prune then removes.
func TestUseWaitsForPrune(t *testing.T) {
	cache := t.TempDir()
	path := filepath.Join(cache, "worker")
	if err := os.WriteFile(path+sumSuffix, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	lock := lockUse(cache)
	if lock == nil {
		t.Fatal("no lock")
	}
	used := make(chan struct{})
	go func() {
		use(path)
		close(used)
	}()
	select {
	case <-used:
		t.Error("the worker was marked while the cache was locked")
	case <-time.After(20 * time.Millisecond):
	}
	lock.Close()
	<-used
}
