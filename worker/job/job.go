// Package job implements what the commands generate, bench, pragma, concurrent and
// paginate make a worker do on a user's database, and diff and cluster on a new one, using
// the driver that the worker contains.
package job

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Database is the database that a job works on.
type Database struct {
	DB       driver.DB
	Path     string
	Settings driver.Settings // the settings it was opened with
	Seed     uint64          // the seed for making values
	Proof    *protocol.Proof // the settings read back

	// Open opens the database again, with the same settings changed by over.
	Open func(ctx context.Context, over driver.Settings) (driver.DB, error)

	// CPU returns the CPU time in nanoseconds that this process has used, and that its
	// children have. PeakRSS returns the most memory that this process has held, or those
	// of its children that live. What is not known is 0.
	CPU     func() (own, children int64)
	PeakRSS func(children bool) int64
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

// refuse is an error that other values of fields prevent.
func refuse(code, problem string, fields ...string) error {
	e := &protocol.FieldError{Problem: problem}
	for _, f := range fields {
		e.Fields = append(e.Fields, protocol.Field{Name: f})
	}
	return &Error{code, e}
}

// runner runs one kind of job.
type runner interface {
	run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) error
}

// The kinds of jobs. Each adds to the request how it is run.
type (
	generate   struct{ *protocol.Generate }
	bench      struct{ *protocol.Bench }
	pragma     struct{ *protocol.Pragma }
	concurrent struct{ *protocol.Concurrent }
	paginate   struct{ *protocol.Paginate }
	answers    struct{ *protocol.Answers }
	cluster    struct{ *protocol.Cluster }
)

// runnerOf returns the runner of a job that has been checked.
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
	case j.Answers != nil:
		return answers{j.Answers}
	case j.Cluster != nil:
		return cluster{j.Cluster}
	default:
		return paginate{j.Paginate}
	}
}

// MayWrite refuses a job that would write to a database or table that is not
// sqlite3perf's or does not have the required form. It writes nothing.
func MayWrite(ctx context.Context, j *protocol.Job, db driver.DB) error {
	switch {
	case j.Generate != nil:
		return generate{j.Generate}.mayMake(ctx, db)
	case j.Concurrent != nil:
		return concurrent{j.Concurrent}.mayWrite(ctx, db)
	case j.Answers != nil:
		return answers{j.Answers}.mayWrite(ctx, db)
	case j.Cluster != nil:
		return cluster{j.Cluster}.mayWrite(ctx, db)
	}
	return nil
}

// Run does the job. When ctx ends it stops in an orderly way, leaving the database
// consistent, and returns what it has done. If the job fails, Concurrent also returns
// what it has done, with the error. The errors of other jobs say how far they got.
// Tell is called from one goroutine at a time.
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

// Interrupted reports whether err was caused by the end of ctx.
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

// texts runs a query that returns one column of text.
func texts(ctx context.Context, r driver.Runner, sql string) (list []string, err error) {
	err = query(ctx, r, sql, []driver.ColumnType{{Type: driver.Text}}, func(row driver.Row) error {
		list = append(list, row[0].Text)
		return nil
	})
	return list, err
}

// number runs a query that returns one number.
func number(ctx context.Context, r driver.Runner, sql string) (n int64, err error) {
	err = query(ctx, r, sql, []driver.ColumnType{{Type: driver.Int}}, func(row driver.Row) error {
		n = row[0].Int
		return nil
	})
	return n, err
}
