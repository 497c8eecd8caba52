package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
)

// firstDrivers are the drivers of the first answer: the most used library of each kind.
var firstDrivers = []string{"mattn", "modernc", "ncruces"}

// firstAnswer measures a few drivers in a run of their own, if most drivers still have to be built, which
// takes minutes. Somebody who tries sqlite3perf for the first time has an answer before that. It is only for
// a person at a terminal who named no drivers.
func firstAnswer(ctx context.Context, env *cli.Environment, o *runOptions, r *request) error {
	if o.quiet || env.StderrWidth == 0 || len(o.drivers) > 0 || o.exact || r.host != nil || len(o.hosts.names) > 0 {
		return nil
	}
	first := *r
	first.cases = firstCases(r.cases, func(ref build.Ref) bool {
		built, err := r.Builder.Built(ctx, ref)
		return built || err != nil
	})
	if first.cases == nil {
		return nil
	}
	first.schedule, first.precision = lab.Schedule{Rounds: lab.MinRounds}, 0
	drivers := document.And(firstDrivers)
	fmt.Fprintf(env.Stderr, "the first answer is about %s, in some minutes; then the other drivers are built, and all are measured\n", drivers)
	a, err := take(ctx, env, o, &first)
	if err != nil {
		return err
	}
	answer := report.AnswersOf(a, ofRun(&o.output, env, a, document.Options{})).Text
	fmt.Fprintf(env.Stderr, "\nFirst answer, about %s only, from %d rounds: %s\n%s has more.\n\n", drivers, a.Run.Rounds, answer, cli.InStore(o.store, cli.ShowAgain(a.Run.ID)))
	r.told = true
	return nil
}

// firstCases returns copies of the cases of the drivers of the first answer, or nil if no more drivers than these
// have to be built.
func firstCases(cases []*lab.Case, built func(build.Ref) bool) (list []*lab.Case) {
	missing, asked := 0, map[string]bool{}
	for _, c := range cases {
		if !asked[c.Driver] && !built(c.Ref) {
			missing++
		}
		asked[c.Driver] = true
		if slices.Contains(firstDrivers, c.Driver) {
			own := *c
			own.ID = len(list) + 1
			list = append(list, &own)
		}
	}
	if missing <= len(firstDrivers) {
		return nil
	}
	return list
}
