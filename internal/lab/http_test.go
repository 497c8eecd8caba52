package lab_test

import (
	"context"
	sql "database/sql/driver"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// storesSQLite returns a driver for the SQLite library with which sqlite3perf stores its results.
func storesSQLite() driver.Driver {
	return sqldriver.New(sqldriver.Library{
		Info: driver.Info{Name: "engine", Kind: driver.Transpiled, Interface: driver.DatabaseSQL},
		Connector: func(path string, s driver.Settings) (sql.Connector, error) {
			own := url.Values{}
			if l := s["txlock"]; l != "" {
				own.Set("_txlock", l)
			}
			return sqldriver.Connector(&sqlite.Driver{}, s.URI(path, own), s.Pragmas()), nil
		},
		Code: func(err error) int {
			var e *sqlite.Error
			if errors.As(err, &e) {
				return e.Code()
			}
			return 0
		},
		LimitAttached: sqldriver.TranspiledLimitAttached(sqlite3.Xsqlite3_limit),
	})
}

// server runs a real worker whose driver has the given fault. A fault of queries begins at the 400th query,
// or at the 10th query if the fault's name ends in "-at-once". Faults of locks begin at other queries.
func server(fault string) {
	d := &faultyDriver{Driver: storesSQLite(), from: 400}
	fault, atOnce := strings.CutSuffix(fault, "-at-once")
	if atOnce {
		d.from = 10
	}
	fault = inProcess(d, fault)
	switch fault {
	case "drops", "doubles", "swaps":
		d.insert = fault
	case "wrong":
		d.fault = wrongValue
	case "error":
		d.fault = func(driver.Row) error { return &driver.Error{Code: 10, Err: errors.New("disk I/O error")} }
	case "locked":
		d.from, d.fault = 590, func(driver.Row) error { return &driver.Error{Code: 261, Err: errors.New("database is locked")} }
	case "always-locked":
		d.from, d.fault = 301, func(driver.Row) error { return &driver.Error{Code: 5, Err: errors.New("database is locked")} }
	case "dies":
		d.fault = func(driver.Row) error { println("the last words"); os.Exit(3); return nil }
	case "hangs":
		d.fault = func(driver.Row) error { select {} }
	case "panics":
		d.fault = func(driver.Row) error { panic("out of sorts") }
	}
	worker.Main(d)
	os.Exit(0)
}

func wrongValue(r driver.Row) error { r[1].Int++; return nil }

type faultyDriver struct {
	driver.Driver
	from    int64
	fault   func(driver.Row) error
	queries atomic.Int64
	insert  string // how the first row of every INSERT is wrong: "drops", "doubles" or "swaps"; "": not wrong
}

func (d *faultyDriver) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	db, err := d.Driver.Open(ctx, path, s)
	return faultyDB{db, d}, err
}

func (x faultyDB) Conn(ctx context.Context) (driver.Conn, error) {
	c, err := x.DB.Conn(ctx)
	if err != nil || x.d.insert == "" {
		return c, err
	}
	return faultyConn{c, x.d}, nil
}

type faultyConn struct {
	driver.Conn
	d *faultyDriver
}

func (x faultyConn) Prepare(ctx context.Context, st driver.Statement) (driver.Stmt, error) {
	s, err := x.Conn.Prepare(ctx, st)
	return faultyInsert{s, x.d}, err
}

func (x faultyConn) Begin(ctx context.Context) (driver.Tx, error) {
	tx, err := x.Conn.Begin(ctx)
	return faultyTx{tx}, err
}

type faultyTx struct{ driver.Tx }

func (x faultyTx) Stmt(ctx context.Context, st driver.Stmt) (driver.Stmt, error) {
	own := st.(faultyInsert)
	s, err := x.Tx.Stmt(ctx, own.Stmt)
	return faultyInsert{s, own.d}, err
}

// faultyInsert is a statement that inserts wrong rows. Depending on the fault, it leaves out the first row of
// a batch, inserts that row twice, or inserts the second row in its place.
type faultyInsert struct {
	driver.Stmt
	d *faultyDriver
}

func (x faultyInsert) Exec(ctx context.Context, b *driver.Batch, lo, hi int) error {
	switch x.d.insert {
	case "drops":
		lo += b.PerExec
	case "doubles":
		if err := x.Stmt.Exec(ctx, b, lo, lo+b.PerExec); err != nil {
			return err
		}
	case "swaps":
		if err := x.Stmt.Exec(ctx, b, lo+b.PerExec, lo+2*b.PerExec); err != nil {
			return err
		}
		lo += b.PerExec
	}
	return x.Stmt.Exec(ctx, b, lo, hi)
}

type faultyDB struct {
	driver.DB
	d *faultyDriver
}

func (x faultyDB) Prepare(ctx context.Context, st driver.Statement) (driver.Stmt, error) {
	s, err := x.DB.Prepare(ctx, st)
	if strings.HasPrefix(st.SQL, "SELECT * FROM foo") {
		s = faultyStmt{s, x.d}
	}
	return s, err
}

type faultyStmt struct {
	driver.Stmt
	d *faultyDriver
}

func (x faultyStmt) Query(ctx context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	n := x.d.queries.Add(1)
	return x.Stmt.Query(ctx, b, r, func(row driver.Row) error {
		if x.d.fault != nil && n >= x.d.from {
			if err := x.d.fault(row); err != nil {
				return err
			}
		}
		return visit(row)
	})
}

// httpCase returns a case for a worker with a fault. Its workload is the text in the parameter "yaml". If
// that is "", it is the built-in workload http-server. In http-server, 300 requests are verified before
// four clients send them again.
func httpCase(t *testing.T, fault, yaml string, settings map[string][]string) *lab.Case {
	t.Helper()
	w, err := workload.Load("http-server")
	if yaml != "" {
		w, err = workload.Parse("test.yaml", []byte(yaml), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	executable := faulty(t, "server-"+fault)
	var parameters map[string][]int64
	if yaml == "" {
		parameters = map[string][]int64{"rows": {100}, "requests": {300}, "connections": {4}, "pool": {3}}
	}
	return casesOf(t, executable, 7, settings, parameters, w)[0]
}

func httpTrial(t *testing.T, c *lab.Case, limit time.Duration, ceiling float64) *result.Trial {
	t.Helper()
	dir := t.TempDir()
	p := &lab.Processes{Dir: dir, Limit: limit}
	if ceiling > 0 {
		p.SetCeiling(4, ceiling)
	}
	got, err := p.Trial(t.Context(), c, 7)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != result.OK || got.Loaded == "" { // if the trial loaded a database, it stays in dir for the next trial
		empty(t, dir)
	}
	return got
}

func TestHTTPTrial(t *testing.T) {
	t.Parallel()
	got := httpTrial(t, httpCase(t, "none", "", map[string][]string{"pool_idle": {"2"}}), time.Minute, 0)
	if got.Status != result.OK {
		t.Fatalf("%s: %+v", got.Status, got.Reason)
	}
	if c := got.Proof.Connections; len(c) != 3 || c[2]["pool_idle"] != "2" || c[2]["journal_mode"] != "wal" {
		t.Errorf("proof %v", c)
	}
	if len(got.Samples) != 1 {
		t.Fatalf("%d samples", len(got.Samples))
	}
	s := got.Samples[0]
	if s.Phase != "requests" || s.Metric != "time/op" || s.Operations != 300 || s.Rows != 300 || s.WallNS <= 0 || len(s.Checksum) != 64 {
		t.Errorf("%+v", s)
	}
	if len(s.Latency) != 1 || s.Latency[0].Count != 300 || s.Latency[0].Operation != "requests" || s.Latency[0].Histogram == "" {
		t.Errorf("latency %+v", s.Latency)
	}
	if s.UserNS+s.SystemNS <= 0 || s.PeakRSSBytes <= 0 || s.Allocs <= 0 || s.DatabaseBytes <= 0 {
		t.Errorf("the server's own figures: %+v", s)
	}
	if s.Load == nil || s.Load.Clients != 4 || s.Load.Rate != 0 || s.Load.Ceiling <= 0 {
		t.Errorf("load %+v", s.Load)
	}
	if again := httpTrial(t, httpCase(t, "none", "", nil), time.Minute, 1); again.Samples[0].Checksum != s.Checksum {
		t.Error("two trials with the same seed have different checksums")
	}
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	for ceiling, near := range map[float64]bool{1: true, 1e9: false} {
		got := httpTrial(t, httpCase(t, "none", "", nil), time.Minute, ceiling)
		if got.Status != result.OK || got.Samples[0].Load.Ceiling != ceiling {
			t.Fatalf("%+v", got)
		}
		warned := len(got.Warnings) == 1 && got.Warnings[0].Code == "ceiling" && got.Warnings[0].Phase == "requests" &&
			strings.Contains(got.Warnings[0].Message, "with 4 connections to a server that does nothing")
		if warned != near {
			t.Errorf("ceiling %v: warnings %+v", ceiling, got.Warnings)
		}
	}
}

// TestCeilingAgain checks that the ceiling, the rate that the load generator can reach, is measured
// again after it has expired.
func TestCeilingAgain(t *testing.T) {
	t.Parallel()
	c := httpCase(t, "none", "", nil)
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
	p.SetCeiling(4, 7)
	for _, again := range []bool{false, true} {
		if again {
			p.CeilingsEnd()
		}
		got, err := p.Trial(t.Context(), c, 7)
		if err != nil || got.Status != result.OK {
			t.Fatalf("%v, %+v", err, got)
		}
		if ceiling := got.Samples[0].Load.Ceiling; (ceiling != 7) != again || ceiling <= 0 {
			t.Errorf("ceiling %v, measured again: %v", ceiling, again)
		}
	}
}

func TestLate(t *testing.T) {
	for _, test := range []struct {
		late, p99 int64
		want      bool
	}{{0, 1000, false}, {500, 1000, false}, {501, 1000, true}, {2000, 1000, true}} {
		m := &result.Sample{Load: &result.Load{Rate: 100, LateP99NS: test.late}, Latency: []latency.Summary{{P99NS: test.p99}}}
		if got := lab.Late(m); got != test.want {
			t.Errorf("%d ns late of %d: %v", test.late, test.p99, got)
		}
	}
}

const fixedRate = `
name: fixed-rate
settings: {pool_size: 2}
schema: CREATE TABLE foo (id INTEGER PRIMARY KEY, value TEXT, at INTEGER)
rows:
  foo: {count: 50, columns: {id: serial, value: {text: [0, 9], nulls: 20%}, at: {time: 2024-01-01T00:00:00Z, step: 1s}}}
phases:
  - {name: load, untimed: true, insert: foo}
  - name: requests
    http: SELECT * FROM foo WHERE id = :id
    parameters: {id: {pick: foo.id}}
    columns: {id: int, "the value": text or null, at: time}
    expect: {returns: foo}
    clients: 4
    count: 100
    rate: RATE
  - name: again
    http: SELECT * FROM foo WHERE id = :id
    parameters: {id: {int: [1, 50]}}
    columns: {id: int, value: text or null, at: time}
    duration: 50ms
`

func TestHTTPRate(t *testing.T) {
	t.Parallel()
	got := httpTrial(t, httpCase(t, "none", strings.Replace(fixedRate, "RATE", "2_000", 1), nil), time.Minute, 1e9)
	if got.Status != result.OK || len(got.Samples) != 2 {
		t.Fatalf("%s: %+v", got.Status, got.Reason)
	}
	s := got.Samples[0]
	if s.Metric != "latency" || s.Load.Rate != 2000 || s.Load.LateP99NS <= 0 || s.Operations != 100 || s.Value() <= 0 {
		t.Errorf("%+v, load %+v", s, s.Load)
	}
	if s := got.Samples[1]; s.Metric != "time/op" || s.Operations == 0 || s.Load.Clients != 1 || s.Load.Ceiling <= 0 {
		t.Errorf("%+v, load %+v", s, s.Load)
	}
	// No server answers ten million requests per second here.
	got = httpTrial(t, httpCase(t, "none", strings.Replace(fixedRate, "RATE", "10_000_000", 1), nil), time.Minute, 1e9)
	if got.Status != result.OK || len(got.Warnings) == 0 || got.Warnings[0].Code != "rate" || !strings.Contains(got.Warnings[0].Message, "instead of 10000000") {
		t.Errorf("%s: %+v, warnings %+v", got.Status, got.Reason, got.Warnings)
	}
}

func TestHTTPFaults(t *testing.T) {
	t.Parallel()
	unknown := strings.Replace(strings.Replace(fixedRate, "RATE", "100_000", 1), "    expect: {returns: foo}\n", "", 1)
	unknown = strings.Replace(strings.Replace(unknown, "count: 100", "count: 300", 1), "text or null", "int", 2)
	unknown = strings.ReplaceAll(unknown, "{text: [0, 9], nulls: 20%}", "{int: [1, 9]}")
	unknown = strings.Replace(unknown, "value TEXT", "value INTEGER", 1)
	for _, c := range []struct {
		fault, yaml string
		status      result.Status
		code        string
		parts       []string // parts of the reason's message and detail
	}{
		{"wrong-at-once", "", result.Wrong, "answer", []string{"before the load", "of 300 requests were answered as expected", "GET /?id=", "expected"}},
		{"wrong", "", result.Wrong, "answer", []string{"of 300 answers are not the expected ones", "GET /?id="}},
		{"wrong", unknown, result.Wrong, "answer", []string{"of 300 answers are not the expected ones"}},
		{"error", "", result.Failed, "http", []string{"status", "500", "disk I/O error"}},
		{"error-at-once", "", result.Failed, "http", []string{"before the load", "status 291", "disk I/O error"}},
		{"dies-at-once", "", result.Failed, "http", []string{"before the load", "lost", "the last words"}},
		{"panics", "", result.Failed, "http", []string{"lost", "EOF", "out of sorts"}},
		{"dies", "", result.Failed, "crash", []string{"exit status 3", "of 300 requests were answered as expected", "lost", "connect", "connection refused", "not sent", "the last words"}},
		{"always-locked", "", result.Failed, "no-operation", []string{"status 300", "database is locked"}},
	} {
		t.Run(c.fault+" "+c.code, func(t *testing.T) {
			t.Parallel()
			got := httpTrial(t, httpCase(t, c.fault, c.yaml, nil), time.Minute, 1e9)
			if got.Status != c.status || got.Reason == nil || got.Reason.Code != c.code || got.Reason.Phase != "requests" {
				t.Fatalf("%s: %+v", got.Status, got.Reason)
			}
			if strings.Contains(got.Reason.Message, "\n") {
				t.Errorf("the message has more than one line: %q", got.Reason.Message)
			}
			for _, p := range c.parts {
				if !strings.Contains(got.Reason.Message+"\n"+got.Reason.Detail, p) {
					t.Errorf("no %q in %q\n%s", p, got.Reason.Message, got.Reason.Detail)
				}
			}
		})
	}
}

// TestHTTPLocked checks that requests that fail because of a lock are counted by SQLite's
// code, and do not fail the trial.
func TestHTTPLocked(t *testing.T) {
	t.Parallel()
	got := httpTrial(t, httpCase(t, "locked", "", nil), time.Minute, 1e9)
	if got.Status != result.OK {
		t.Fatalf("%s: %+v", got.Status, got.Reason)
	}
	s := got.Samples[0]
	if len(s.Errors) != 1 || s.Operations != 300 || s.Failed != 11 || s.Rows != 289 || s.Latency[0].Count != 300 || s.Latency[0].Failed != 11 {
		t.Fatalf("%+v", s)
	}
	e := s.Errors[0]
	e.WaitNS = 0
	if diff := cmp.Diff(protocol.ErrorCount{Code: 261, Name: "SQLITE_BUSY_RECOVERY", Count: 11}, e); diff != "" || s.Errors[0].WaitNS <= 0 {
		t.Errorf("%s, %+v", diff, s.Errors[0])
	}
}

func TestHTTPHangs(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"hangs", "hangs-at-once"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			got := httpTrial(t, httpCase(t, fault, "", nil), 10*time.Second, 1e9)
			if got.Status != result.Failed || got.Reason == nil || got.Reason.Code != "timeout" || got.Reason.Phase != "requests" {
				t.Fatalf("%s: %+v", got.Status, got.Reason)
			}
		})
	}
}

// TestHTTPOldWorker checks the message about a worker that does not know requests of type
// serve.
func TestHTTPOldWorker(t *testing.T) {
	t.Parallel()
	c := httpCase(t, "none", "", nil)
	c.Worker = faulty(t, "no-server")
	got := httpTrial(t, c, time.Minute, 0)
	if got.Status != result.Failed || got.Reason == nil || got.Reason.Code != "protocol" || !strings.Contains(got.Reason.Message, `unknown request "serve"`) {
		t.Fatalf("%s: %+v", got.Status, got.Reason)
	}
}
