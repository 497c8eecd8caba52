package mattn_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/mattn"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
)

// TestSoakSuiteFinds breaks the driver in many ways, one at a time. For each way, the field "found"
// of [breakage] lists the checks of the conformance suite that must fail.
func TestSoakSuiteFinds(t *testing.T) {
	checks := map[string]drivertest.Check{}
	for _, c := range drivertest.Checks() {
		checks[c.Name] = c
	}
	asItIs := map[string]bool{} // checks that the unbroken driver has passed
	for name, b := range breakages() {
		for _, check := range b.found {
			t.Run(name+"/"+check, func(t *testing.T) {
				c, ok := checks[check]
				if !ok {
					t.Fatalf("no check %q", check)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if !asItIs[check] {
					if err := c.Test(ctx, mattn.New(), t.TempDir()); err != nil {
						t.Fatalf("the unbroken driver fails: %v", err)
					}
					asItIs[check] = true
				}
				err := c.Test(ctx, &broken{mattn.New(), b}, t.TempDir())
				if err == nil {
					t.Fatal("the check passes, although the driver is broken")
				}
				t.Log(err)
			})
		}
	}
}

// TestBusyWaitsBesideReader runs the check of busy_timeout with a reader that holds a read lock while
// a transaction commits. The check must pass nevertheless. Even without this reader, the commit may meet
// a read lock, because the other connection of the check holds one for a moment when it tries to write.
func TestBusyWaitsBesideReader(t *testing.T) {
	for _, c := range drivertest.Checks() {
		if c.Name != "locks/busy_timeout waits" {
			continue
		}
		dir := t.TempDir()
		how := breakage{script: func(sql string) string {
			if sql == "COMMIT" {
				readForAWhile(t, filepath.Join(dir, "test.db"))
			}
			return sql
		}}
		if err := c.Test(t.Context(), &broken{mattn.New(), how}, dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no such check")
}

// readForAWhile begins a read transaction, and returns when it holds the lock. Another goroutine
// ends the transaction 50 ms later.
func readForAWhile(t *testing.T, path string) {
	db, err := mattn.New().Open(t.Context(), path, driver.Settings{"busy_timeout": "0"})
	if err == nil {
		err = db.Script(t.Context(), "BEGIN; SELECT count(*) FROM t")
	}
	if err != nil {
		t.Error(err)
		return
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
}

// TestSoakLimitsAreProven checks that the suite reports declared limits of two kinds: limits that
// no check knows, and limits that the driver does not have.
func TestSoakLimitsAreProven(t *testing.T) {
	b := breakage{info: func(i *driver.Info) {
		i.Limits = maps.Clone(i.Limits)
		i.Limits["temp_store=file"], i.Limits["no such thing"], i.Limits["page_size"] = "untrue", "unknown", "true"
	}, settings: func(s driver.Settings) { delete(s, "page_size") }}
	got := drivertest.Failures(t.Context(), &broken{mattn.New(), b}, t.TempDir)
	want := []string{"limits", "settings/temp_store=file"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Fatalf("failures %q, want %q: %v", names, want, got)
	}
	if err := got["limits"].Error(); !strings.Contains(err, "no such thing") || strings.Contains(err, "page_size") {
		t.Errorf("limits: %v", err)
	}
}

// TestUnopenable expects the suite to report only one failure, of the check "open", for a driver
// whose scripts all fail.
func TestUnopenable(t *testing.T) {
	b := breakage{script: func(string) string { return "out of order" }}
	got := drivertest.Failures(t.Context(), &broken{mattn.New(), b}, t.TempDir)
	if len(got) != 1 || got["open"] == nil || !strings.Contains(got["open"].Error(), "syntax error") {
		t.Errorf("failures: %v", got)
	}
}

// TestFailuresNameTheLimit expects each failure to say which limit the driver must declare, or that
// no limit can be declared.
func TestFailuresNameTheLimit(t *testing.T) {
	b := breakage{settings: func(s driver.Settings) { delete(s, "cache_size") }, query: func(ctx context.Context, s driver.Stmt, b *driver.Batch, r int, visit func(driver.Row) error) error {
		return s.Query(ctx, b, r, func(row driver.Row) error {
			row[0].Null = false
			return visit(row)
		})
	}}
	d := &broken{mattn.New(), b}
	wanted := map[string]string{
		"settings/cache_size=100": `declare "cache_size=100" with the reason under limits in driver.json`,
		"values/NULL":             "every driver must do this: it cannot be declared as a limit",
	}
	for _, c := range drivertest.Checks() {
		if want, ok := wanted[c.Name]; ok {
			delete(wanted, c.Name)
			if err := driver.NewLimits(d.Info()).Judge(c.Key, c.Test(t.Context(), d, t.TempDir())); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: want %q", c.Name, err, want)
			}
		}
	}
	if len(wanted) > 0 {
		t.Errorf("no checks %v", wanted)
	}
}

// breakage is one way in which a driver may be wrong. Each function that is not nil changes or
// replaces the driver's method or value that has the name of the field.
type breakage struct {
	found    []string // names of the checks that must fail
	info     func(*driver.Info)
	settings func(driver.Settings)
	exec     func(ctx context.Context, s driver.Stmt, b *driver.Batch, lo, hi int) error
	query    func(ctx context.Context, s driver.Stmt, b *driver.Batch, r int, visit func(driver.Row) error) error
	script   func(string) string
	commit   func(ctx context.Context, t driver.Tx) error
	rollback func(ctx context.Context, t driver.Tx) error
	close    func(driver.DB) error
	waited   func(driver.DB) (int64, time.Duration)
	affected func(inTx bool, r driver.Result) driver.Result
}

// The function "without" returns the breakage of a driver that ignores a setting. The checks in
// "found" must fail.
func without(name string, found ...string) breakage {
	return breakage{found: found, settings: func(s driver.Settings) { delete(s, name) }}
}

// The function "change" returns the breakage of a driver that changes every row by f before the row
// is visited. The checks in "found" must fail.
func change(f func(driver.Row), found ...string) breakage {
	return breakage{found: found, query: func(ctx context.Context, s driver.Stmt, b *driver.Batch, r int, visit func(driver.Row) error) error {
		return s.Query(ctx, b, r, func(row driver.Row) error {
			f(row)
			return visit(row)
		})
	}}
}

func breakages() map[string]breakage {
	all := map[string]breakage{
		"txlock ignored":    without("txlock", "locks/txlock=immediate", "locks/txlock=exclusive"),
		"mode ignored":      without("mode", "open/mode=rw", "open/mode=ro", "open/mode=memory"),
		"cache ignored":     without("cache", "open/cache=shared"),
		"pool_size ignored": {found: []string{"pool/waits while all are taken"}, settings: func(s driver.Settings) { s["pool_size"] = "50" }},
		"waits not counted": {found: []string{"pool/counts who waits"}, waited: func(driver.DB) (int64, time.Duration) { return 0, 0 }},
		"waits counted for all": {found: []string{"pool/counts who waits"}, waited: func() func(driver.DB) (int64, time.Duration) {
			asked := int64(0)
			return func(driver.DB) (int64, time.Duration) { asked++; return asked, time.Duration(asked) }
		}()},
		"always a shared cache": {
			found: []string{"open/cache=private"}, settings: func(s driver.Settings) { s["cache"] = "shared" },
		},
		"busy_timeout always long": {
			found: []string{"settings/busy_timeout=0"}, settings: func(s driver.Settings) { s["busy_timeout"] = "5000" },
		},
		"integers off by one": change(func(r driver.Row) { r[len(r)-1].Int++ }, "values/int", "statements/100,000 rows", "statements/query with a row"),
		"NULL forgotten":      change(func(r driver.Row) { r[0].Null = false }, "values/NULL", "values/a row's cells are its own"),
		"NULL invented":       change(func(r driver.Row) { r[len(r)-1].Null = true }, "values/empty text", "values/empty blob"),
		"seconds for milliseconds": change(func(r driver.Row) {
			r[len(r)-1].Time = r[len(r)-1].Time.Truncate(time.Second)
		}, "values/time"),
		"text cut at NUL": change(func(r driver.Row) {
			r[len(r)-1].Text, _, _ = strings.Cut(r[len(r)-1].Text, "\x00")
		}, "values/text with NUL"),
		"integers through float64": change(func(r driver.Row) {
			r[len(r)-1].Int = int64(float64(r[len(r)-1].Int))
		}, "values/large int"),
		"infinity is a number": change(func(r driver.Row) {
			r[len(r)-1].Real = max(min(r[len(r)-1].Real, math.MaxFloat64), -math.MaxFloat64)
		}, "values/infinite real"),
		"literals are values": change(func(r driver.Row) {
			r[len(r)-1].Text = strings.TrimPrefix(r[len(r)-1].Text, "x'")
		}, "values/text like a literal"),
		"affected rows of a transaction are not told": {
			found: []string{"statements/rows affected in a transaction"},
			affected: func(inTx bool, r driver.Result) driver.Result {
				if inTx {
					return nil
				}
				return r
			},
		},
		"positive zero": change(func(r driver.Row) { r[0].Real += 0 }, "values/negative zero"),
		"rows in excess": {
			found: []string{"statements/ranges of rows"},
			exec: func(ctx context.Context, s driver.Stmt, b *driver.Batch, _, hi int) error {
				return s.Exec(ctx, b, 0, hi)
			},
		},
		"context ignored": {
			found: []string{"cancel/a query that gives none", "cancel/a query that gives rows", "cancel/a statement"},
			exec: func(ctx context.Context, s driver.Stmt, b *driver.Batch, lo, hi int) error {
				return s.Exec(context.WithoutCancel(ctx), b, lo, hi)
			},
			query: func(ctx context.Context, s driver.Stmt, b *driver.Batch, r int, visit func(driver.Row) error) error {
				return s.Query(context.WithoutCancel(ctx), b, r, visit)
			},
		},
		"visit error wrapped": {
			found: []string{"statements/visit error"},
			query: func(ctx context.Context, s driver.Stmt, b *driver.Batch, r int, visit func(driver.Row) error) error {
				if err := s.Query(ctx, b, r, visit); err != nil {
					return fmt.Errorf("query: %w", err)
				}
				return nil
			},
		},
		"visit error ignored": {
			found: []string{"statements/visit error"},
			query: func(ctx context.Context, s driver.Stmt, b *driver.Batch, r int, visit func(driver.Row) error) error {
				var first error
				err := s.Query(ctx, b, r, func(row driver.Row) error {
					first = errors.Join(first, visit(row))
					return nil
				})
				return errors.Join(err, first)
			},
		},
		"not read to the end": {
			found: []string{"statements/100,000 rows", "values/texts outlive the visit"},
			query: func(ctx context.Context, s driver.Stmt, b *driver.Batch, r int, visit func(driver.Row) error) error {
				n := 0
				return s.Query(ctx, b, r, func(row driver.Row) error {
					if n++; n > 999 {
						return nil
					}
					return visit(row)
				})
			},
		},
		"primary codes": {
			found: []string{"errors/SQLITE_CONSTRAINT_UNIQUE", "errors/SQLITE_CONSTRAINT_NOTNULL", "locks/SQLITE_BUSY_SNAPSHOT"},
			exec: func(ctx context.Context, s driver.Stmt, b *driver.Batch, lo, hi int) error {
				err := s.Exec(ctx, b, lo, hi)
				if e := (*driver.Error)(nil); errors.As(err, &e) {
					return &driver.Error{Code: e.Primary(), Err: e.Err}
				}
				return err
			},
		},
		"errors ignored": {
			found: []string{"errors/SQLITE_READONLY", "statements/reuse after an error", "locks/busy_timeout=0"},
			exec: func(ctx context.Context, s driver.Stmt, b *driver.Batch, lo, hi int) error {
				_ = s.Exec(ctx, b, lo, hi)
				return nil
			},
		},
		"script of one statement": {
			found: []string{"statements/script"},
			script: func(sql string) string {
				first, _, _ := strings.Cut(sql, ";\n")
				return first
			},
		},
		"texts that change": {
			found: []string{"values/texts outlive the visit"},
			query: func(ctx context.Context, s driver.Stmt, b *driver.Batch, r int, visit func(driver.Row) error) error {
				var held []driver.Row // the rows so far; visit gets the row before the current one
				return s.Query(ctx, b, r, func(row driver.Row) error {
					held = append(held, slices.Clone(row))
					return visit(held[max(0, len(held)-2)])
				})
			},
		},
		"rollback that commits": {
			found:    []string{"transactions/rollback", "transactions/one after the other", "transactions/that only writes"},
			rollback: func(ctx context.Context, t driver.Tx) error { return t.Commit(ctx) },
		},
		"commit that rolls back": {
			found:  []string{"transactions/commit", "transactions/one after the other", "transactions/that only writes"},
			commit: func(ctx context.Context, t driver.Tx) error { return t.Rollback(ctx) },
		},
		"close that does nothing": {
			found: []string{"close/leaves no file open"},
			close: func(driver.DB) error { return nil },
		},
	}
	for _, d := range driver.Vocabulary {
		if d.Pragma {
			all[d.Name+" ignored"] = without(d.Name, "settings/all")
		}
	}
	all["busy_timeout ignored"] = without("busy_timeout", "settings/busy_timeout=0", "settings/all")
	all["locking_mode ignored"] = without("locking_mode", "settings/locking_mode=exclusive", "settings/exclusive WAL database")
	all["mmap_size ignored"] = without("mmap_size", "settings/mmap_size=1048576", "settings/mmap_size maps the file")
	return all
}

type broken struct {
	driver.Driver
	how breakage
}

func (d *broken) Info() driver.Info {
	i := d.Driver.Info()
	if d.how.info != nil {
		d.how.info(&i)
	}
	return i
}

func (d *broken) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	s = maps.Clone(s)
	if d.how.settings != nil {
		d.how.settings(s)
	}
	x, err := d.Driver.Open(ctx, path, s)
	if err != nil {
		return nil, err
	}
	return &brokenDB{brokenRunner{x, d.how}, x}, nil
}

type brokenRunner struct {
	driver.Runner
	how breakage
}

func (r *brokenRunner) Script(ctx context.Context, sql string) error {
	if r.how.script != nil {
		sql = r.how.script(sql)
	}
	return r.Runner.Script(ctx, sql)
}

func (r *brokenRunner) Prepare(ctx context.Context, st driver.Statement) (driver.Stmt, error) {
	s, err := r.Runner.Prepare(ctx, st)
	if err != nil {
		return nil, err
	}
	return &brokenStmt{s, r.how, false}, nil
}

func (r *brokenRunner) Begin(ctx context.Context) (driver.Tx, error) {
	t, err := r.Runner.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &brokenTx{t, r.how}, nil
}

type brokenDB struct {
	brokenRunner
	db driver.DB
}

var _ driver.WaitCounter = (*brokenDB)(nil)

func (x *brokenDB) Conn(ctx context.Context) (driver.Conn, error) {
	c, err := x.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &brokenConn{brokenRunner{c, x.how}, c}, nil
}

func (x *brokenDB) Close() error {
	if x.how.close != nil {
		return x.how.close(x.db)
	}
	return x.db.Close()
}

func (x *brokenDB) Waited() (int64, time.Duration) {
	if x.how.waited != nil {
		return x.how.waited(x.db)
	}
	return x.db.(driver.WaitCounter).Waited()
}

type brokenConn struct {
	brokenRunner
	c driver.Conn
}

func (c *brokenConn) Close() error { return c.c.Close() }

type brokenTx struct {
	driver.Tx
	how breakage
}

func (t *brokenTx) Stmt(ctx context.Context, st driver.Stmt) (driver.Stmt, error) {
	inside, err := t.Tx.Stmt(ctx, st.(*brokenStmt).Stmt)
	if err != nil {
		return nil, err
	}
	return &brokenStmt{inside, t.how, true}, nil
}

func (t *brokenTx) Commit(ctx context.Context) error {
	if t.how.commit != nil {
		return t.how.commit(ctx, t.Tx)
	}
	return t.Tx.Commit(ctx)
}

func (t *brokenTx) Rollback(ctx context.Context) error {
	if t.how.rollback != nil {
		return t.how.rollback(ctx, t.Tx)
	}
	return t.Tx.Rollback(ctx)
}

type brokenStmt struct {
	driver.Stmt
	how  breakage
	inTx bool
}

func (s *brokenStmt) ExecResult(ctx context.Context, b *driver.Batch, r int) (driver.Result, error) {
	result, err := s.Stmt.ExecResult(ctx, b, r)
	if s.how.affected != nil {
		result = s.how.affected(s.inTx, result)
	}
	return result, err
}

func (s *brokenStmt) Exec(ctx context.Context, b *driver.Batch, lo, hi int) error {
	if s.how.exec != nil {
		return s.how.exec(ctx, s.Stmt, b, lo, hi)
	}
	return s.Stmt.Exec(ctx, b, lo, hi)
}

func (s *brokenStmt) Query(ctx context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	if s.how.query != nil {
		return s.how.query(ctx, s.Stmt, b, r, visit)
	}
	return s.Stmt.Query(ctx, b, r, visit)
}
