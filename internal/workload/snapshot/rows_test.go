package snapshot

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestRows checks how Rows encodes values. If a value cannot be encoded, the error must give its
// row and column, but not the value.
func TestRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	open(t, path, "CREATE TABLE t(id INTEGER PRIMARY KEY, d DATE, b BOOLEAN, r REAL, x)",
		`INSERT INTO t VALUES (1, '2024-01-02', 1, 2, x'00ff'), (2, '2024-01-03', 0, 0.25, 'secret'), (3, NULL, 7, 9e999, x'73ff')`).Close()
	s := taken(t, path)
	for _, test := range []struct {
		query string
		typ   driver.ColumnType
		want  string
	}{
		{"SELECT id FROM t ORDER BY id DESC", anInt, "3 2 1"},
		{"SELECT d FROM t ORDER BY id -- a comment", maybes, `"2024-01-02" "2024-01-03" null`},
		{"SELECT b FROM t WHERE id < 3 ORDER BY id", driver.ColumnType{Type: driver.Bool}, "1 0"},
		{"SELECT r FROM t WHERE id < 3 ORDER BY id", driver.ColumnType{Type: driver.Real}, "2 0.25"},
		{"SELECT id FROM t WHERE id = 1", driver.ColumnType{Type: driver.Real}, "1"},
		{"SELECT x FROM t WHERE id = 1", driver.ColumnType{Type: driver.Blob}, `"00ff"`},
		{"WITH u AS (SELECT id FROM t) SELECT id FROM u ORDER BY 1", anInt, "1 2 3"},
		{"VALUES (9007199254740993)", anInt, "9007199254740993"},
	} {
		if got := column(t, s, test.query, test.typ); got != test.want {
			t.Errorf("%s: %s, want %s", test.query, got, test.want)
		}
	}
	for _, test := range []struct {
		query string
		typ   driver.ColumnType
		want  string
	}{
		{"SELECT d FROM t ORDER BY id", aText, "column d of row 3 is NULL, and declared text: write text or null"},
		{"SELECT x FROM t WHERE id = 2", anInt, "column x of row 1 is text, and declared int: write text, or CAST it in the query"},
		{"SELECT b FROM t ORDER BY id", driver.ColumnType{Type: driver.Bool}, "column b of row 3 is neither 0 nor 1"},
		{"SELECT r FROM t ORDER BY id", driver.ColumnType{Type: driver.Real}, "column r of row 3 is infinite"},
		{"SELECT CAST(x AS TEXT) AS y FROM t WHERE id = 3", aText, "column y of row 1 is not UTF-8"},
		{"SELECT id, d FROM t", anInt, "its rows have 2 columns, and columns lists 1"},
		{"SELECT id FROM t WHERE id > 9", anInt, "it returns no rows"},
		{"SELECT nope FROM t", anInt, "no such column: nope"},
		{"DELETE FROM t", anInt, "syntax error"},
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", anInt, "more than 100000 rows: end it with LIMIT 100000"},
		{"SELECT hex(zeroblob(9000000)) AS z", aText, "its values have more than 16 MiB"},
		{"SELECT length(hex(zeroblob(60000000))) AS z", anInt, "string or blob too big"},
	} {
		_, err := s.Rows(t.Context(), test.query, []driver.ColumnType{test.typ})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", test.query, err, test.want)
		}
	}
}

// TestStrangersQuery checks that a query cannot attach or write other files, not even by ending the SELECT
// around it. A query that does not end must be stopped, and later queries must be refused.
func TestStrangersQuery(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	open(t, path, "CREATE TABLE t(id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)").Close()
	s := taken(t, path)
	other := filepath.Join(t.TempDir(), "other.db")
	for _, sql := range []string{"ATTACH '" + path + "' AS y", "VACUUM INTO '" + other + "'"} {
		query := "SELECT 1 AS x) LIMIT 1; " + sql + "; SELECT * FROM (SELECT 2 AS x" // the query ends the SELECT that Rows writes around it, and begins another SELECT
		if _, err := s.Rows(t.Context(), query, []driver.ColumnType{anInt}); err == nil {
			t.Errorf("%s: no error", sql)
		}
	}
	if list := listing(t, filepath.Dir(other)); len(list) > 0 {
		t.Errorf("a query has created the files %v", list)
	}
	conn, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if most, err := sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_ATTACHED, -1); err != nil || most != 0 {
		t.Errorf("%d databases can be attached: %v", most, err)
	}
	conn.Close()
	defer func(before time.Duration) { rowsTime = before }(rowsTime)
	rowsTime = 100 * time.Millisecond
	_, err = s.Rows(t.Context(), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", []driver.ColumnType{anInt})
	if err == nil || !strings.Contains(err.Error(), "it did not end within 100ms: end it with a LIMIT") {
		t.Error(err)
	}
	if _, err := s.Rows(t.Context(), "SELECT id FROM t", []driver.ColumnType{anInt}); err == nil || !strings.Contains(err.Error(), "another query did not end") {
		t.Error(err)
	}
}
