package workload_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// FuzzParse parses arbitrary input. Parsing must not panic, and every problem must have a
// position. If no problem is found, it must be possible to generate rows.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"builtin/*.yaml", "testdata/good/*.yaml", "testdata/bad/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for _, script := range append(slices.Collect(maps.Keys(reaching)), within...) {
		f.Add(fmt.Appendf(nil, "name: x\nschema: %q\nphases: [{name: p, script: ANALYZE}]\n", script))
	}
	f.Add([]byte("name: x\nrows: {t: {count: 5, columns: {a0: {text: 9}" + doubled(12) + "}}}\nphases: [{name: p, insert: t}]\n"))
	f.Add([]byte("name: x\nrows: {s0: {count: 1, columns: {a: 1}}" + nested(22) + "}\nphases: [{name: p, script: ANALYZE}]\n"))
	fsys := os.DirFS("builtin")
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := workload.Parse("fuzz.yaml", data, fsys)
		if err != nil {
			var problems workload.Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("error %v", err)
			}
			for _, p := range problems {
				if p.File != "fuzz.yaml" || p.Line < 1 || p.Column < 1 || p.Message == "" || len(p.Message) > 900 {
					t.Errorf("problem %+v", p)
				}
			}
			return
		}
		p, err := w.Plan("quick", nil)
		if err != nil {
			t.Fatal(err)
		}
		large := int64(0)
		for _, d := range p.DataSets {
			for _, c := range d.Columns {
				large = max(large, c.Generator.High, c.Generator.Times)
			}
		}
		if large > 1<<24 { // a value of so many bytes is valid, but generating it is slow
			return
		}
		g, err := plan.NewGenerator(1, p)
		if err != nil {
			t.Fatal(err)
		}
		var b driver.Batch
		for _, d := range p.DataSets {
			if err := g.Fill(&b, d.Name, 0, min(d.Total, 3, g.RowsFitting(d.Name))); err != nil {
				t.Error(err)
			}
		}
		for _, ph := range p.Phases {
			if q := ph.Query; q != nil {
				if err := g.FillParameters(&b, ph.Name, q.Parameters, q.ForEach, 0, 1, 2); err != nil {
					t.Error(err)
				}
			}
			if m := ph.Mix; m != nil {
				for _, op := range m.Operations {
					for _, c := range op.Calls {
						if err := g.FillParameters(&b, ph.Name+"."+op.Name, c.Parameters, "", 0, 1, 2); err != nil {
							t.Error(err)
						}
					}
				}
			}
		}
	})
}
