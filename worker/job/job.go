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
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Database is what a job works on.
type Database struct {
	DB       driver.DB
	Path     string
	Settings driver.Settings // that it was opened with
	Seed     uint64          // that values are made from
	Proof    *protocol.Proof // what has been read back

	// Open opens it once more, with the same settings changed by over.
	Open func(ctx context.Context, over driver.Settings) (driver.DB, error)
}

// Error is an error with a code for the lab, as in [protocol.Reason].
type Error struct {
	Code string
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func errorf(code, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// runner runs one kind of job.
type runner interface {
	run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) error
}

// The kinds of jobs: what is asked for, with how it is done.
type (
	generate   struct{ *protocol.Generate }
	bench      struct{ *protocol.Bench }
	pragma     struct{ *protocol.Pragma }
	concurrent struct{ *protocol.Concurrent }
	paginate   struct{ *protocol.Paginate }
)

// runnerOf is the runner of a job that has been checked.
func runnerOf(j *protocol.Job) runner {
	switch {
	case j.Generate != nil:
		return generate{j.Generate}
	case j.Bench != nil:
		return bench{j.Bench}
	case j.Pragma != nil:
		return pragma{j.Pragma}
	case j.Concurrent != nil:
		return concurrent{j.Concurrent}
	default:
		return paginate{j.Paginate}
	}
}

// MayWrite refuses a job that would write to what is not sqlite3perf's, or not
// of the form that it needs. It writes nothing.
func MayWrite(ctx context.Context, j *protocol.Job, db driver.DB) error {
	switch {
	case j.Generate != nil:
		return generate{j.Generate}.mayMake(ctx, db)
	case j.Concurrent != nil:
		return concurrent{j.Concurrent}.mayWrite(ctx, db)
	}
	return nil
}

// Run does the job. When ctx ends it stops in good order, leaving the database
// consistent, and returns what it has done. When it fails, so does Concurrent,
// beside the error; the others say in words how far they have come. Tell is
// called from one goroutine at a time.
func Run(ctx context.Context, j *protocol.Job, d *Database, tell func(protocol.Progress)) (*protocol.JobResult, error) {
	if err := j.Check(); err != nil {
		return nil, &Error{protocol.CodeUsage, err}
	}
	res := &protocol.JobResult{}
	var one sync.Mutex
	told := func(p protocol.Progress) {
		one.Lock()
		defer one.Unlock()
		tell(p)
	}
	if err := runnerOf(j).run(ctx, d, told, res); err != nil {
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
