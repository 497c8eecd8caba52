package imitate_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/workload/imitate"
)

// What is within JSON is imitated as a column is: generated columns, their indexes and the
// conditions of others have as many values, and rows.
func TestDocuments(t *testing.T) {
	path := create(t, "documents", func(t *testing.T, db *sql.DB) {
		execute(t, db, `
			CREATE TABLE jobs (
				id INTEGER PRIMARY KEY, payload TEXT NOT NULL, list TEXT,
				source TEXT GENERATED ALWAYS AS (json_extract(payload, '$.source')) VIRTUAL, city AS (payload ->> '$.sender.city')
			);
			CREATE INDEX jobs_source ON jobs(source);
			CREATE INDEX jobs_city ON jobs(city, id);
			CREATE INDEX jobs_attempt ON jobs(json_extract(payload, '$.attempt')) WHERE json_extract(payload, '$.source') = 'importer';
			CREATE INDEX jobs_urgent ON jobs(json_extract(payload, '$.urgent'), json_extract(payload, '$.note'));
		`)
		fill(t, db, `INSERT INTO jobs (payload, list) VALUES (?, ?)`, 3000, func(i int) []any {
			note := ""
			if i%3 == 0 {
				note = fmt.Sprintf(`, "note": "secret%d"`, rand.IntN(500))
			}
			return []any{fmt.Sprintf(`{"source": %q, "attempt": %d, "urgent": %v, "weight": %.3f, "sender": {"city": %q, "confidential": null}, "tags": ["a%d", "b"]%s}`,
				pick("web", "web", "web", "importer", "mobile", "partner"), rand.IntN(40), rand.IntN(10) == 0, rand.Float64()*100, pick("Oslo", "Turku", "Bergen"), i, note),
				fmt.Sprintf(`["%d", 2]`, i)}
		})
	})
	w, c := imitateFile(t, path, imitate.Options{})
	if off := float64(c.Bytes)/float64(w.Bytes) - 1; math.Abs(off) > 0.1 {
		t.Errorf("%d bytes of %d: %+.1f %%", c.Bytes, w.Bytes, 100*off)
	}
	found := map[string]bool{}
	for i := range c.Queries {
		q := &c.Queries[i]
		found[q.Query.Phase] = true
		if !q.SamePlan() || math.Abs(q.Rows[1]-q.Rows[0]) > 0.3*q.Rows[0]+0.3 {
			t.Errorf("%s: plan %s, %.3g rows; want %s, %.3g", q.Query.Phase, q.Plan[1], q.Rows[1], q.Plan[0], q.Rows[0])
		}
	}
	for _, phase := range []string{"jobs by source", "jobs by city and id", "jobs by jobs_attempt", "jobs by jobs_urgent"} {
		if !found[phase] {
			t.Errorf("no phase %s", phase)
		}
	}
	for _, secret := range []string{"importer", "secret", "confidential", "Oslo", "tags"} {
		if strings.Contains(w.YAML, secret) {
			t.Errorf("the workload has %q", secret)
		}
	}
	if t.Failed() {
		t.Log(w.YAML, w.Notes)
	}
}
