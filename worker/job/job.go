// Package job is what the commands generate, bench, pragma, concurrent and
// paginate have a worker do, on a database of the user's, through whichever
// driver the worker has in it.
package job

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/result"
)

// Job says what to do: exactly one of its fields is set.
type Job struct {
	Generate   *Generate   `json:"generate,omitempty"`
	Bench      *Bench      `json:"bench,omitempty"`
	Pragma     *Pragma     `json:"pragma,omitempty"`
	Concurrent *Concurrent `json:"concurrent,omitempty"`
	Paginate   *Paginate   `json:"paginate,omitempty"`
}

// Result is what a job has found out, in the field of the job's name.
type Result struct {
	// Interrupted says that the job was stopped before its end; what it has
	// done until then is in the result.
	Interrupted bool `json:"interrupted,omitempty"`

	Generate   *Generated   `json:"generate,omitempty"`
	Bench      *Benched     `json:"bench,omitempty"`
	Pragma     []PragmaRead `json:"pragma,omitempty"`
	Concurrent *Concurred   `json:"concurrent,omitempty"`
	Paginate   *Paginated   `json:"paginate,omitempty"`
}

// Progress tells how a job goes on.
type Progress struct {
	Stage     string    `json:"stage,omitempty"`      // create, insert, vacuum, first-row, rows, second, repetitions
	ElapsedNS int64     `json:"elapsed_ns,omitempty"` // of the stage; first-row: since the query
	Rows      int64     `json:"rows,omitempty"`       // so far
	Second    *Activity `json:"second,omitempty"`     // concurrent: since the one before
	FirstRow  []string  `json:"first_row,omitempty"`  // bench
}

// Database is what a job works on.
type Database struct {
	DB       driver.DB
	Path     string
	Settings driver.Settings // that it was opened with
	Seed     uint64          // that values are made from
	Proof    *result.Proof   // what has been read back

	// Open opens it once more, with the same settings changed by over.
	Open func(ctx context.Context, over driver.Settings) (driver.DB, error)
}

// Error is an error with a code for the lab, as in [result.Reason].
type Error struct {
	Code string
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// The codes of errors that are not SQLite's.
const (
	CodeUsage    = "usage"    // an option that this database or driver cannot serve
	CodeForeign  = "foreign"  // a database that sqlite3perf did not make
	CodeDatabase = "database" // one that lacks what the job needs
	CodePartial  = "partial"  // a job that failed half-way; the message says how far it came
)

func errorf(code, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// runner is what every job is.
type runner interface {
	check() error
	run(ctx context.Context, d *Database, tell func(Progress), r *Result) error
}

// chosen is the one job that is set.
func (j *Job) chosen() (runner, error) {
	var list []runner
	if j.Generate != nil {
		list = append(list, j.Generate)
	}
	if j.Bench != nil {
		list = append(list, j.Bench)
	}
	if j.Pragma != nil {
		list = append(list, j.Pragma)
	}
	if j.Concurrent != nil {
		list = append(list, j.Concurrent)
	}
	if j.Paginate != nil {
		list = append(list, j.Paginate)
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("a job is exactly one of generate, bench, pragma, concurrent and paginate, not %d of them", len(list))
	}
	return list[0], nil
}

// Check looks for what cannot be done whatever the database.
func (j *Job) Check() error {
	r, err := j.chosen()
	if err != nil {
		return err
	}
	return r.check()
}

// MayWrite refuses a job that would write to what is not sqlite3perf's, or not
// of the form that it needs. It writes nothing.
func (j *Job) MayWrite(ctx context.Context, db driver.DB) error {
	switch {
	case j.Generate != nil:
		return j.Generate.mayMake(ctx, db)
	case j.Concurrent != nil:
		return j.Concurrent.mayWrite(ctx, db)
	}
	return nil
}

// Run does the job. When ctx ends it stops in good order, leaving the database
// consistent, and returns what it has done. When it fails, so does Concurrent,
// beside the error; the others say in words how far they have come. Tell is
// called from one goroutine at a time.
func (j *Job) Run(ctx context.Context, d *Database, tell func(Progress)) (*Result, error) {
	if err := j.Check(); err != nil {
		return nil, &Error{CodeUsage, err}
	}
	r, err := j.chosen()
	if err != nil {
		return nil, err
	}
	res := &Result{}
	var one sync.Mutex
	told := func(p Progress) {
		one.Lock()
		defer one.Unlock()
		tell(p)
	}
	if err := r.run(ctx, d, told, res); err != nil {
		if Interrupted(ctx, err) {
			res.Interrupted = true
			return res, nil
		}
		if res.Concurrent == nil {
			return nil, err
		}
		return res, err
	}
	return res, nil
}

// Interrupted reports whether err is what the end of ctx has led to.
func Interrupted(ctx context.Context, err error) bool {
	var e *driver.Error
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.As(err, &e) && e.Primary() == driver.CodeInterrupt)
}

// query prepares, runs and closes one statement without parameters.
func query(ctx context.Context, r driver.Runner, sql string, columns []driver.ColumnType, visit func(driver.Row) error) error {
	stmt, err := r.Prepare(ctx, driver.Statement{SQL: sql, Columns: columns})
	if err != nil {
		return err
	}
	return errors.Join(stmt.Query(ctx, nil, 0, visit), stmt.Close())
}

// number runs a query for one number.
func number(ctx context.Context, r driver.Runner, sql string) (n int64, err error) {
	err = query(ctx, r, sql, []driver.ColumnType{{Type: driver.Int}}, func(row driver.Row) error {
		n = row[0].Int
		return nil
	})
	return n, err
}
