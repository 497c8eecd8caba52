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

// question is a question whose answers are stored with runs.
type question struct {
	check func(format string) error // refuses a format that its answers do not have
	read  func(*outputOptions, *stats.Analysis, loader) (answerWriter, error)
}

// loader loads another run of the same store, and analyzes it.
type loader func(run int64) (*stats.Analysis, error)

// answerWriter writes an answer in one of its formats.
type answerWriter func(w io.Writer, format string, opts document.Options) error

// stored are the questions whose answers are stored.
var stored = map[string]question{
	result.QuestionAdvise:  {advise.Formats.Check, readAdvice},
	result.QuestionCluster: {cluster.Formats.Check, readClusters},
	result.QuestionDiff:    {diff.Formats.Check, readDiff},
	result.QuestionLocks:   {locks.Formats.Check, readLocks},
	result.QuestionTune:    {tune.Formats.Check, readTuning},
}

// printAnswer prints an answer, and names the command that prints all of it again.
func (o *outputOptions) printAnswer(env *environment, write answerWriter, again string) error {
	return o.print(env, func(w io.Writer, format string, opts document.Options) error {
		opts.Lines, opts.Hints = o.screen(env), allOfIt
		if again != "" {
			opts.Hints = document.Hints{Rest: []document.Hint{{Shows: "all of it", Command: inStore(o.store, again+" --full")}}}
		}
		return write(w, format, opts)
	}, o.again(cmp.Or(again, "the same command")))
}

// showAgain returns the command that prints the answer of a run, or "" if there is no run.
func showAgain(run int64) string {
	if run == 0 {
		return ""
	}
	return fmt.Sprintf("sqlite3perf show %d", run)
}

// show prints the stored answer of a run as its command did.
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

// figuresFlag makes a command print what was measured for an answer.
const figuresFlag = "--figures"

func addFiguresFlag(f *pflag.FlagSet, figures *bool) {
	f.BoolVar(figures, figuresFlag[2:], false, "print what was measured, not the answer that a run has")
}

// asksFor returns the question whose answer is to be printed of a run, or nil if that is what
// was measured. An answer's run has the formats that the answer does not have, such as csv.
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

// keepAnswer stores the answer of a run. It is printed in any case, so it only says if that
// fails.
func keepAnswer(ctx context.Context, env *environment, storePath string, run int64, a *result.Answer, err error) {
	if err == nil {
		err = setAnswer(ctx, storePath, run, a)
	}
	if err != nil {
		fmt.Fprintf(env.stderr, "the answer is not stored: %v\n", err)
	}
}

func setAnswer(ctx context.Context, storePath string, run int64, a *result.Answer) error {
	st, err := store.Open(ctx, storePath)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.SetAnswer(ctx, run, a)
}

// keepRun stores a run that has an answer instead of samples, and returns its number. It
// returns 0, and says why, if it could not be stored.
func keepRun(ctx context.Context, env *environment, storeFile string, run *result.Run, a *result.Answer, err error) int64 {
	run.Ended, run.Answer = env.now().UTC(), a
	if run.Stopped == "" {
		run.Stopped = result.StoppedRounds
	}
	if err == nil {
		err = addRun(ctx, storeFile, run)
	}
	if err != nil {
		fmt.Fprintf(env.stderr, "the answer is not stored: %v\n", err)
		return 0
	}
	return run.ID
}

func addRun(ctx context.Context, storeFile string, run *result.Run) error {
	path, err := storePath(storeFile)
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Begin(ctx, run)
}

// machineHere describes this machine, with databases in a directory, as far as that can be
// found out.
func machineHere(dir string) result.Machine {
	m, _ := machine.Read(dir)
	if m.Hostname == "" {
		m.Hostname, _ = os.Hostname()
	}
	return machineIn(m, dir)
}

// analyzed returns a function that loads and analyzes a run of a store.
func analyzed(ctx context.Context, storeFile string) loader {
	return func(id int64) (*stats.Analysis, error) {
		path, err := storePath(storeFile)
		if err != nil {
			return nil, err
		}
		st, err := store.OpenReadOnly(ctx, path)
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
