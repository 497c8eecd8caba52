// Package job does the jobs of a worker. The jobs of the commands generate, bench, pragma,
// concurrent and paginate work on a user's database. The jobs of the commands diff, cluster and
// crash work on a new database.
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
	Settings driver.Settings // the settings that the database was opened with
	Seed     uint64          // the seed from which values are generated
	Proof    *protocol.Proof // the settings that the worker has read back

	// Open opens the database again, with the same settings.
	Open func(ctx context.Context) (driver.DB, error)

	// CPU returns the CPU time in nanoseconds of this process and of its children. PeakRSS returns
	// the peak memory in bytes of this process. If the parameter of PeakRSS is true, it returns the
	// peak memory of the living children instead. CPU and PeakRSS return 0 if the system does not
	// report these values.
	CPU     func() (own, children int64)
	PeakRSS func(children bool) int64
}

// Error is an error with a code, which becomes the code of a [protocol.Reason].
type Error struct {
	Code string
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func errorf(code, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// refuse returns an error about a request. The parameter "problem" is the error's message. The
// parameter "fields" has the names of the job's fields whose values the user can change to avoid
// the error.
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

// The kinds of jobs. Each type adds a method "run" to the request that the lab has sent.
type (
	generate   struct{ *protocol.Generate }
	bench      struct{ *protocol.Bench }
	pragma     struct{ *protocol.Pragma }
	concurrent struct{ *protocol.Concurrent }
	paginate   struct{ *protocol.Paginate }
	answers    struct{ *protocol.Answers }
	cluster    struct{ *protocol.Cluster }
	commit     struct{ *protocol.Commit }
)

// runnerOf returns the runner of a job. The job must have passed Check.
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
	case j.Commit != nil:
		return commit{j.Commit}
	default:
		return paginate{j.Paginate}
	}
}

// MayWrite returns an error if the job may not write to the database, for example because
// sqlite3perf did not create the database, because a table lacks a required column, or because
// the job needs a new database. MayWrite itself writes nothing.
func MayWrite(ctx context.Context, j *protocol.Job, db driver.DB) error {
	if w, ok := runnerOf(j).(interface {
		mayWrite(ctx context.Context, r driver.Runner) error
	}); ok {
		return w.mayWrite(ctx, db)
	}
	return nil
}

// mustBeNew returns an error if the database has tables. The message of the error includes the
// parameter "reason".
func mustBeNew(ctx context.Context, r driver.Runner, reason string) error {
	n, err := driver.Number(ctx, r, "SELECT count(*) FROM sqlite_master")
	if err == nil && n > 0 {
		err = errorf(protocol.CodeForeign, "the database has tables already: %s", reason)
	}
	return err
}

// Run does the job. When ctx ends, Run leaves the database consistent and returns a partial result.
// If a job of the kind "concurrent" fails, Run returns both its partial result and the error. If
// another job fails, Run returns only the error. Only one goroutine at a time calls the function
// "tell".
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
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || driver.PrimaryCode(err) == driver.CodeInterrupt)
}
