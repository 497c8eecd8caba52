package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/workload"
)

// TestStandalone checks that the output of --yaml is the same workload in any place.
func TestStandalone(t *testing.T) {
	for _, name := range workload.Builtins() {
		w, err := workload.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := standalone(w)
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
