// Package database has the commands that work on one of the user's databases and keep it: bench,
// concurrent, generate, paginate and pragma. Each command gives the driver's worker one job, and prints
// the job's result.
package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// databaseOptions are the flags that all commands on one database have.
type databaseOptions struct {
	db     string
	driver string
	table  string
	seed   string
	format string
	quiet  bool

	workers cli.WorkerOptions
}

func (o *databaseOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.db, "db", "sqlite3perf.db", "the database: `PATH[?options]`, with options in mattn's or modernc's spelling: 'a.db?_journal=wal&_sync=0'")
	f.StringVar(&o.driver, "driver", "mattn", "driver to use: mattn, mattn@v1.14.22, mattn:GOGC=400, mattn=../go-sqlite3, ./my-worker")
	cli.Reaching(f, cli.Executes, "driver")
	cli.Reaching(f, cli.Writes, "db")
	o.workers.AddFlags(f)
	f.StringVar(&o.format, "format", "table", "table or json")
	cli.AddQuietFlag(f, &o.quiet)
}

func (o *databaseOptions) addTableFlag(f *pflag.FlagSet) {
	f.StringVar(&o.table, "table", "bench", "`name` of the table")
	cli.Reaching(f, cli.Writes, "table")
}

func (o *databaseOptions) addSeedFlag(f *pflag.FlagSet) {
	f.StringVar(&o.seed, "seed", "", "`number` that all values are made from (default: random, below 2⁵³, and reported)")
}

// task is a job whose flags have been checked, with everything that is necessary to run it. Nothing
// has been created yet.
type task struct {
	env     *cli.Environment
	options *databaseOptions
	builder *build.Builder
	ref     build.Ref
	worker  string // path of the worker's executable, once it has been built or found
	request lab.JobRequest

	proof *protocol.Proof // what the worker reported after it opened the database; nil before that
}

func (o *databaseOptions) check(ctx context.Context, env *cli.Environment, j protocol.Job) (*task, error) {
	t := &task{env: env, options: o}
	t.request.Job = j
	if o.format != "table" && o.format != "json" {
		return nil, cli.Usagef("unknown format %q: %s", o.format, driver.Suggest(o.format, []string{"table", "json"}))
	}
	if err := t.request.Job.Check(); err != nil {
		var wrong *protocol.FieldError
		if errors.As(err, &wrong) {
			err = errors.New(cli.Flagged(wrong.Fields, wrong.Problem))
		}
		return nil, cli.WrongUsage(err)
	}
	var err error
	if t.request.Seed, err = cli.Seed(o.seed); err != nil {
		return nil, err
	}
	if err := t.checkDatabase(); err != nil {
		return nil, err
	}
	return t, t.checkDriver(ctx)
}

func (t *task) checkDatabase() (err error) {
	creates := t.request.Job.Generate != nil || t.request.Job.Concurrent != nil // other jobs need a file that exists
	path, _, _ := strings.Cut(t.options.db, "?")
	path = strings.TrimPrefix(path, "file:")
	if t.request.Settings, err = driver.ParseDSN(t.options.db); err != nil {
		return cli.Usagef("--db: %w", err)
	}
	if path == ":memory:" {
		path, t.request.Settings["mode"] = "memory.db", "memory"
	}
	if path == "" {
		return cli.Usagef("--db %q names no file: want PATH[?options], such as 'a.db?_journal=wal'", t.options.db)
	}
	t.request.Path = path
	mode := t.request.Settings["mode"]
	if mode == "memory" {
		if !creates {
			return cli.Usagef("--db %s: a database in memory is empty: want a file", t.options.db)
		}
		return nil
	}
	fi, err := os.Stat(path)
	switch {
	case err == nil && fi.IsDir():
		return cli.Usagef("--db %s is a directory: want a file", path)
	case err == nil && !fi.Mode().IsRegular():
		return cli.Usagef("--db %s is not a regular file", path)
	case errors.Is(err, fs.ErrNotExist):
		if !creates || mode == "rw" || mode == "ro" {
			return fmt.Errorf("there is no database %s: sqlite3perf generate --db %s makes one", path, path)
		}
		if dir := filepath.Dir(path); !cli.IsDirectory(dir) {
			return cli.NoDirectory("--db "+path, dir)
		}
	case err != nil:
		return fmt.Errorf("--db: %w", err)
	}
	if !creates && mode == "" {
		t.request.Settings["mode"] = "rw" // never create the file, even if it disappears now
	}
	return nil
}

func (t *task) checkDriver(ctx context.Context) error {
	shop, err := t.options.workers.Workshop()
	if err != nil {
		return err
	}
	refs, err := shop.Refs(ctx, t.options.driver)
	if err == nil {
		t.builder, t.ref = shop.Builder, refs[0]
	}
	return err
}

// prepare finds the worker of the driver, or builds it.
func (t *task) prepare(ctx context.Context, w *cli.Watcher) (err error) {
	if t.worker != "" {
		return nil
	}
	ctx, stop, release := t.env.Interruptible(ctx, w.Say, cli.Stopping)
	defer release()
	t.worker, _, err = t.builder.Worker(cli.Until(ctx, stop), t.ref, func() {
		w.Note("building the worker for %s", t.ref.Name)
	})
	switch {
	case cli.Interrupted(stop):
		w.Say("interrupted: nothing has been done")
		return cli.StatusError(cli.ExitInterrupted)
	case err != nil:
		return fmt.Errorf("driver %s: %w", t.ref.Name, err)
	}
	return nil
}

// run lets the driver's worker do the job. The first Ctrl-C stops the job in an orderly way, and
// the second one kills the worker. If a job fails and the worker reports how far it got, run
// returns the report with the error.
func (t *task) run(ctx context.Context, w *cli.Watcher) (*protocol.JobResult, error) {
	if err := t.prepare(ctx, w); err != nil {
		return nil, err
	}
	ctx, stop, release := t.env.Interruptible(ctx, w.Say, cli.Stopping)
	defer release()
	t.request.Ref = t.ref
	t.request.Ready = func(p *protocol.Proof) { t.proof = p }
	t.request.Progress = w.Progress
	res, err := lab.RunJob(ctx, t.worker, t.request, stop)
	w.Finish()
	var told *lab.JobError
	switch {
	case err == nil:
		res.Interrupted = res.Interrupted || cli.Interrupted(stop) // a Ctrl-C just before the job's end also counts as an interruption
		return res, nil
	case cli.Interrupted(stop) && ctx.Err() != nil:
		return nil, cli.StatusError(cli.ExitInterrupted)
	case errors.As(err, &told):
		err = fmt.Errorf("%s on %s: %s%s%s", t.request.Path, t.ref.Name, document.Line(cli.Flagged(told.Reason.Fields, told.Reason.Message)), conditions.Said(&told.Reason), hints[told.Reason.SQLite&0xff])
		if told.Reason.Code == protocol.CodeUsage {
			return nil, cli.WrongUsage(err)
		}
		return res, err
	}
	return nil, fmt.Errorf("driver %s: %w", t.ref.Name, err)
}

var hints = map[int]string{
	driver.CodeNotADB:   "; name an SQLite database with --db",
	driver.CodeBusy:     "; another process has it locked: end that, or wait longer with '?_busy_timeout=60s'",
	driver.CodeFull:     "; make room on its file system",
	driver.CodeReadonly: "; make it writable, or name another with --db",
	driver.CodeCantOpen: "; is its directory writable?",
}

// where describes the database that a job used.
func (t *task) where() string {
	name := t.ref.Name
	if p := t.proof; p != nil {
		if p.ModuleVersion != "" && t.ref.Version == "" && t.ref.Dir == "" {
			name += " " + document.Line(p.ModuleVersion)
		}
		name += ", SQLite " + document.Line(p.SQLiteVersion)
	}
	path := t.request.Path
	if strings.HasPrefix(t.options.db, ":memory:") {
		path = "the database in memory"
	}
	return fmt.Sprintf("%s (%s)", path, name)
}

// databaseOutput is the JSON that every command on one database prints.
type databaseOutput struct {
	Command       string              `json:"command"`
	Database      string              `json:"database"`
	Driver        string              `json:"driver"`
	ModuleVersion string              `json:"module_version,omitempty"`
	SQLiteVersion string              `json:"sqlite_version,omitempty"`
	Settings      driver.Settings     `json:"settings"`
	Seed          uint64              `json:"seed,omitempty"`
	Job           protocol.Job        `json:"job"`
	Result        *protocol.JobResult `json:"result"`
}

func (t *task) databaseOutput(command string, r *protocol.JobResult) *databaseOutput {
	d := &databaseOutput{
		Command: command, Database: t.request.Path, Driver: t.ref.Name, Settings: t.request.Settings,
		Job: t.request.Job, Result: r,
	}
	if t.proof != nil {
		d.ModuleVersion, d.SQLiteVersion = t.proof.ModuleVersion, t.proof.SQLiteVersion
	}
	if d.Job.Bench == nil && d.Job.Pragma == nil { // these jobs use no random numbers
		d.Seed = t.request.Seed
	}
	return d
}

// do checks and runs a job, and prints its result as [task.print] does.
func (o *databaseOptions) do(ctx context.Context, env *cli.Environment, command string, j protocol.Job, w *cli.Watcher,
	text func(*task, io.Writer, *protocol.JobResult) error) (*protocol.JobResult, error) {
	t, err := o.check(ctx, env, j)
	if err != nil {
		return nil, err
	}
	res, err := t.run(ctx, w)
	if err != nil {
		return nil, err
	}
	return res, t.print(command, res, func(out io.Writer) error { return text(t, out, res) })
}

// print prints the result of a job: as JSON, or as text by calling the function "text". It returns
// the exit status of an interruption if the job was interrupted.
func (t *task) print(command string, r *protocol.JobResult, text func(io.Writer) error) error {
	var err error
	if t.options.format == "json" {
		err = document.EncodeEscaped(t.env.Stdout, t.databaseOutput(command, r))
	} else {
		err = text(t.env.Stdout)
	}
	if err == nil && r.Interrupted {
		return cli.StatusError(cli.ExitInterrupted)
	}
	return err
}
