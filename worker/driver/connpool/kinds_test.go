package connpool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

// TestKinds expects a separate kind for each type, NULL or not, without gaps.
// Otherwise the compiler does not turn a switch into a jump table.
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
