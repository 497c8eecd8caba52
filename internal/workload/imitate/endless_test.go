package imitate_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
)

// endless is an expression that takes practically forever.
const endless = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000000) SELECT count(*) FROM n)"

// TestEndlessTrigger checks a trigger that computes forever. It must be left out and listed.
func TestEndlessTrigger(t *testing.T) {
	imitate.Impatient(t, time.Second)
	path := create(t, "app", func(t *testing.T, db *sql.DB) {
		execute(t, db, "CREATE TABLE a(id INTEGER PRIMARY KEY, x TEXT); CREATE TABLE log(n)")
		execute(t, db, "INSERT INTO a(x) VALUES ('one'), ('two'), ('three')")
		execute(t, db, "CREATE TRIGGER bomb AFTER INSERT ON a BEGIN INSERT INTO log SELECT "+endless+"; END")
	})
	w, _ := imitateFile(t, path, imitate.Options{})
	if notes := strings.Join(w.Notes, "\n"); !strings.Contains(notes, "trigger bomb is left out: generated rows make it fail: from row 0: it takes too long: a trigger,") {
		t.Errorf("notes:\n%s", notes)
	}
}
