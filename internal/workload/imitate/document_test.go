package imitate_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
)

// TestDocuments checks that values within JSON are imitated like columns. Generated columns,
// indexes of them and conditions on other values must have about as many distinct values and
// rows as in the database.
func TestDocuments(t *testing.T) {
	path := create(t, "documents", func(t *testing.T, db *sql.DB) {
		execute(t, db, `
			CREATE TABLE jobs (
				id INTEGER PRIMARY KEY, payload TEXT NOT NULL, list TEXT,
				source TEXT GENERATED ALWAYS AS (json_extract(payload, '$.source')) VIRTUAL, city AS (payload ->> '$.sender.city'),
				second AS (payload ->> '$.stages[1].name'), place AS (payload ->> '$.at.place')
			);
			CREATE INDEX jobs_second ON jobs(second);
			CREATE INDEX jobs_place ON jobs(place);
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
			return []any{fmt.Sprintf(`{"source": %q, "attempt": %d, "urgent": %v, "weight": %.3f, "sender": {"city": %q, "confidential": null}, "tags": ["a%d", "b"], "stages": [{"name": "first"}%s]%s%s}`,
				pick("web", "web", "web", "importer", "mobile", "partner"), rand.IntN(40), rand.IntN(10) == 0, rand.Float64()*100, pick("Oslo", "Turku", "Bergen"), i, pick("", `, {"name": "north"}`, `, {"name": "south"}, {"name": "sky"}`), pick(`, "at": {"place": "sea"}`, "", "", "", ""), note),
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
	for _, phase := range []string{"jobs by source", "jobs by city and id", "jobs by jobs_attempt", "jobs by jobs_urgent", "jobs by second", "jobs by place"} {
		if !found[phase] {
			t.Errorf("no phase %s", phase)
		}
	}
	for _, secret := range []string{"importer", "secret", "confidential", "Oslo", "tags", "north", "sea"} {
		if strings.Contains(w.YAML, secret) {
			t.Errorf("the workload has %q", secret)
		}
	}
	if t.Failed() {
		t.Log(w.YAML, w.Notes)
	}
}

// TestNotNear checks an imitation in which an index is much smaller than in the original. The index
// must be listed, even if it is a small part of the database. The indexed column is long only if the
// columns a and b are equal. They are always equal in the original, but the imitation generates them
// independently. TestNotNear also checks that queries have times, and what counts as near.
func TestNotNear(t *testing.T) {
	path := create(t, "correlated", func(t *testing.T, db *sql.DB) {
		execute(t, db, `
			CREATE TABLE jobs (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, same TEXT AS (iif(a = b, printf('%.*c', 400, 'x'), '')));
			CREATE INDEX jobs_same ON jobs(same);
		`)
		fill(t, db, `INSERT INTO jobs (a, b) VALUES (?, ?)`, 3000, func(i int) []any { return []any{i % 90, i % 90} })
	})
	w, c := imitateFile(t, path, imitate.Options{})
	if len(c.Sizes) != 1 || c.Sizes[0].Name != "jobs_same" || c.Sizes[0].Bytes[0] < 10*c.Sizes[0].Bytes[1] {
		t.Errorf("%d bytes of %d, explained by %+v", c.Bytes, w.Bytes, c.Sizes)
	}
	// An index that is much smaller is listed even if it is a small part of the database.
	small := create(t, "small", func(t *testing.T, db *sql.DB) {
		execute(t, db, `
			CREATE TABLE jobs (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, log TEXT, same TEXT AS (iif(a = b, printf('%.*c', 120, 'x'), '')));
			CREATE INDEX jobs_same ON jobs(same);
		`)
		fill(t, db, `INSERT INTO jobs (a, b, log) VALUES (?, ?, ?)`, 3000, func(i int) []any { return []any{i % 90, i % 90, strings.Repeat("log ", 1500)} })
	})
	v, d := imitateFile(t, small, imitate.Options{})
	if math.Abs(float64(d.Bytes)/float64(v.Bytes)-1) > imitate.NearSize/2 || len(d.Sizes) != 1 || d.Sizes[0].Name != "jobs_same" || d.Sizes[0].Near() {
		t.Errorf("%d bytes of %d, but %+v", d.Bytes, v.Bytes, d.Sizes)
	}
	for _, q := range c.Queries {
		if q.Time[0] <= 0 || q.Time[1] <= 0 {
			t.Errorf("%s has no times", q.Query.Phase)
		}
	}
	q := imitate.Compared{Rows: [2]float64{100, 100}, Time: [2]time.Duration{8 * time.Millisecond, 9 * time.Millisecond}}
	if !q.Near() {
		t.Errorf("%+v is not near", q)
	}
	for _, far := range []imitate.Compared{
		{Rows: q.Rows, Time: [2]time.Duration{8 * time.Millisecond, 159 * time.Millisecond}}, {Rows: [2]float64{100, 1}, Time: q.Time},
		{Rows: q.Rows, Time: q.Time, Plan: [2]string{"", "SCAN jobs"}},
	} {
		if far.Near() {
			t.Errorf("%+v is near", far)
		}
	}
}
