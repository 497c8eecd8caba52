package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
)

type question struct {
	check func(format string) error // returns an error for a format in which the answer cannot be written
	read  func(*outputOptions, *stats.Analysis, loader) (answerWriter, error)
}

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
	f.BoolVar(figures, figuresFlag[2:], false, "print what was measured, not the answer that a run has")
}

// asksFor returns the question whose answer is to be printed for a run. It returns nil if the
// measured figures are to be printed. Formats that the answer does not have, such as csv, also
// print the figures.
func asksFor(o *outputOptions, run *result.Run, figures bool) (*question, error) {
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
