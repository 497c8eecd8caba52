package main

import (
	"database/sql"
	"path/filepath"
	"syscall"
	"testing"
)

// pair is a workload of two phases, which are over at once.
const pair = `name: pair
about: A few rows in and out.
parameters: {n: 10}
scales: {quick: {}, full: {}}
schema: CREATE TABLE t(id INTEGER PRIMARY KEY)
rows: {t: {count: $n, columns: {id: serial}}}
phases:
  - {name: insert, insert: t}
  - {name: query, query: SELECT id FROM t, columns: [int], expect: {rows: $n}}
`

// multiply makes 1,000 runs out of run 1.
const multiply = `
PRAGMA synchronous = off;
BEGIN;
CREATE TEMP TABLE n AS WITH RECURSIVE s(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM s WHERE i < 1000) SELECT i FROM s;
INSERT INTO runs(run_id, seed, json) SELECT i, seed, json FROM n, runs WHERE run_id = 1;
INSERT INTO cases(run_id, case_id, json) SELECT i, case_id, json FROM n, cases WHERE run_id = 1 ORDER BY i, case_id;
INSERT INTO trials(run_id, trial_id, case_id, json) SELECT i, trial_id, case_id, json FROM n, trials WHERE run_id = 1 ORDER BY i, trial_id;
INSERT INTO samples(run_id, trial_id, sample_id, json) SELECT i, trial_id, sample_id, json FROM n, samples WHERE run_id = 1 ORDER BY i, trial_id, sample_id;
COMMIT`

// BenchmarkLargeStore runs the commands that read a store, on one of 1,000 runs and a
// million samples. It reports the time of a whole process, and its greatest resident
// memory in MB.
func BenchmarkLargeStore(b *testing.B) {
	p := newPlace(b)
	p.write("pair.yaml", pair, 0o644)
	if out, err := p.command("run", "--drivers", "./good,./better", "--workloads", "./pair.yaml", "--param", "n=1,2,3,4,5,6,7,8,9,10",
		"--rounds", "25", "--quiet", "--store", "large.db").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "large.db"))
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
	for _, args := range [][]string{{"runs"}, {"show", "last"}, {"compare", "1", "1000"}} {
		b.Run(args[0], func(b *testing.B) {
			most := 0.0
			for b.Loop() {
				cmd := p.command(append(args, "--store", "large.db")...)
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				most = max(most, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1000)
			}
			b.ReportMetric(most, "MB")
		})
	}
}
