package driver_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestAppend checks that Append returns the rows in order, and the same values as Any.
func TestAppend(t *testing.T) {
	spans := []driver.Span{{}, {Off: 0, Len: 1}, {Off: 1, Len: 2}}
	b := driver.Batch{PerExec: 1, Columns: []driver.Column{
		{Type: driver.Int, Ints: []int64{7, 8, 9}},
		{Type: driver.Bool, Ints: []int64{0, 1, 0}, Nulls: []bool{false, false, true}},
		{Type: driver.Time, Ints: []int64{1, 2, 3}},
		{Type: driver.Real, Reals: []float64{1.5, 0, -2.5}},
		{Type: driver.Text, Spans: spans, Data: []byte("abc")},
		{Type: driver.Blob, Spans: spans, Data: []byte("abc")},
	}}
	want := []any{"first", int64(8), int64(1), int64(2), 0.0, "a", []byte("a"), int64(9), nil, int64(3), -2.5, "bc", []byte("bc")}
	if diff := cmp.Diff(want, b.Append([]any{"first"}, 1, 3)); diff != "" {
		t.Errorf("rows 1 and 2: -want +got\n%s", diff)
	}
	var each []any
	for r := range 3 {
		for i := range b.Columns {
			each = append(each, b.Columns[i].Any(r))
		}
	}
	if diff := cmp.Diff(each, b.Append(nil, 0, 3)); diff != "" {
		t.Errorf("-Any +Append\n%s", diff)
	}
}

// TestWithoutC checks which kinds of drivers need no C compiler. A cluster's server contains C, so
// a cluster needs a C compiler even if its client does not.
func TestWithoutC(t *testing.T) {
	for kind, want := range map[driver.Kind]bool{
		driver.Cgo: false, driver.Transpiled: true, driver.Wasm: true, driver.Subprocess: true, driver.Cluster: false, driver.OtherLanguage: false,
	} {
		if kind.WithoutC() != want {
			t.Errorf("%s: WithoutC returned %v", kind, !want)
		}
	}
}
