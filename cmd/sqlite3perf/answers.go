package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
)

type question struct {
	check func(format string) error // returns an error for a format in which the answer cannot be written
	read  func(*outputOptions, *stats.Analysis, loader) (answerWriter, error)
}

// loader loads and analyzes another run of the same store.
type loader func(run int64) (*stats.Analysis, error)

type answerWriter func(w io.Writer, format string, opts document.Options) error

var stored = map[string]question{
	result.QuestionAdvise: {advise.Formats.Check, func(_ *outputOptions, a *stats.Analysis, _ loader) (answerWriter, error) {
		l, err := advise.Stored(a.Run)
		return adviceWriter(a, l, nil), err
	}},
	result.QuestionCluster: {cluster.Formats.Check, func(_ *outputOptions, a *stats.Analysis, _ loader) (answerWriter, error) {
		c, err := cluster.Stored(a.Run)
		return clustersWriter(c), err
	}},
	result.QuestionDiff: {diff.Formats.Check, func(o *outputOptions, a *stats.Analysis, _ loader) (answerWriter, error) {
		d, err := diff.Stored(a.Run)
		return diffWriter(o, d), err
	}},
	result.QuestionLocks: {locks.Formats.Check, func(o *outputOptions, a *stats.Analysis, _ loader) (answerWriter, error) {
		l, err := locks.Stored(a)
		return locksWriter(o, l), err
	}},
	result.QuestionTune: {tune.Formats.Check, func(o *outputOptions, a *stats.Analysis, load loader) (answerWriter, error) {
		t, err := tune.Stored(a, load)
		return tuningWriter(o, t), err
	}},
}

func (o *outputOptions) printAnswer(env *environment, write answerWriter, again string) error {
	return o.print(env, func(w io.Writer, format string, opts document.Options) error {
		opts.Lines, opts.Hints = o.screen(env), allOfIt
		if again != "" {
			opts.Hints = document.Hints{Rest: []document.Hint{{Shows: "all of it", Command: inStore(o.store, again+" --full")}}}
		}
		return write(w, format, opts)
	}, o.again(cmp.Or(again, "the same command")))
}

// showAgain returns the command that prints the answer of a run, or "" if run is 0.
func showAgain(run int64) string {
	if run == 0 {
		return ""
	}
	return fmt.Sprintf("sqlite3perf show %d", run)
}

func (q *question) show(ctx context.Context, env *environment, o *outputOptions, a *stats.Analysis) error {
	write, err := q.read(o, a, analyzed(ctx, o.store))
	switch {
	case err != nil && a.Run.Unsampled() == "":
		return fmt.Errorf("run %d: %w: %s prints what was measured", a.Run.ID, err, figuresFlag)
	case err != nil:
		return fmt.Errorf("run %d: %w", a.Run.ID, err)
	}
	return o.printAnswer(env, write, showAgain(a.Run.ID))
}

const figuresFlag = "--figures"

func addFiguresFlag(f *pflag.FlagSet, figures *bool) {
	f.BoolVar(figures, figuresFlag[2:], false, "print the measurements, not the answer of a run")
}

// asksFor returns the question whose answer is to be printed for a run. It returns nil if the
// measured figures are to be printed. Formats that the answer does not have, such as csv, also
// print the figures.
func (o *outputOptions) asksFor(run *result.Run, figures bool) (*question, error) {
	if run.Answer == nil {
		return nil, nil
	}
	q, known := stored[run.Answer.Question]
	instead := run.Unsampled()
	switch {
	case figures && instead != "":
		return nil, usagef("run %d has %s instead of samples: leave out %s", run.ID, instead, figuresFlag)
	case figures || !known:
		return nil, nil
	}
	if err := q.check(o.format); err != nil {
		if instead == "" {
			return nil, nil
		}
		return nil, usagef("run %d has %s instead of samples: %w", run.ID, instead, err)
	}
	return &q, nil
}

type keeper interface {
	Keep() (*result.Answer, error)
}

// keepAnswer stores the answer with a run. If that fails, it prints a warning, and the answer is
// still printed.
func keepAnswer(ctx context.Context, env *environment, storeFile string, run int64, answer keeper) {
	_ = env.keep(ctx, storeFile, answer, func(st *store.Store, a *result.Answer) error { return st.SetAnswer(ctx, run, a) })
}

// keepRun stores a run that has an answer instead of samples, and returns the run's ID. If that
// fails, it prints the reason and returns 0.
func keepRun(ctx context.Context, env *environment, storeFile string, run *result.Run, answer keeper) int64 {
	run.Ended, run.Stopped = env.now().UTC(), cmp.Or(run.Stopped, result.StoppedRounds)
	err := env.keep(ctx, storeFile, answer, func(st *store.Store, a *result.Answer) error {
		run.Answer = a
		return st.Begin(ctx, run)
	})
	if err != nil {
		return 0
	}
	return run.ID
}

// keep opens a store and lets put store the answer in it. If that fails, keep prints the reason.
func (env *environment) keep(ctx context.Context, storeFile string, answer keeper, put func(*store.Store, *result.Answer) error) error {
	a, err := answer.Keep()
	var st *store.Store
	if err == nil {
		st, err = openStore(ctx, storeFile, store.Open)
	}
	if err == nil {
		defer st.Close()
		err = put(st, a)
	}
	if err != nil {
		fmt.Fprintf(env.stderr, "the answer is not stored: %v\n", err)
	}
	return err
}

// openStore opens the store file that the user named or, if file is "", the usual one.
func openStore(ctx context.Context, file string, open func(context.Context, string) (*store.Store, error)) (*store.Store, error) {
	path, err := storePath(file)
	if err != nil {
		return nil, err
	}
	return open(ctx, path)
}

// machineHere describes this machine, as far as it can be found out. dir is the directory of the
// databases.
func machineHere(dir string) result.Machine {
	m, _ := machine.Read(dir)
	if m.Hostname == "" {
		m.Hostname, _ = os.Hostname()
	}
	return machineIn(m, dir)
}

func analyzed(ctx context.Context, storeFile string) loader {
	return func(id int64) (*stats.Analysis, error) {
		st, err := openStore(ctx, storeFile, store.OpenReadOnly)
		if err != nil {
			return nil, err
		}
		defer st.Close()
		run, err := st.Load(ctx, id)
		if err != nil {
			return nil, err
		}
		return stats.Analyze(run, floorDriver), nil
	}
}
