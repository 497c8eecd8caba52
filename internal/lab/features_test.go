package lab_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestFeatures asks two real libraries without C for their features. It then runs a trial that
// needs FTS4, which neither library has.
func TestFeatures(t *testing.T) {
	if testing.Short() {
		t.Skip("builds real workers")
	}
	t.Parallel()
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	b := &build.Builder{Source: source(t), Cache: cache}
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, Hint: "take another"}
	for name, want := range map[string]map[string]bool{
		"ncruces": {"fts5": true, "rtree": true, "geopoly": true, "json": true, "fts4": false, "icu": false, "sessions": false, "returning": true},
		"modernc": {"fts5": true, "rtree": true, "dbstat": true, "fts4": false, "icu": false, "sessions": true, "returning": true},
	} {
		ref := find(t, name)
		path, _, err := b.Worker(t.Context(), ref, nil)
		if err != nil {
			t.Fatal(err)
		}
		has, err := p.Features(t.Context(), ref, path)
		if err != nil {
			t.Fatal(err)
		}
		for key, yes := range want {
			i := slices.IndexFunc(driver.Features, func(f driver.Feature) bool { return f.Key == key })
			if has[i] != yes {
				t.Errorf("%s: %s: %v, want %v", name, key, has[i], yes)
			}
		}

		// A trial whose schema needs a missing feature fails with a reason that names the
		// feature.
		c := &lab.Case{Ref: ref, Plan: &plan.Plan{Schema: "CREATE VIRTUAL TABLE t USING fts4(x)"}}
		c.Driver, c.Worker = name, path
		c.Settings = driver.Settings{"pool_size": "1", "journal_mode": "memory", "synchronous": "off"}
		for _, tc := range []struct{ hint, want string }{
			{"", "take another"}, {"import it", "import it"},
		} {
			with := *c.Ref.Known
			with.Obtain = map[string]string{"fts4": tc.hint}
			c.Ref.Known = &with
			got, err := p.Trial(t.Context(), c, 1)
			if err != nil {
				t.Fatal(err)
			}
			r := got.Reason
			if got.Status != result.Failed || r == nil || r.Code != "feature" || r.Feature != "fts4" ||
				!strings.Contains(r.Message, "no such module: fts4") || !strings.Contains(r.Message, "lacks FTS4") || !strings.Contains(r.Message, tc.want) {
				t.Errorf("%s: %s, %+v", name, got.Status, r)
			}
		}
	}
}
