package imitate_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
)

// TestNoTables checks the error for a database without tables.
func TestNoTables(t *testing.T) {
	path := create(t, "app", func(t *testing.T, db *sql.DB) { execute(t, db, "PRAGMA user_version = 1") })
	source, err := imitate.Open(t.Context(), path, t.TempDir())
	if err == nil {
		source.Close()
		t.Fatal("a database without tables was opened")
	}
	if want := "database " + path + ": it has no tables"; !strings.HasPrefix(err.Error(), want) || !errors.Is(err, imitate.ErrNoTables) {
		t.Errorf("%v, want %q", err, want)
	}
}
