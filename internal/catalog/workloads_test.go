package catalog

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestStandalone checks the output of "sqlite3perf workloads --yaml" for each built-in workload. It must
// resolve to the same plans as the workload itself, without any other files.
func TestStandalone(t *testing.T) {
	for _, name := range workload.Builtins() {
		w, err := workload.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Standalone(w)
		if err != nil {
			t.Fatal(err)
		}
		again, err := workload.Parse("mine.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, scale := range []string{workload.Full, workload.Quick} {
			want, err := w.Plan(scale, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := again.Plan(scale, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: -built-in +printed:\n%s", name, d)
			}
		}
	}
}

// TestSayUnset checks that a run of several drivers prints once which settings it does not set, so
// that each driver uses its own default.
func TestSayUnset(t *testing.T) {
	cases := func(set driver.Settings, drivers ...string) (list []*lab.Case) {
		for _, yaml := range []string{"name: bare\nsettings: {pool_size: 2}\n", "name: set\nsettings: {journal_mode: wal, synchronous: off, busy_timeout: 0}\n"} {
			w, err := workload.Parse("w.yaml", []byte(yaml+"phases: [{name: s, script: VACUUM}]\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range drivers {
				c := &lab.Case{Source: w}
				c.Workload, c.Driver, c.Settings = w.Name, d, w.Settings.With(set)
				list = append(list, c)
			}
		}
		return list
	}
	const bare = "defaults: bare doesn't set busy_timeout, journal_mode or synchronous, so each driver uses its own default; " +
		"give --set busy_timeout=5s --set journal_mode=wal --set synchronous=normal"
	for _, tc := range []struct {
		cases []*lab.Case
		want  []string
	}{
		{cases(nil, "mattn"), nil},
		{cases(nil, "mattn", "modernc", "native"), []string{bare}},
		{cases(driver.Settings{"journal_mode": "delete", "synchronous": "full", "busy_timeout": "0"}, "mattn", "modernc"), nil},
	} {
		var got []string
		SayUnset(tc.cases, "--set", func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) })
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
}
