package lab_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// builds records the progress that Prepare reports.
type builds struct{ lines []string }

func (b *builds) Building(i, n int, name string) { b.lines = append(b.lines, "building "+name) }
func (b *builds) Built(i, n int, name string, err error) {
	line := "built " + name
	if err != nil {
		line = "not built " + name
	}
	b.lines = append(b.lines, line)
}

// TestPrepare checks that a driver that cannot be built makes only its own cases
// unavailable.
func TestPrepare(t *testing.T) {
	s, ref := clone(t)
	broken := ref
	broken.Name, broken.Version = "toy@v9.9.9", "v9.9.9"
	known := *ref.Known
	known.Dir = t.TempDir() // a module without a worker
	write(t, known.Dir, map[string]string{"go.mod": "module example.com/toy\n"})
	broken.Known = &known
	good, silent := faulty(t, "none"), faulty(t, "silent")
	var cases []*lab.Case
	for range 2 {
		for _, r := range []build.Ref{ref, broken, {Name: "./good", Path: good}, {Name: "./silent", Path: silent}} {
			c := &lab.Case{Ref: r}
			c.ID, c.Driver = len(cases)+1, r.Name
			if r.Known != nil {
				c.Info = r.Known.Info
			}
			cases = append(cases, c)
		}
	}
	var told builds
	if err := lab.Prepare(t.Context(), cases, &build.Builder{Source: s, Cache: t.TempDir()}, &told); err != nil {
		t.Fatal(err)
	}
	want := []string{"building toy", "building toy@v9.9.9", "built toy", "not built ./silent", "not built toy@v9.9.9"}
	slices.Sort(told.lines) // workers are built at the same time, so the order varies
	if d := cmp.Diff(want, told.lines); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, c := range cases {
		code := map[string]string{"toy@v9.9.9": "build", "./silent": "start"}[c.Driver]
		if (c.Unavailable == nil) != (code == "") || c.Unavailable != nil && c.Unavailable.Code != code {
			t.Errorf("case %d of %s: %+v", c.ID, c.Driver, c.Unavailable)
		}
	}
	if c := cases[6]; c.Worker != good || c.Info.Name != "pretender" {
		t.Errorf("%+v", c.Case)
	}
	if c := cases[4]; c.Worker == "" || c.Info.Name != "toy" || c.Build["module_version"] != "v1.0.0" || c.Linked[c.Info.Module] != "v1.0.0" {
		t.Errorf("%+v", c.Case)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range cases {
		c.Unavailable = (*protocol.Reason)(nil)
		if err := lab.Prepare(ctx, []*lab.Case{c}, &build.Builder{Source: s, Cache: t.TempDir()}, &told); !errors.Is(err, context.Canceled) || c.Unavailable != nil {
			t.Errorf("%s when cancelled: %v, %+v", c.Driver, err, c.Unavailable)
		}
	}
}
