// Package jobtest tests that a driver can run every kind of job.
package jobtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Run runs every test on the driver.
func Run(t *testing.T, d driver.Driver) {
	for _, test := range []struct {
		name string
		f    func(*testing.T, *base)
	}{
		{"generate", generate}, {"generate/refuses", refuses}, {"generate/stopped", stopped}, {"generate/fails half-way", full},
		{"bench", bench}, {"bench/mismatches", mismatches}, {"bench/not a table of ours", lacking},
		{"pragma", pragma}, {"pragma/unknown", unknownPragma},
		{"concurrent", concurrent}, {"concurrent/errors", taken},
		{"paginate", paginate}, {"paginate/refuses", notPaged},
		{"answers", answers}, {"answers/refuses", notNew},
		{"cluster", oneMember}, {"cluster/refuses", noCluster},
		{"commit", commits}, {"commit/refuses", notCommitted}, {"commit/fails", failing}, {"commit/early", early}, {"commit/canceled", canceled}, {"commit/awaits others", awaiting}, {"commit/attached", attached},
		{"commit/took effect", tookEffect}, {"commit/left open", leftOpen}, {"commit/inserts", inserted}, {"commit/without effect", withoutEffect},
		{"commit/real numbers and indexes", sameDigest},
		{"judge", judged}, {"judge/damaged", damaged}, {"judge/absent", absent}, {"judge/hot journal", hotJournal},
		{"trial/full-text index", checked},
	} {
		t.Run(test.name, func(t *testing.T) { test.f(t, &base{t, d, filepath.Join(t.TempDir(), "test.db"), nil}) })
	}
}

// base is the driver and the path of the database that a test works on, with the progress that
// jobs have reported.
type base struct {
	t        *testing.T
	driver   driver.Driver
	path     string
	progress []protocol.Progress
}

// do opens a database with the driver and runs a job on it, in the same way as a worker.
func (b *base) do(ctx context.Context, s driver.Settings, j protocol.Job, tell func(protocol.Progress)) (*protocol.JobResult, error) {
	b.t.Helper()
	return b.on(ctx, b.open(s), s, j, tell)
}

// The method "on" runs a job on an open database and closes the database.
func (b *base) on(ctx context.Context, db driver.DB, s driver.Settings, j protocol.Job, tell func(protocol.Progress)) (*protocol.JobResult, error) {
	b.t.Helper()
	d := &job.Database{DB: db, Path: b.path, Settings: s, Seed: 42, Proof: b.proof(db)}
	d.Open = func(ctx context.Context) (driver.DB, error) { return b.driver.Open(ctx, b.path, s) }
	d.CPU = func() (own, children int64) { return 0, 0 }
	d.PeakRSS = func(bool) int64 { return 1 << 20 }
	r, err := job.Run(ctx, &j, d, func(p protocol.Progress) {
		b.progress = append(b.progress, p)
		if tell != nil {
			tell(p)
		}
	})
	_, unclosed := b.driver.Info().Limit("close", "failed transaction")
	if cerr := d.DB.Close(); cerr != nil && !unclosed {
		b.t.Error(cerr)
	}
	return r, err
}

func (b *base) must(s driver.Settings, j protocol.Job) *protocol.JobResult {
	b.t.Helper()
	r, err := b.do(b.t.Context(), s, j, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// The method "fails" checks that a job fails with a code, and with a message that contains all of
// the words.
func (b *base) fails(j protocol.Job, code string, words ...string) {
	b.t.Helper()
	_, err := b.do(b.t.Context(), nil, j, nil)
	if e, ok := errors.AsType[*job.Error](err); !ok || e.Code != code {
		b.t.Errorf("got error %v, want one with code %s", err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			b.t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func (b *base) open(s driver.Settings) driver.DB {
	b.t.Helper()
	db, err := b.driver.Open(b.t.Context(), b.path, s)
	if err != nil {
		b.t.Fatal(err)
	}
	return db
}

// use opens the database for the function f.
func (b *base) use(f func(db driver.DB) error) {
	b.t.Helper()
	db := b.open(nil)
	if err := errors.Join(f(db), db.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// script runs SQL on the database.
func (b *base) script(sql string) {
	b.t.Helper()
	b.use(func(db driver.DB) error { return db.Script(b.t.Context(), sql) })
}

// proof returns SQLite's version and compile options, which are the part of a worker's proof that
// jobs use.
func (b *base) proof(db driver.DB) *protocol.Proof {
	b.t.Helper()
	version, err := driver.Texts(b.t.Context(), db, "SELECT sqlite_version()")
	options, oerr := driver.Texts(b.t.Context(), db, "PRAGMA compile_options")
	if err := errors.Join(err, oerr); err != nil {
		b.t.Fatal(err)
	}
	return &protocol.Proof{SQLiteVersion: version[0], CompileOptions: options}
}

// parameters finds by trial how many parameters SQLite accepts in a statement.
func (b *base) parameters() int {
	b.t.Helper()
	db := b.open(nil)
	value := driver.Column{Type: driver.Int, Ints: []int64{1}}
	accepts := func(n int) bool {
		st := driver.Statement{
			SQL:     fmt.Sprintf("SELECT '' WHERE ?%d IS NULL", n),
			Params:  slices.Repeat([]driver.Type{driver.Int}, n),
			Columns: []driver.ColumnType{{Type: driver.Text}},
		}
		stmt, err := db.Prepare(b.t.Context(), st)
		if err != nil {
			return false
		}
		values := driver.Batch{Columns: slices.Repeat([]driver.Column{value}, n), PerExec: 1}
		err = stmt.Query(b.t.Context(), &values, 0, func(driver.Row) error { return nil })
		return errors.Join(err, stmt.Close()) == nil
	}
	n := 32766 // SQLite's default is tried first, because some libraries take seconds for each number
	if !accepts(n) || accepts(n+1) {
		n = sort.Search(1<<17, func(n int) bool { return !accepts(n + 1) })
	}
	if err := db.Close(); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// texts runs a query for one column of text and joins the results.
func (b *base) texts(sql string) string {
	b.t.Helper()
	var list []string
	b.use(func(db driver.DB) (err error) {
		list, err = driver.Texts(b.t.Context(), db, sql)
		return err
	})
	return strings.Join(list, " ")
}

func (b *base) want(sql, want string) {
	b.t.Helper()
	if got := b.texts(sql); got != want {
		b.t.Errorf("%s: got %q, want %q", sql, got, want)
	}
}

func rows(n int64, batch int) protocol.Job {
	return protocol.Job{Generate: &protocol.Generate{Table: "bench", Rows: n, Batch: batch, Prepared: true}}
}

// The test "generate" checks that a job of the kind "generate" inserts the same rows with any batch
// size, and with prepared and ad hoc statements.
func generate(t *testing.T, b *base) {
	const schema = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'bench'"
	const sums = "SELECT count(*) || ' ' || sum(ID) || ' ' || min(ID) || ' ' || max(ID) || ' ' || min(rand) || ' ' || max(hash) || ' ' || sum(length(rand)) || ' ' || sum(length(hash)) FROM bench"
	b.must(nil, rows(10_003, 100))
	b.want(schema, `CREATE TABLE "bench"(ID int PRIMARY KEY ASC, rand TEXT, hash TEXT)`)
	b.want("SELECT application_id FROM pragma_application_id", fmt.Sprint(job.ApplicationID))
	// The first two rows must be those of the data set "bench" for seed 42 (see generated-values.md).
	first := b.texts("SELECT ID || ' ' || rand || ' ' || hash FROM bench WHERE ID < 2 ORDER BY ID")
	if want := firstRows(); first != want {
		t.Errorf("first rows: got %s, want %s", first, want)
	}
	all := b.texts(sums)
	if !strings.HasPrefix(all, fmt.Sprintf("10003 %d 0 10002 ", 10_003*10_002/2)) || !strings.HasSuffix(all, fmt.Sprintf(" %d %d", 10_003*16, 10_003*64)) {
		t.Errorf("rows: %s", all)
	}
	most := (b.parameters() - 1) / 2
	for _, g := range []protocol.Generate{
		{Batch: 1, Prepared: true}, {Batch: 7}, {Batch: 333, Vacuum: true}, {Batch: min(5000, most)},
		{Batch: min(16_000, most), Prepared: true}, // more rows than the table has, unless SQLite's limit is lower
	} {
		g.Table, g.Rows = "bench", 10_003
		r := b.must(driver.Settings{"synchronous": "off"}, protocol.Job{Generate: &g}).Generate
		if r.Rows != g.Rows || r.WallNS <= 0 || g.Vacuum != (r.VacuumNS > 0) {
			t.Errorf("batch %d: result %+v", g.Batch, r)
		}
		if got := b.texts(sums); got != all {
			t.Errorf("batch %d: rows %s, want %s", g.Batch, got, all)
		}
	}
	b.want("PRAGMA integrity_check", "ok")
}

func refuses(t *testing.T, b *base) {
	b.script("CREATE TABLE bench(precious); INSERT INTO bench VALUES (1)")
	b.fails(rows(10, 1), protocol.CodeForeign, "did not create this database", "by force")
	b.want("SELECT CAST(precious AS TEXT) FROM bench", "1")
	force := rows(10, 1)
	force.Generate.Force = true
	b.must(nil, force)
	b.want("SELECT CAST(count(*) AS TEXT) FROM bench", "10")

	b.script("CREATE TABLE other(precious); INSERT INTO other VALUES (1); CREATE VIEW seen AS SELECT * FROM other")
	other := rows(10, 1)
	other.Generate.Table = "other"
	b.fails(other, protocol.CodeForeign, "did not create table other", "its columns: precious")
	other.Generate.Table, other.Generate.Force = "seen", true
	b.fails(other, protocol.CodeForeign, "is a view")
	b.want("SELECT CAST(precious AS TEXT) FROM other", "1")

	most := b.parameters()
	fits := (most - 1) / 2
	many := rows(1_000_000, fits+1)
	b.fails(many, protocol.CodeUsage, fmt.Sprintf("batch %d:", fits+1), fmt.Sprintf("%d parameters", 2*fits+3),
		fmt.Sprintf("at most %d", most), fmt.Sprintf("want %d or less", fits))
	b.want("SELECT CAST(count(*) AS TEXT) FROM bench", "10")

	// A database that sqlite3perf did not create does not get sqlite3perf's application ID, even
	// if Force is set.
	b.path += "2"
	b.script("CREATE TABLE precious(x)")
	b.must(nil, force)
	b.want("SELECT application_id FROM pragma_application_id", "0")
}

// The test "stopped" stops a job when it first reports more than 100 rows. It checks that the
// database has exactly the rows that the result reports.
func stopped(t *testing.T, b *base) {
	ctx, stop := context.WithCancel(t.Context())
	j := rows(1<<40, 10)
	j.Generate.EveryMS = 1
	r, err := b.do(ctx, nil, j, func(p protocol.Progress) {
		if p.Rows > 100 {
			stop()
		}
	})
	if err != nil || !r.Interrupted || r.Generate.Rows <= 100 {
		t.Fatalf("result %+v, error %v", r, err)
	}
	b.want("SELECT CAST(count(*) AS TEXT) FROM bench", fmt.Sprint(r.Generate.Rows))
	b.want("PRAGMA integrity_check", "ok")
}

// The test "full" checks that a job fails if the database exceeds its limit of pages.
func full(t *testing.T, b *base) {
	db := b.open(nil)
	if err := db.Script(t.Context(), "PRAGMA max_page_count = 50"); err != nil {
		t.Fatal(err)
	}
	_, err := b.on(t.Context(), db, nil, rows(100_000, 10), nil)
	partial, ok := errors.AsType[*job.Error](err)
	if !ok || partial.Code != protocol.CodePartial || driver.PrimaryCode(err) != driver.CodeFull {
		t.Fatalf("got error %v, want SQLITE_FULL", err)
	}
	n := b.texts("SELECT CAST(count(*) AS TEXT) FROM bench")
	if want := fmt.Sprintf("after %s of 100000 rows", n); n == "0" || !strings.Contains(err.Error(), want) {
		t.Errorf("error %q does not say %q", err, want)
	}
}

func bench(t *testing.T, b *base) {
	const n = 70_001
	b.must(driver.Settings{"synchronous": "off"}, rows(n, 400))
	for _, pipeline := range []bool{false, true} {
		b.progress = nil
		r := b.must(driver.Settings{"pool_size": "3"}, protocol.Job{Bench: &protocol.Bench{Table: "bench", Pipeline: pipeline}}).Bench
		if r.Rows != n || r.Mismatches != 0 || r.AfterQueryNS <= 0 || r.FirstRowNS < r.AfterQueryNS && !pipeline || r.WallNS < r.FirstRowNS {
			t.Errorf("pipeline %v: %+v", pipeline, r)
		}
		if len(b.progress) != 1 || b.progress[0].Stage != "first-row" || len(b.progress[0].FirstRow) != 3 {
			t.Errorf("pipeline %v: progress %+v", pipeline, b.progress)
		}
	}
}

func mismatches(t *testing.T, b *base) {
	b.must(driver.Settings{"synchronous": "off"}, rows(20_000, 400))
	b.script(`UPDATE bench SET hash = NULL WHERE ID = 5;
		UPDATE bench SET hash = substr(hash, 1, 10) WHERE ID = 7;
		UPDATE bench SET rand = 'zz' WHERE ID BETWEEN 15000 AND 15010;
		UPDATE bench SET rand = NULL WHERE ID = 9;
		UPDATE bench SET hash = replace(hash, substr(hash, 1, 1), 'x') WHERE ID = 19999;
		UPDATE bench SET ID = NULL WHERE ID = 11;
		UPDATE bench SET ID = 'twelve', hash = NULL WHERE ID = 12`)
	why := []string{"5: hash is NULL", "7: hash", "9: rand is NULL", "NULL: ID is NULL", "twelve: hash is NULL"}
	for id := 15000; id < 15005; id++ {
		why = append(why, fmt.Sprintf(`%d: rand "zz" is not hexadecimal`, id))
	}
	for _, pipeline := range []bool{false, true} {
		r := b.must(driver.Settings{"pool_size": "3"}, protocol.Job{Bench: &protocol.Bench{Table: "bench", Pipeline: pipeline}}).Bench
		if r.Rows != 20_000 || r.Mismatches != 17 || len(r.First) != len(why) {
			t.Fatalf("pipeline %v: %+v", pipeline, r)
		}
		for i, m := range r.First {
			if got := m.ID + ": " + m.Why; !strings.HasPrefix(got, why[i]) {
				t.Errorf("pipeline %v: mismatch %d: got %q, want %q", pipeline, i, got, why[i])
			}
		}
		if r.First[5].Row != 15000 {
			t.Errorf("pipeline %v: row number %d, want 15000", pipeline, r.First[5].Row)
		}
	}
	b.script("DELETE FROM bench WHERE ID <> 19999 OR ID IS NULL")
	var r *protocol.Benched
	for range 2 {
		r = b.must(nil, protocol.Job{Bench: &protocol.Bench{Table: "bench"}}).Bench
		if r.Mismatches != 1 || !strings.Contains(r.First[0].Why, "but the SHA-256 of rand") {
			t.Errorf("%+v", r)
		}
		b.script("UPDATE bench SET ID = 'a text'")
	}
	b.script("DELETE FROM bench")
	for _, pipeline := range []bool{false, true} {
		r = b.must(driver.Settings{"pool_size": "2"}, protocol.Job{Bench: &protocol.Bench{Table: "bench", Pipeline: pipeline}}).Bench
		if r.Rows != 0 || r.Mismatches != 0 {
			t.Errorf("empty table: %+v", r)
		}
	}
}

func lacking(t *testing.T, b *base) {
	b.script(`CREATE TABLE bench(ID int, rand TEXT);
		CREATE TABLE "without rowid"(ID INTEGER PRIMARY KEY, rand TEXT, hash TEXT) WITHOUT ROWID;
		INSERT INTO "without rowid" VALUES (1, '00', '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
		CREATE TABLE hidden(ID INT, rand TEXT, hash TEXT, _rowid_ TEXT);
		INSERT INTO hidden SELECT *, 'x' FROM "without rowid"`)
	b.fails(protocol.Job{Bench: &protocol.Bench{Table: "nosuch"}}, protocol.CodeDatabase, "no table nosuch", "generate makes it")
	b.fails(protocol.Job{Bench: &protocol.Bench{Table: "bench"}}, protocol.CodeDatabase, "has no column hash", "ID, rand")
	for _, table := range []string{"without rowid", "hidden"} {
		r := b.must(driver.Settings{"pool_size": "3"}, protocol.Job{Bench: &protocol.Bench{Table: table, Pipeline: true}}).Bench
		if r.Rows != 1 || r.Mismatches != 0 {
			t.Errorf("%s: %+v", table, r)
		}
	}
}

func concurrent(t *testing.T, b *base) {
	settings := driver.Settings{"journal_mode": "wal", "busy_timeout": "10000", "pool_size": "3"}
	c := &protocol.Concurrent{Table: "bench", Readers: 3, Writers: 3, From: 1000, DurationMS: 1200, Clear: true}
	r := b.must(settings, protocol.Job{Concurrent: c}).Concurrent
	if r.Writers.Operations == 0 || r.Readers.Operations == 0 || len(r.Writers.Errors) != 0 || len(r.Readers.Errors) != 0 {
		t.Fatalf("%+v", r)
	}
	if r.Writers.Latency.Count != r.Writers.Operations || r.Writers.Latency.P99NS <= 0 || r.Readers.Latency.Count != r.Readers.Operations {
		t.Errorf("latencies: %+v, %+v", r.Writers, r.Readers)
	}
	b.want("SELECT count(*) || ' ' || min(ID) || ' ' || max(ID) FROM bench", fmt.Sprintf("%d 1000 %d", r.Writers.Operations, r.LastID))
	seconds := int64(0)
	for _, p := range b.progress {
		if p.Second != nil {
			seconds += p.Second.Writers.Operations
		}
	}
	if seconds == 0 || seconds > r.Writers.Operations {
		t.Errorf("the reports of single seconds have %d writes, the result has %d", seconds, r.Writers.Operations)
	}
	if v := b.must(nil, protocol.Job{Bench: &protocol.Bench{Table: "bench"}}).Bench; v.Mismatches != 0 {
		t.Errorf("the rows that the job wrote: %+v, want no mismatch", v)
	}
	// A second job appends rows, in explicit transactions. Each of its clients has its own
	// connection.
	settings["txlock"], settings["pool_size"] = "immediate", "2"
	c = &protocol.Concurrent{Table: "bench", Readers: 1, Writers: 1, From: r.LastID + 1, DurationMS: 100, Own: true}
	more := b.must(settings, protocol.Job{Concurrent: c}).Concurrent
	b.want("SELECT CAST(count(*) AS TEXT) FROM bench", fmt.Sprint(r.Writers.Operations+more.Writers.Operations))
}

// The test "taken" checks that a job of the kind "concurrent" counts INSERTs of IDs that already
// exist as failed operations.
func taken(t *testing.T, b *base) {
	b.must(driver.Settings{"synchronous": "off"}, rows(100, 100))
	c := &protocol.Concurrent{Table: "bench", Writers: 1, DurationMS: 300}
	r := b.must(driver.Settings{"synchronous": "off"}, protocol.Job{Concurrent: c})
	want := "SQLITE_CONSTRAINT_PRIMARYKEY"
	if _, primaryOnly := b.driver.Info().Limit("codes", "extended"); primaryOnly {
		want = "SQLITE_CONSTRAINT"
	}
	if e := r.Concurrent.Writers.Errors; len(e) != 1 || e[0].Count != 100 || e[0].Name != want {
		t.Errorf("errors: %+v", e)
	}
	if w := r.Concurrent.Writers; w.Failed != 100 || w.Operations != w.Rows+100 || w.Latency.Count != w.Operations || w.Latency.Failed != 100 {
		t.Errorf("writers: %+v, want 100 failed operations", w)
	}
	// Errors other than those of locks and constraints end the job.
	b.script(fmt.Sprintf("CREATE TRIGGER second BEFORE INSERT ON bench BEGIN SELECT abs(%d + %d - NEW.ID); END", math.MinInt64, 1<<30+1))
	c.From = 1 << 30
	r, err := b.do(t.Context(), nil, protocol.Job{Concurrent: c}, nil)
	if e, ok := errors.AsType[*driver.Error](err); !ok || e.Code != driver.CodeError {
		t.Errorf("got error %v, want an integer overflow", err)
	}
	if r == nil || r.Concurrent.Writers.Operations != 1 {
		t.Errorf("result up to the error: %+v, want one write", r.Concurrent)
	}
}

func paginate(t *testing.T, b *base) {
	b.must(driver.Settings{"synchronous": "off"}, rows(5000, 400))
	b.script("DELETE FROM bench WHERE ID % 3 = 0") // this leaves gaps, so that IDs differ from the numbers of their rows
	r := b.must(nil, protocol.Job{Paginate: &protocol.Paginate{Table: "bench", Limit: 5, Repetitions: 6}}).Paginate
	var depths []int64
	for _, g := range r.Depths {
		depths = append(depths, g.Depth)
		if len(g.OffsetNS) != 6 || len(g.KeysetNS) != 6 {
			t.Errorf("depth %d: %d and %d repetitions", g.Depth, len(g.OffsetNS), len(g.KeysetNS))
		}
	}
	if got, want := fmt.Sprint(depths), "[0 100 832 1664 2496 3328]"; r.Rows != 3333 || got != want {
		t.Errorf("%d rows, depths %s, want 3333, %s", r.Rows, got, want)
	}
	r = b.must(nil, protocol.Job{Paginate: &protocol.Paginate{Table: "bench", Limit: 100, Repetitions: 7, Depths: []int64{3000, 1}}}).Paginate
	if len(r.Depths) != 2 || r.Depths[0].Depth != 1 || len(r.Depths[0].OffsetNS) != 7 {
		t.Errorf("%+v", r)
	}
}

func notPaged(t *testing.T, b *base) {
	b.must(driver.Settings{"synchronous": "off"}, rows(10, 10))
	p := &protocol.Paginate{Table: "bench", Limit: 5, Repetitions: 6, Depths: []int64{6}}
	b.fails(protocol.Job{Paginate: p}, protocol.CodeUsage, "depths 6", "has 10 rows", "depth 5")
	p.Limit, p.Depths = 10, nil
	b.fails(protocol.Job{Paginate: p}, protocol.CodeDatabase, "too few")
	p.Limit = 5
	for _, id := range []string{"NULL", "'three'"} {
		b.script("UPDATE bench SET ID = " + id + " WHERE rowid = 4")
		b.fails(protocol.Job{Paginate: p}, protocol.CodeDatabase, "ID is NULL or a text")
	}
	p.Repetitions = 5
	b.fails(protocol.Job{Paginate: p}, protocol.CodeUsage, "repetitions 5", "at least 6")
	if _, err := os.Stat(b.path); err != nil {
		t.Error(err)
	}
}
