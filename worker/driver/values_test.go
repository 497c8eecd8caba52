package driver_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func TestKey(t *testing.T) {
	ints := driver.Column{Type: driver.Int, Ints: []int64{7, 8}}
	nulls := ints
	nulls.Nulls = make([]bool, 2)
	times := ints
	times.Type = driver.Time
	for name, step := range map[string]struct {
		columns []driver.Column
		is      bool
	}{
		"an integer":         {[]driver.Column{ints}, true},
		"two integers":       {[]driver.Column{ints, ints}, false},
		"an integer or NULL": {[]driver.Column{nulls}, false},
		"a time":             {[]driver.Column{times}, false},
		"a text":             {[]driver.Column{{Type: driver.Text, Spans: make([]driver.Span, 2)}}, false},
		"nothing, so no key": {nil, false},
	} {
		b := driver.Batch{Columns: step.columns, PerExec: 1}
		key, ok := b.Key(1)
		if ok != step.is || ok && key != 8 {
			t.Errorf("%s: %d, %v", name, key, ok)
		}
	}
}

// TestWithoutC checks which kinds of drivers need no C compiler. A cluster's server contains C, so
// a cluster needs one even if its client does not.
func TestWithoutC(t *testing.T) {
	for kind, want := range map[driver.Kind]bool{
		driver.Cgo: false, driver.Transpiled: true, driver.Wasm: true, driver.Subprocess: true, driver.Cluster: false, driver.OtherLanguage: false,
	} {
		if kind.WithoutC() != want {
			t.Errorf("%s: %v", kind, !want)
		}
	}
}
