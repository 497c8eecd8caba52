package store_test

import (
	"context"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// TestResultsView checks that the view "results" computes the same figures as result.Sample.Value.
func TestResultsView(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	samples := []result.Sample{
		{Phase: "bulk", Metric: "time", WallNS: 1_234_567_891, Operations: 7},
		{Phase: "none", Metric: "time/op", WallNS: 1_000_000},
		{Phase: "mix", Metric: "time/op", WallNS: 2_000_000_000, Operations: 300_000},
		{Phase: "open", Metric: "latency", WallNS: 5, Latency: []latency.Summary{{P99NS: 17_000}, {P99NS: 19_001, MaxNS: 1 << 40}}},
		{Phase: "quiet", Metric: "latency", WallNS: 5},
	}
	ok, wrong := trial(1), trial(2)
	ok.Samples, wrong.Samples, wrong.Status = samples, samples, result.Wrong
	r := smallRun()
	repeated := trial(3)
	repeated.Samples, repeated.Robbed, repeated.Repeated = samples, true, true
	r.Trials = []result.Trial{*ok, *wrong, *repeated}
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, m := range samples {
		want[m.Phase] = m.Value()
	}
	rows, err := plain(t, path).Query(`SELECT phase, seconds FROM results`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	got, n := map[string]float64{}, 0
	for ; rows.Next(); n++ {
		var phase string
		var seconds float64
		if err := rows.Scan(&phase, &seconds); err != nil {
			t.Fatal(err)
		}
		got[phase] = seconds
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-15, math.SmallestNonzeroFloat64)); d != "" || rows.Err() != nil || n != len(samples) {
		t.Errorf("%d rows, %v: -Value +view:\n%s", n, rows.Err(), d)
	}
}

// TestColumns checks a run in which every field of the records has a value. Then no column may be
// NULL, and a computed column must keep large integers exactly.
func TestColumns(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	r := fullRun(t)
	r.Trials[0].Status = result.OK // so that the view has rows
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	db := plain(t, path)
	for table, columns := range schema(t, path) {
		for _, c := range columns {
			if table == "warnings" && c == "trial_id" {
				continue // this column is NULL for warnings about the whole run
			}
			var nulls, rows int
			if err := db.QueryRow(`SELECT count(*), sum("`+c+`" IS NULL) FROM `+table).Scan(&rows, &nulls); err != nil || rows == 0 || nulls > 0 {
				t.Errorf("%s.%s: NULL in %d rows of %d, %v", table, c, nulls, rows, err)
			}
		}
	}
	var wall int64
	if err := db.QueryRow(`SELECT wall_ns FROM samples`).Scan(&wall); err != nil || wall != r.Trials[0].Samples[0].WallNS {
		t.Errorf("wall_ns is %d, %v; want %d", wall, err, r.Trials[0].Samples[0].WallNS)
	}
}

// schema lists the columns of every table and view.
func schema(t *testing.T, path string) map[string][]string {
	t.Helper()
	rows, err := plain(t, path).Query(`SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_xinfo(m.name) AS c
		WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	tables := map[string][]string{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		tables[table] = append(tables[table], column)
	}
	if err := rows.Err(); err != nil || len(tables) != 12 {
		t.Fatalf("schema: %v, %v", tables, err)
	}
	return tables
}

// TestDocumentation checks that docs/store.md names every column except json, and that its queries
// run. The last query must delete all runs.
func TestDocumentation(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	if err := s.Begin(ctx, fullRun(t)); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../../docs/store.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	for table, columns := range schema(t, path) {
		row := regexp.MustCompile("(?m)^\\| `" + table + "` \\|.*$").FindString(text)
		for _, c := range columns {
			if c != "json" && !strings.Contains(row, "`"+c+"`") {
				t.Errorf("the row of %s lacks %s", table, c)
			}
		}
	}
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Error("there are no queries")
	}
	for _, b := range blocks {
		if _, err := plain(t, path).Exec(b[1]); err != nil {
			t.Errorf("%v in:\n%s", err, b[1])
		}
	}
	if list, err := s.List(ctx); err != nil || len(list) != 0 {
		t.Errorf("the last query left %v, %v; want none", list, err)
	}
}

// TestFirstVersion checks that a store of the first version is upgraded, and that its runs have
// no workload texts.
func TestFirstVersion(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	old, err := store.OpenWith(path, false, store.Migrations[:1], time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_, err = old.DB().Exec(`INSERT INTO runs (seed, json) VALUES ('1', '{"version":"old"}')`)
	old.Close()
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path)
	second := smallRun()
	second.Workloads = []result.Workload{{Name: "w", Text: "name: w\n", SHA256: "5a"}}
	if err := s.Begin(ctx, second); err != nil {
		t.Fatal(err)
	}
	var run, n int
	var text string
	err = plain(t, path).QueryRow(`SELECT count(*), run_id, text FROM workloads`).Scan(&n, &run, &text)
	if err != nil || n != 1 || run != 2 || text != "name: w\n" {
		t.Errorf("%d workloads, of run %d: %q, %v", n, run, text, err)
	}
	first, err := s.Load(ctx, 1)
	if err != nil || len(first.Workloads) != 0 {
		t.Errorf("Load: %+v, %v", first, err)
	}
	list, err := s.List(ctx)
	if err != nil || len(list) != 2 || list[0].Hashes != nil || list[1].Hashes["w"] != "5a" {
		t.Errorf("List: %+v, %v", list, err)
	}
}
