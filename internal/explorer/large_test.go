package explorer

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// multiply copies run 1 until the store has 1,000 runs.
const multiply = `
PRAGMA synchronous = off;
BEGIN;
CREATE TEMP TABLE n AS WITH RECURSIVE s(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM s WHERE i < 1000) SELECT i FROM s;
INSERT INTO runs(run_id, seed, json) SELECT i, seed, json FROM n, runs WHERE run_id = 1;
INSERT INTO cases(run_id, case_id, json) SELECT i, case_id, json FROM n, cases WHERE run_id = 1 ORDER BY i, case_id;
INSERT INTO trials(run_id, trial_id, case_id, json) SELECT i, trial_id, case_id, json FROM n, trials WHERE run_id = 1 ORDER BY i, trial_id;
INSERT INTO samples(run_id, trial_id, sample_id, json) SELECT i, trial_id, sample_id, json FROM n, samples WHERE run_id = 1 ORDER BY i, trial_id, sample_id;
COMMIT`

// large returns a run of 1,000 samples: 20 cases in 25 rounds with two phases.
func large() *result.Run {
	r := aRun(1, 1.1)
	r.Workloads[0].Text = strings.Repeat("# as long as several built-in ones\n", 300)
	three, trial := r.Cases, r.Trials[0]
	r.Cases, r.Trials = nil, nil
	for n := range int64(10) {
		for i := range 2 {
			c := three[i+1]
			c.ID, c.Parameters = len(r.Cases)+1, map[string]int64{"n": n}
			r.Cases = append(r.Cases, c)
		}
	}
	for round := 1; round <= 25; round++ {
		for i := range r.Cases {
			t := trial
			t.Case, t.Round, t.Order = i+1, round, len(r.Trials)+1
			t.Samples = append([]result.Sample(nil), t.Samples...)
			for j := range t.Samples {
				t.Samples[j].WallNS += int64(1000 * ((7*round + 13*i) % 50))
			}
			r.Trials = append(r.Trials, t)
		}
	}
	return r
}

// BenchmarkLargeStore sends the requests of each view twice to a server that has just started. The
// store has 1,000 runs and a million samples. The benchmark reports the size of the answers.
func BenchmarkLargeStore(b *testing.B) {
	path := filepath.Join(b.TempDir(), "results.db")
	st, err := store.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	if err := st.Begin(b.Context(), large()); err != nil {
		b.Fatal(err)
	}
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var samples int
	if _, err := db.Exec(multiply); err != nil {
		b.Fatal(err)
	}
	if err := db.QueryRow("SELECT count(*) FROM samples").Scan(&samples); err != nil || samples != 1_000_000 {
		b.Fatalf("%d samples, %v; want a million", samples, err)
	}
	for _, view := range []struct {
		name  string
		paths []string
	}{
		{"start", nil}, // the start of the server
		{"runs", []string{"/", "/api/v1/runs", "/api/v1/current"}},
		{"run", []string{"/runs/500", "/api/v1/runs/500", "/api/v1/runs/500/cells", "/api/v1/runs/500/charts"}},
		{"samples", []string{"/runs/500", "/api/v1/runs/500", "/api/v1/runs/500/cells", "/api/v1/runs/500/samples?case=1&phase=mix"}},
		{"report", []string{"/runs/500/report"}},
		{"compare", []string{"/compare", "/api/v1/compare?first=1&second=1000"}},
		{"trends", []string{"/trends", "/api/v1/trends?workload=simple&driver=mattn&driver=modernc"}},
		{"most-trends", []string{"/trends", "/api/v1/trends?workload=simple&driver=mattn&runs=200"}},
	} {
		for _, again := range []bool{false, true} {
			name := view.name
			if again {
				name += "/again"
			}
			b.Run(name, func(b *testing.B) {
				var site *Server
				var handler http.Handler
				size := 0
				begin := func() {
					site = New(Options{Store: path, Floor: "native"})
					if err := site.Open(b.Context()); err != nil { // the command serve also opens the store, before it prints its address
						b.Fatal(err)
					}
					handler = site.Handler()
				}
				ask := func() {
					size = 0
					for _, path := range view.paths {
						w := httptest.NewRecorder()
						r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
						if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
							b.Fatalf("%s: %d: %s", path, w.Code, w.Body)
						}
						size += w.Body.Len()
					}
				}
				end := func() {
					if err := site.Close(); err != nil {
						b.Fatal(err)
					}
				}
				if again {
					begin()
					ask()
				}
				for b.Loop() {
					if !again {
						if view.paths != nil {
							b.StopTimer()
						}
						begin()
						b.StartTimer()
					}
					ask()
					if !again {
						b.StopTimer()
						end()
						b.StartTimer()
					}
				}
				if again {
					end()
				}
				b.ReportMetric(float64(size)/1e6, "MB")
			})
		}
	}
}
