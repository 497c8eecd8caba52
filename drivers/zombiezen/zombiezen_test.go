package zombiezen_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/drivers/zombiezen"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestDefaultJournal checks that the journal mode is WAL by default, as in the library, and that a
// requested page size takes effect nevertheless.
func TestDefaultJournal(t *testing.T) {
	db, err := zombiezen.New().Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), driver.Settings{"page_size": "8192"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := map[string]string{}
	for _, pragma := range []string{"journal_mode", "page_size"} {
		st, err := db.Prepare(t.Context(), driver.Statement{SQL: "PRAGMA " + pragma, Columns: []driver.ColumnType{{Type: driver.Text}}})
		if err != nil {
			t.Fatal(err)
		}
		err = st.Query(t.Context(), nil, 0, func(r driver.Row) error { got[pragma] = r[0].Text; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"journal_mode": "wal", "page_size": "8192"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
