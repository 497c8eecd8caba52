package connpool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

// TestKinds expects a kind of its own for each type, NULL or not, without gaps:
// that is what makes a jump table of a switch.
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
