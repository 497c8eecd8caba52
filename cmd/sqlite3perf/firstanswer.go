package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// firstDrivers are the drivers that are measured first, for an early answer: the most used library of each
// kind (C, C translated to Go, WebAssembly).
var firstDrivers = []string{"mattn", "modernc", "ncruces"}

// firstMeasured is how long it takes to measure [firstDrivers], after their workers are built. Like the
// typical times of builds, it was measured on one machine.
const firstMeasured = 45 * time.Second

// firstAnswer measures a few drivers in a separate run first, if most drivers still have to be built, which
// takes minutes. So somebody who tries sqlite3perf for the first time gets an answer earlier. There is no
// first answer without a terminal, or if the user named drivers. The modules of the other drivers are
// downloaded while the few drivers are built.
func firstAnswer(ctx context.Context, env *cli.Environment, o *runOptions, r *request) error {
	if o.quiet || env.StderrWidth == 0 || len(o.drivers) > 0 || o.exact || r.host != nil || len(o.hosts.names) > 0 {
		return nil
	}
	first := *r
	first.cases = firstCases(r.cases, func(ref build.Ref) (bool, error) { return r.Builder.Built(ctx, ref) })
	if first.cases == nil {
		return nil
	}
	first.schedule, first.precision = lab.Schedule{Rounds: lab.MinRounds}, 0
	first.await = o.untilFirst(ctx, env, &first)
	stop := r.Builder.Download(ctx, refsOf(slices.Concat(first.cases, r.cases)))
	defer stop()
	env.Say("the first answer is about %s, in %s; then the other drivers are built, and all are measured",
		namesOf(first.cases), first.await.Words())
	first.prepared = func([]*lab.Case) error {
		stop() // nothing is downloaded while trials run
		return nil
	}
	a, err := take(ctx, env, o, &first)
	if namesOf(first.cases) == "" {
		return nil // the run tries to measure these drivers again, together with the other drivers
	}
	if err != nil {
		return err
	}
	answer := report.AnswersOf(a, ofRun(&o.output, env, a, document.Options{})).Text
	shown := cli.InStore(o.output.Store, cli.ShowAgain(a.Run.ID))
	env.Say("\nFirst answer, about %s only, from %d rounds: %s\n%s\n%s has more.\n",
		namesOf(first.cases), a.Run.Rounds, answer, r.took.words(env.Now(), a.Run), shown)
	r.told = true
	r.first = fmt.Sprintf("The first answer, about %s only, is in run %d: %s", namesOf(first.cases), a.Run.ID, shown)
	return nil
}

// sayHowToGoOn says, after a Ctrl-C, where the first answer is, and how to go on with the run.
func (r *request) sayHowToGoOn(env *cli.Environment, o *runOptions, a *stats.Analysis) {
	if r.first == "" {
		return
	}
	env.Say("%s", r.first)
	if a != nil && conditions.Resumable(a.Run, cli.Version(), false) == nil {
		env.Say("To go on with run %d: %s", a.Run.ID, cli.InStore(o.output.Store, fmt.Sprintf("sqlite3perf run --resume %d", a.Run.ID)))
	}
}

// firstCases returns copies of the cases of [firstDrivers], except drivers that cannot be built. It returns
// nil if so few workers are missing that a separate first run would not save time.
func firstCases(cases []*lab.Case, built func(build.Ref) (bool, error)) (list []*lab.Case) {
	missing, impossible := 0, map[string]bool{}
	for _, c := range cases {
		if _, asked := impossible[c.Driver]; !asked {
			there, err := built(c.Ref)
			impossible[c.Driver] = err != nil
			if !there && err == nil {
				missing++
			}
		}
		if slices.Contains(firstDrivers, c.Driver) && !impossible[c.Driver] {
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

// namesOf lists the drivers of the cases that can be measured.
func namesOf(cases []*lab.Case) string {
	var names []string
	for _, c := range cases {
		if c.Unavailable == nil && !slices.Contains(names, c.Driver) {
			names = append(names, c.Driver)
		}
	}
	return document.And(names)
}

// refsOf returns the drivers of the cases, each once.
func refsOf(cases []*lab.Case) (refs []build.Ref) {
	for _, c := range cases {
		if !slices.ContainsFunc(refs, func(r build.Ref) bool { return r.Name == c.Driver }) {
			refs = append(refs, c.Ref)
		}
	}
	return refs
}

// untilFirst estimates how long it takes until the first answer, which is about [firstDrivers] only. How
// long trials take is known only for the default workloads and settings. For other runs, untilFirst counts
// only phases of fixed duration, and sets Longer.
func (o *runOptions) untilFirst(ctx context.Context, env *cli.Environment, first *request) *cli.Await {
	pace := env.Pace()
	await := &cli.Await{For: "the first answer", Built: first.Builder.Expect(ctx, refsOf(first.cases), pace)}
	for _, c := range first.cases {
		await.Measure += lab.MinRounds * c.Lasts()
	}
	for _, flag := range []string{"workloads", "set", "dsn", "param", "scale"} {
		await.Longer = await.Longer || o.flags.Changed(flag)
	}
	if !await.Longer {
		await.Measure = time.Duration(pace * float64(firstMeasured))
	}
	return await
}

// split says where the time of a command went.
type split struct {
	began    time.Time
	builder  *build.Builder
	measured time.Duration
}

// words adds the time of a run to s.measured, and returns a sentence that says where the time went so far.
func (s *split) words(now time.Time, run *result.Run) string {
	s.measured += run.Ended.Sub(run.Started)
	downloading, building := s.builder.Spent()
	return fmt.Sprintf("This took %s: %s of downloads before anything could be built, %s of builds, %s of measuring.",
		document.Roughly(now.Sub(s.began)), document.Roughly(downloading), document.Roughly(building), document.Roughly(s.measured))
}
