package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/browser/browsertest"
)

// pair is a workload of two very short phases.
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

// multiply is SQL that copies run 1 until the store has 1,000 runs.
const multiply = `
PRAGMA synchronous = off;
BEGIN;
CREATE TEMP TABLE n AS WITH RECURSIVE s(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM s WHERE i < 1000) SELECT i FROM s;
INSERT INTO runs(run_id, seed, json) SELECT i, seed, json FROM n, runs WHERE run_id = 1;
INSERT INTO cases(run_id, case_id, json) SELECT i, case_id, json FROM n, cases WHERE run_id = 1 ORDER BY i, case_id;
INSERT INTO trials(run_id, trial_id, case_id, json) SELECT i, trial_id, case_id, json FROM n, trials WHERE run_id = 1 ORDER BY i, trial_id;
INSERT INTO samples(run_id, trial_id, sample_id, json) SELECT i, trial_id, sample_id, json FROM n, samples WHERE run_id = 1 ORDER BY i, trial_id, sample_id;
COMMIT`

// largeStore creates large.db, a store of 1,000 runs with a million samples.
func largeStore(b *testing.B) *place {
	b.Helper()
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
	return p
}

// BenchmarkLargeStore runs the commands that read a store, on a store with 1,000 runs and a million
// samples. It reports the time of each process, and the peak of its resident memory in MB.
func BenchmarkLargeStore(b *testing.B) {
	p := largeStore(b)
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

// BenchmarkLargeStoreSite writes the site of a store with 1,000 runs: first completely, then again
// although nothing has changed. It reports the time and the CPU time of each call, and the size of
// the site.
func BenchmarkLargeStoreSite(b *testing.B) {
	p := largeStore(b)
	for b.Loop() {
		if err := os.RemoveAll(filepath.Join(p.dir, "site")); err != nil {
			b.Fatal(err)
		}
		for _, call := range []string{"first", "again"} {
			began := time.Now()
			cmd := p.command("site", "site", "--store", "large.db")
			out, err := cmd.CombinedOutput()
			if err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			b.ReportMetric(float64(time.Since(began).Milliseconds()), call+"-ms")
			b.ReportMetric(float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Milliseconds()), call+"-cpu-ms")
			b.Logf("%s: %s", call, out)
		}
	}
}

// BenchmarkLargeStorePages opens each view of the explorer in a browser, on a server that was just
// started on a store with 1,000 runs. It reports the means of four figures: the time until the
// server has started, the time until the view and its pictures are shown, the time until nothing
// more is loaded, and the number of bytes loaded.
func BenchmarkLargeStorePages(b *testing.B) {
	p := largeStore(b)
	for _, view := range []struct{ name, address, whole string }{
		{"runs", "", "true"},
		{"run", "runs/500", "true"},
		{"all-pictures", "runs/500?picture=ranking&picture=latency&picture=samples&picture=memory&picture=settings&picture=scaling", "true"},
		{"samples", "runs/500?case=1&of=insert", `document.querySelector(".uplot canvas")`},
		{"compare", "compare?first=1&second=1000", "true"},
		{"trends", "trends", `document.querySelector(".uplot canvas") && !document.querySelector("[role=status]")`},
		{"measure", "measure", "true"},
	} {
		b.Run(view.name, func(b *testing.B) {
			var start, shown, whole time.Duration
			bytes := 0.0
			for b.Loop() {
				began := time.Now()
				s := p.serve("--store", "large.db")
				start += time.Since(began)
				page := browsertest.Open(b, s.url+view.address, loaded)
				type times struct{ Shown, Whole, Bytes float64 } // Shown and Whole are times in milliseconds
				const told = `(() => {
					const came = performance.getEntriesByType("resource"), shown = performance.getEntriesByName("shown");
					const all = [...performance.getEntriesByType("navigation"), ...came];
					const last = (list) => Math.max(...list.map(e => e.responseEnd));
					return {Shown: Math.max(shown[0].startTime, last(came.filter(e => e.name.includes("/charts/")).concat({responseEnd: 0}))),
						Whole: Math.max(shown.at(-1).startTime, last(came)), Bytes: all.reduce((n, e) => n + e.transferSize, 0)};
				})()`
				first := browsertest.Eval[times](page, told)
				page.Until(nil, loaded+" && "+view.whole)
				all := browsertest.Eval[times](page, told)
				shown += time.Duration(first.Shown * 1e6)
				whole += time.Duration(all.Whole * 1e6)
				bytes += all.Bytes
				page.Close()
				s.signal(os.Interrupt)
				s.wait()
			}
			for unit, total := range map[string]time.Duration{"start-ms": start, "shown-ms": shown, "whole-ms": whole} {
				b.ReportMetric(float64(total.Milliseconds())/float64(b.N), unit)
			}
			b.ReportMetric(bytes/1e6/float64(b.N), "MB")
		})
	}
}
