package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/crash"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
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
	result.QuestionAdvise: {advise.Formats.Check, func(_ *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (string, cli.AnswerWriter, error) {
		l, err := advise.Stored(a.Run)
		if err != nil {
			return "", nil, err
		}
		return advise.Of(a, l).Answer(), adviceWriter(a, l, nil), nil
	}},
	result.QuestionCluster: {cluster.Formats.Check, func(_ *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (string, cli.AnswerWriter, error) {
		c, err := cluster.Stored(a.Run)
		if err != nil {
			return "", nil, err
		}
		return cluster.ClustersAnswer(c), cluster.Formats.Of(c), nil
	}},
	result.QuestionCrash: {crash.Formats.Check, func(_ *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (string, cli.AnswerWriter, error) {
		c, err := crash.Stored(a.Run)
		if err != nil {
			return "", nil, err
		}
		return c.Answer(), crash.Formats.Of(c), nil
	}},
	result.QuestionDiff: {diff.Formats.Check, func(o *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (string, cli.AnswerWriter, error) {
		d, err := diff.Stored(a.Run)
		if err != nil {
			return "", nil, err
		}
		return d.Answer(), diffWriter(o, d), nil
	}},
	result.QuestionGate: {checkGateFormat, func(_ *cli.OutputOptions, a *stats.Analysis, load cli.Loader) (string, cli.AnswerWriter, error) {
		g, err := gate.Stored(a, load)
		if err != nil {
			return "", nil, err
		}
		return g.Answer(), gate.Formats.Of(g), nil
	}},
	result.QuestionLocks: {locks.Formats.Check, func(o *cli.OutputOptions, a *stats.Analysis, _ cli.Loader) (string, cli.AnswerWriter, error) {
		l, err := locks.Stored(a)
		if err != nil {
			return "", nil, err
		}
		return locks.LocksAnswer(l), locksWriter(o, l), nil
	}},
	result.QuestionTune: {tune.Formats.Check, func(o *cli.OutputOptions, a *stats.Analysis, load cli.Loader) (string, cli.AnswerWriter, error) {
		t, err := tune.Stored(a, load)
		if err != nil {
			return "", nil, err
		}
		return t.Answer(), tuningWriter(o, t), nil
	}},
}

// checkGateFormat returns an error for formats other than those for people. In the others, a stored
// gate is the report of its last run, which can be the baseline of another gate.
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
	o.Source = conditions.PageSource(a.Run)
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
