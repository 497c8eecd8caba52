package imitate_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
)

// TestComputedKeys checks that rows are read by indexes of generated columns and of expressions,
// and that queries return about as many rows as in the database. If an index cannot be used, the
// reason must be given.
func TestComputedKeys(t *testing.T) {
	path := create(t, "computed", func(t *testing.T, db *sql.DB) {
		execute(t, db, `
			CREATE TABLE "the rows" (
				id INTEGER PRIMARY KEY, a INTEGER, "a b" TEXT, half REAL, body TEXT, any, none, list TEXT DEFAULT '[1, 2]',
				b INTEGER GENERATED ALWAYS AS (a * 2 /* twice */) STORED, c TEXT AS (b || ':' || upper("a b")) VIRTUAL,
				day TEXT AS (datetime(a, 'unixepoch', '+1 day')), quarter AS (half / 2), kind TEXT AS (body ->> '$.kind'), first AS (list ->> 0), several AS (abs(any)), empty AS (abs(none))
			);
			CREATE INDEX by_b ON "the rows"(b);
			CREATE INDEX by_c ON "the rows"(c, id);
			CREATE INDEX by_day ON "the rows"(day) WHERE a > 50;
			CREATE INDEX by_quarter ON "the rows"(quarter);
			CREATE INDEX by_expression ON "the rows"(a % 10, lower("a b") COLLATE NOCASE DESC);
			CREATE INDEX by_kind ON "the rows"(kind);
			CREATE INDEX by_list ON "the rows"(first);
			CREATE INDEX by_several ON "the rows"(several);
			CREATE INDEX by_empty ON "the rows"(empty);
		`)
		fill(t, db, `INSERT INTO "the rows"(a, "a b", half, body, any) VALUES (?, ?, ?, ?, ?)`, 2000, func(i int) []any {
			return []any{random.IntN(200), pick("Lis", "Ber", "Kat"), float64(random.IntN(40)), fmt.Sprintf(`{"kind": "%d"}`, i%7), pick[any](1, "1x")}
		})
	})
	for _, keep := range []bool{false, true} {
		w, c := imitateFile(t, path, imitate.Options{KeepValues: keep})
		found := map[string]bool{}
		for i := range c.Queries {
			q := &c.Queries[i]
			found[q.Query.Phase] = true
			if !q.SamePlan() || !strings.Contains(q.Plan[1], "SEARCH") {
				t.Errorf("%s: plan %s, want %s", q.Query.Phase, q.Plan[1], q.Plan[0])
			}
			if q.Rows[0] == 0 || q.Rows[1] < q.Rows[0]/1.5 || q.Rows[1] > q.Rows[0]*1.5 {
				t.Errorf("%s: %g rows, want about %g", q.Query.Phase, q.Rows[1], q.Rows[0])
			}
		}
		for _, phase := range []string{"the rows by b", "the rows by c and id", "the rows by day", "the rows by quarter", "the rows by by_expression", "the rows by kind"} {
			if !found[phase] {
				t.Errorf("no phase %s", phase)
			}
		}
		notes := strings.Join(w.Notes, "\n")
		for _, want := range []string{
			"no query uses index by_list, because its key comes from list, and elements of its JSON arrays", "no query uses index by_several, because any has values of several types",
			"no query uses index by_empty, because none is always NULL",
		} {
			if !strings.Contains(notes, want) {
				t.Errorf("no note says %q", want)
			}
		}
		if t.Failed() {
			t.Fatal(w.YAML, notes)
		}
	}
}
