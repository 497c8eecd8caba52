package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/crash"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
)

type question struct {
	check func(format string) error // returns an error for a format in which the answer cannot be written
	read  func(*cli.OutputOptions, *stats.Analysis, cli.Loader) (cli.AnswerWriter, error)
}

var stored = map[string]question{
	result.QuestionAdvise: {advise.Formats.Check, func(_ *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (cli.AnswerWriter, error) {
		l, err := advise.Stored(a.Run)
		return adviceWriter(a, l, nil), err
	}},
	result.QuestionCluster: {cluster.Formats.Check, func(_ *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (cli.AnswerWriter, error) {
		c, err := cluster.Stored(a.Run)
		return cluster.Formats.Of(c), err
	}},
	result.QuestionCrash: {crash.Formats.Check, func(_ *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (cli.AnswerWriter, error) {
		c, err := crash.Stored(a.Run)
		return crash.Formats.Of(c), err
	}},
	result.QuestionDiff: {diff.Formats.Check, func(o *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (cli.AnswerWriter, error) {
		d, err := diff.Stored(a.Run)
		return diffWriter(o, d), err
	}},
	result.QuestionLocks: {locks.Formats.Check, func(o *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (cli.AnswerWriter, error) {
		l, err := locks.Stored(a)
		return locksWriter(o, l), err
	}},
	result.QuestionTune: {tune.Formats.Check, func(o *cli.OutputOptions, a *stats.Analysis, load cli.Loader) (cli.AnswerWriter, error) {
		t, err := tune.Stored(a, load)
		return tuningWriter(o, t), err
	}},
}

func (q *question) show(ctx context.Context, env *cli.Environment, o *cli.OutputOptions, a *stats.Analysis) error {
	write, err := q.read(o, a, cli.Analyzed(ctx, o.Store))
	switch {
	case err != nil && a.Run.Unsampled() == "":
		return fmt.Errorf("run %d: %w: %s prints what was measured", a.Run.ID, err, figuresFlag)
	case err != nil:
		return fmt.Errorf("run %d: %w", a.Run.ID, err)
	}
	return o.PrintAnswer(env, write, cli.ShowAgain(a.Run.ID))
}

const figuresFlag = "--figures"

func addFiguresFlag(f *pflag.FlagSet, figures *bool) {
	f.BoolVar(figures, figuresFlag[2:], false, "print the measurements, not the answer of a run")
}

// asksFor returns the question whose answer is to be printed for a run. It returns nil if the measured
// figures are to be printed: on request, and for formats that the answer does not have, such as csv.
// It returns an error if figures are asked for and the run has none.
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
