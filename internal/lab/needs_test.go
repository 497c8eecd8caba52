package lab_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// needing returns a workload that needs these features.
func needing(t *testing.T, name, needs string) *workload.Workload {
	t.Helper()
	w, err := workload.Parse(name+".yaml", []byte("name: "+name+"\nneeds: ["+needs+"]\nschema: CREATE TABLE t (a)\n"+
		"rows: {t: {count: 3, columns: {a: serial}}}\nphases: [{name: insert, insert: t}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestNeeds checks which variants of drivers measure workloads that need features of SQLite.
func TestNeeds(t *testing.T) {
	known := []build.Known{
		{Manifest: build.Manifest{Info: driver.Info{Name: "c", Kind: driver.Cgo, Module: "example.com/c"}, Variants: map[string]string{
			"fts5": "tags=z_fts5", "math": "tags=a_math,cflags=-DX"}}, Version: "v1.0.0"},
		{Manifest: build.Manifest{Info: driver.Info{Name: "plain", Module: "example.com/plain"}}},
	}
	fts, both, none := needing(t, "fts", "fts5, rtree"), needing(t, "both", "math, fts5"), needing(t, "none", "")
	for _, tc := range []struct {
		drivers   string
		workloads []*workload.Workload
		sides     bool
		want      string // workload, driver, and the features for which the driver became a variant
	}{
		{"c plain", []*workload.Workload{fts, none}, false, "fts c:tags=z_fts5 [fts5]; fts plain []; none c []; none plain []"},
		{"c@v1.2.0", []*workload.Workload{both}, false, "both c@v1.2.0:tags=a_math+z_fts5,cflags=-DX [math fts5]"},
		{"c:GOGC=400", []*workload.Workload{fts}, false, "fts c:GOGC=400 []"},
		{"c c:tags=z_fts5", []*workload.Workload{fts, none}, false, "fts c:tags=z_fts5 [fts5]; none c []; none c:tags=z_fts5 []"},
		{"c:tags=z_fts5 c", []*workload.Workload{fts}, false, "fts c:tags=z_fts5 [fts5]"},
		{"c plain", []*workload.Workload{fts, none}, true, "fts c:tags=z_fts5 [fts5]; fts plain []; none c:tags=z_fts5 [fts5]; none plain []"},
	} {
		m := &lab.Matrix{Workloads: tc.workloads, Scale: workload.Full, Sides: tc.sides}
		for _, name := range strings.Fields(tc.drivers) {
			ref, err := build.ParseRef(t.Context(), name, known)
			if err != nil {
				t.Fatal(err)
			}
			m.Drivers = append(m.Drivers, ref)
		}
		cases, err := m.Cases()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range cases {
			got = append(got, c.Workload+" "+c.Driver+" ["+strings.Join(c.Needed, " ")+"]")
		}
		if s := strings.Join(got, "; "); s != tc.want {
			t.Errorf("%s: %s, want %s", tc.drivers, s, tc.want)
		}
	}
}

// TestCheckNeeds checks that a case becomes unavailable if its worker lacks a feature.
func TestCheckNeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a real worker")
	}
	t.Parallel()
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	m := &lab.Matrix{Drivers: []build.Ref{find(t, "modernc")}, Workloads: []*workload.Workload{needing(t, "has", "fts5, rtree"), needing(t, "lacks", "fts5, icu")}, Scale: workload.Full}
	cases, err := m.Cases()
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Prepare(t.Context(), cases, &build.Builder{Source: source(t), Cache: cache}, &builds{}); err != nil {
		t.Fatal(err)
	}
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, Hint: "take another"}
	if err := p.CheckNeeds(t.Context(), cases); err != nil {
		t.Fatal(err)
	}
	if cases[0].Unavailable != nil {
		t.Errorf("modernc has the needed features, but the case is unavailable: %+v", cases[0].Unavailable)
	}
	want := protocol.Reason{Code: protocol.CodeFeature, Feature: "icu", Message: "the driver's SQLite lacks ICU, which the workload needs: take another"}
	if r := cases[1].Unavailable; r == nil || r.Code != want.Code || r.Feature != want.Feature || r.Message != want.Message {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// TestSoakVariantsHaveFeatures builds, for each driver, the variant with all features in its
// driver.json. It checks the features of that variant and of the plain driver.
func TestSoakVariantsHaveFeatures(t *testing.T) {
	if testing.Short() {
		t.Skip("builds real workers")
	}
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	b := &build.Builder{Source: source(t), Cache: cache}
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
	known, err := b.Source.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range known {
		if k.Variants == nil {
			continue
		}
		plain := find(t, k.Name)
		variant, by := plain.For(driver.FeatureKeys())
		if len(by) != len(k.Variants) {
			t.Errorf("%s: a variant for %v, want one for %v", k.Name, by, slices.Collect(maps.Keys(k.Variants)))
		}
		for _, ref := range []build.Ref{plain, variant} {
			has := answers(t.Context(), t, b, p, ref)
			for key := range k.Variants {
				if want := ref.Name == variant.Name; has[key] != want {
					t.Errorf("%s: %s: %v, want %v", ref.Name, key, has[key], want)
				}
			}
		}
	}
}

func answers(ctx context.Context, t *testing.T, b *build.Builder, p *lab.Processes, ref build.Ref) map[string]bool {
	t.Helper()
	path, _, err := b.Worker(ctx, ref, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.Features(ctx, ref, path)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for i, f := range driver.Features {
		has[f.Key] = list[i]
	}
	return has
}
