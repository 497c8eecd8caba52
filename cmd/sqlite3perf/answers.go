package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/crash"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
)

type question struct {
	check func(format string) error // returns an error for a format in which the answer cannot be written
	read  func(*cli.OutputOptions, *stats.Analysis, cli.Loader) (says string, write cli.AnswerWriter, err error)
}

var stored = map[string]question{
	result.QuestionAdvise: answered(advise.Formats.Check, func(a *stats.Analysis, _ cli.Loader) (advise.Advised, error) {
		l, err := advise.Stored(a.Run)
		return advise.Of(a, l, uncollected(l)...), err
	}, advise.Advised.Answer, as(advise.Formats.Of)),
	result.QuestionCluster: answered(cluster.Formats.Check, ofRunAlone(cluster.Stored), cluster.ClustersAnswer, as(cluster.Formats.Of)),
	result.QuestionCrash:   answered(crash.Formats.Check, ofRunAlone(crash.Stored), (*crash.Crashes).Answer, as(crash.Formats.Of)),
	result.QuestionDiff:    answered(diff.Formats.Check, ofRunAlone(diff.Stored), (*diff.Diffed).Answer, diffWriter),
	result.QuestionGate:    answered(checkGateFormat, gate.Stored, gate.Gated.Answer, as(gate.Formats.Of)),
	result.QuestionLocks: answered(locks.Formats.Check, func(a *stats.Analysis, _ cli.Loader) (*locks.Locks, error) { return locks.Stored(a) },
		locks.LocksAnswer, locksWriter),
	result.QuestionTune: answered(tune.Formats.Check, tune.Stored, tune.Tuning.Answer, tuningWriter),
}

// answered returns a question whose answer has the type T. The function "read" reads the answer
// from a run, "says" puts it into words, and "write" writes it.
func answered[T any](check func(string) error, read func(*stats.Analysis, cli.Loader) (T, error), says func(T) string,
	write func(*cli.OutputOptions, T) cli.AnswerWriter) question {
	return question{check, func(o *cli.OutputOptions, a *stats.Analysis, load cli.Loader) (string, cli.AnswerWriter, error) {
		answer, err := read(a, load)
		if err != nil {
			return "", nil, err
		}
		return says(answer), write(o, answer), nil
	}}
}

// ofRunAlone turns a function that needs only the run into the parameter "read" of [answered].
func ofRunAlone[T any](read func(*result.Run) (T, error)) func(*stats.Analysis, cli.Loader) (T, error) {
	return func(a *stats.Analysis, _ cli.Loader) (T, error) { return read(a.Run) }
}

// The function "as" turns a function that does not need the options of the command into the parameter
// "write" of [answered].
func as[T any, W ~func(io.Writer, string, document.Options) error](of func(T) W) func(*cli.OutputOptions, T) cli.AnswerWriter {
	return func(_ *cli.OutputOptions, answer T) cli.AnswerWriter { return cli.AnswerWriter(of(answer)) }
}

// checkGateFormat returns an error unless a gate's result can be written in the format. Only tables,
// Markdown and pages can show it. In other formats, such as JSON, the command gate writes the report of its
// last run, which another gate can use as its baseline.
func checkGateFormat(format string) error {
	if !slices.Contains([]string{cli.TableFormat, "markdown", pageFormat}, format) {
		return fmt.Errorf("a stored gate has no format %q", format)
	}
	return nil
}

func (q *question) show(ctx context.Context, env *cli.Environment, o *cli.OutputOptions, a *stats.Analysis) error {
	_, write, err := q.read(o, a, cli.Analyzed(ctx, o.Store))
	switch {
	case err != nil && a.Run.Unsampled() == "":
		return fmt.Errorf("run %d: %w: %s prints what was measured", a.Run.ID, err, figuresFlag)
	case err != nil:
		return fmt.Errorf("run %d: %w", a.Run.ID, err)
	}
	return o.PrintStored(env, a.Run, write)
}

const figuresFlag = "--figures"

func addFiguresFlag(f *pflag.FlagSet, figures *bool) {
	f.BoolVar(figures, figuresFlag[2:], false, "print a run's measurements instead of its answer")
}

// asksFor returns the question whose answer is to be printed for a run. It returns nil if the run's
// measured figures are to be printed instead, because the user asked for them, or because the answer
// cannot be written in the format, such as csv. If the figures are needed and the run has none, asksFor
// returns an error.
func asksFor(o *cli.OutputOptions, run *result.Run, figures bool) (*question, error) {
	if run.Answer == nil {
		return nil, nil
	}
	q, known := stored[run.Answer.Question]
	instead := run.Unsampled()
	switch {
	case figures && instead != "":
		return nil, cli.Usagef("run %d has %s instead of samples: leave out %s", run.ID, instead, figuresFlag)
	case figures || !known:
		return nil, nil
	}
	if err := q.check(o.Format); err != nil {
		if instead == "" {
			return nil, nil
		}
		return nil, cli.Usagef("run %d has %s instead of samples: %w", run.ID, instead, err)
	}
	return &q, nil
}
