package workload_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// TestOnlyReads checks OnlyReads with queries, inserts, scripts and mixes. Only timed phases may count.
func TestOnlyReads(t *testing.T) {
	for phase, want := range map[string]bool{
		"query: SELECT a FROM t, columns: int":                             true,
		"query: 'WITH x AS (SELECT 1 AS b) SELECT b FROM x', columns: int": true,
		"query: 'DELETE FROM t RETURNING a', columns: int":                 false,
		"insert: t":       false,
		"script: ANALYZE": false,
		"mix: [{name: one, sql: SELECT a FROM t, columns: int}], count: 10":                                  true,
		"mix: [{name: one, sql: SELECT a FROM t, columns: int}, {name: two, sql: DELETE FROM t}], count: 10": false,
	} {
		w, err := workload.Parse("w.yaml", []byte("name: w\nabout: x\nschema: CREATE TABLE t(a INTEGER);\nrows: {t: {count: 10, columns: {a: {serial: 1}}}}\nphases:\n  - {name: load, untimed: true, insert: t}\n  - {name: p, "+phase+"}\n"), nil)
		if err != nil {
			t.Fatalf("%s: %v", phase, err)
		}
		p, err := w.Plan(workload.Quick, nil)
		if err != nil {
			t.Fatalf("%s: %v", phase, err)
		}
		if got := workload.OnlyReads(p); got != want {
			t.Errorf("%s: %v", phase, got)
		}
	}
}
