package connpool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

// TestKinds checks that the kinds of all types, with and without NULL, are consecutive numbers.
// Otherwise the compiler would not turn a switch over the kinds into a jump table.
func TestKinds(t *testing.T) {
	var columns []driver.ColumnType
	var want []driver.Type
	for _, nullable := range []bool{false, true} {
		for i := range driver.TypeNames() {
			columns = append(columns, driver.ColumnType{Type: driver.Type(i + 1), Nullable: nullable})
			want = append(want, driver.Type(len(want)+1))
		}
	}
	if diff := cmp.Diff(want, connpool.Kinds(columns)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
