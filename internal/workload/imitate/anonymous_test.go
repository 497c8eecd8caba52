package imitate_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
)

// TestPaths checks that JSON paths are kept where SQLite expects them. A text that only begins like
// a path must be replaced.
func TestPaths(t *testing.T) {
	path := create(t, "paths", func(t *testing.T, db *sql.DB) {
		execute(t, db, `
			CREATE TABLE users (
				id INTEGER PRIMARY KEY, body TEXT NOT NULL,
				hash TEXT DEFAULT '$2b$12$SECRETHASH', pointer TEXT DEFAULT '$.private.key', top TEXT DEFAULT ('$' || 'ecret'),
				owner TEXT AS (json_extract(body, '$.owner')), first TEXT AS (body -> '$.tags[0]'), last TEXT AS (body ->> '$.tags[#-1]'),
				odd TEXT AS (json_extract(body, "$.""an odd key""")), key TEXT AS (body ->> 'kind')
			);
			CREATE VIEW odd AS SELECT json_extract(body, iif(id > 5, '$.a-b', '$')), json_object('h', '$2b$12$OTHERHASH'), json_extract(body, '$.' || hash) FROM users;
		`)
		fill(t, db, "INSERT INTO users(body) VALUES (?)", 1200, func(i int) []any { return []any{fmt.Sprintf(`{"owner": "%d"}`, i)} })
	})
	w, _ := imitateFile(t, path, imitate.Options{})
	for _, words := range []string{`json_extract(body, '$.owner')`, `'$.tags[0]'`, `'$.tags[#-1]'`, `"$.""an odd key"""`, `'kind'`, `'$.a-b', '$'`, `'$.' || hash`, `"owner\":`} {
		if !strings.Contains(w.YAML, words) {
			t.Errorf("the workload lacks %s", words)
		}
	}
	for _, words := range []string{"SECRETHASH", "OTHERHASH", "private", "ecret'"} {
		if strings.Contains(w.YAML, words) {
			t.Errorf("%s is in the workload", words)
		}
	}
	if t.Failed() {
		t.Log(w.YAML)
	}
}

// TestSmallIntegers checks that integers below 1000 are kept, in rows and in the schema. They
// must also be kept next to larger integers in a column with few distinct values.
func TestSmallIntegers(t *testing.T) {
	path := create(t, "numbers", func(t *testing.T, db *sql.DB) {
		execute(t, db, "CREATE TABLE numbers (id INTEGER PRIMARY KEY, few INTEGER, wide INTEGER DEFAULT 42, large INTEGER); CREATE INDEX high ON numbers(wide) WHERE wide > 750; CREATE INDEX larger ON numbers(large) WHERE large > 61234")
		fill(t, db, "INSERT INTO numbers VALUES (?, ?, ?, ?)", 3000, func(i int) []any { return []any{i + 1, 990 + i%11, i * 7 % 988, i * 7 % 3000 * 33} })
	})
	w, c := imitateFile(t, path, imitate.Options{})
	for _, words := range []string{"{990: 91, 991: 91, ", ", 999: 91, 1010: 91}", "DEFAULT 42", "wide > 750", "large > 60000"} {
		if !strings.Contains(w.YAML, words) {
			t.Errorf("the workload lacks %q", words)
		}
	}
	if !strings.Contains(w.YAML, ", 987]}") && !strings.Contains(w.YAML, ", 986]}") {
		t.Error("the upper bound of a range is not kept")
	}
	for i := range c.Queries {
		if q := &c.Queries[i]; q.Rows[1] < q.Rows[0]/1.5-0.1 || q.Rows[1] > q.Rows[0]*1.5+0.1 {
			t.Errorf("%s: %g rows, want about %g", q.Query.Phase, q.Rows[1], q.Rows[0])
		}
	}
	if t.Failed() {
		t.Log(w.YAML)
	}
}
