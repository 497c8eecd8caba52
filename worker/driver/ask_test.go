package driver_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func TestReturnsRows(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT 1":                             true,
		" -- why\n select 1":                   true,
		"VALUES (1)":                           true,
		"PRAGMA foreign_keys":                  true,
		"EXPLAIN QUERY PLAN DELETE FROM t":     true,
		"WITH a AS (SELECT 1) SELECT * FROM a": true,
		"WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a":     false,
		"WITH a AS (SELECT 1) DELETE FROM t WHERE x IN a":        false,
		"INSERT INTO t VALUES (1) RETURNING x":                   true,
		"INSERT INTO t VALUES ('RETURNING')":                     false,
		"INSERT INTO t SELECT 1":                                 false,
		"UPDATE t SET x = (SELECT 1)":                            false,
		"CREATE TABLE t (a)":                                     false,
		"CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END": false,
		"BEGIN": false,
		"":      false,
	} {
		if got := driver.ReturnsRows(sql); got != want {
			t.Errorf("%s: %v, want %v", sql, got, want)
		}
	}
}
