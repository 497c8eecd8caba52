//go:build unix

package build_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestCacheOfOthers checks that no worker in the cache is used if other users can write to the
// cache's directory, because they could put an executable there.
func TestCacheOfOthers(t *testing.T) {
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	known, err := source.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(t.TempDir(), "cache")
	if err := os.Mkdir(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	ref, err := build.ParseRef(t.Context(), "modernc", known)
	if err != nil {
		t.Fatal(err)
	}
	b := &build.Builder{Source: source, Cache: cache}
	if _, err := b.Built(t.Context(), ref); err != nil {
		t.Error(err)
	}
	for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky, 0o703} {
		if err := os.Chmod(cache, mode); err != nil {
			t.Fatal(err)
		}
		_, _, err := b.Worker(t.Context(), ref, func() { t.Error("it is built") })
		if err == nil || !strings.Contains(err.Error(), "every user of this machine can put files into "+cache) {
			t.Errorf("%v: %v", mode, err)
		}
	}
	for _, c := range []struct {
		owner, user int
		fine        bool
	}{{1000, 1000, true}, {0, 1000, true}, {1001, 1000, false}, {1001, 0, true}} {
		if err := build.OthersWrite("dir", 0o755, c.owner, c.user); (err == nil) != c.fine {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
