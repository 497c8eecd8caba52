package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func tuneCommand(env *cli.Environment) *cobra.Command {
	o := &tuneOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "tune",
		Short: "Search for the settings that are worth setting for a workload",
		Long: `Tune searches for the settings that make a workload faster on a driver. For each it
shows the gain, the risk, and how the driver is given it.

The search begins with the settings of the workload and the driver's defaults, which win
every tie. First each value is measured by itself, then the values that gain something
together, and then changes of one setting of the best. Better settings get more trials.
At the end the best settings, and the steps to them, are measured again in new trials. A
step is worth setting only if these trials show a clear gain.

The first answer never has settings that can lose more in a crash or power failure than
your present ones; --durability says whether these are tried. --set name=value fixes a
setting; --set name=value,value says which values are tried.

A terminal gets the beginning; --full prints everything. Each race of the search is a
run in the store. The last run has the answer: sqlite3perf show last prints it again.`,
		Example: `  sqlite3perf tune --workloads ./mine.yaml --drivers modernc
  sqlite3perf tune --workloads ./mine.yaml --drivers modernc -o tune.html
  sqlite3perf tune --workloads read-write --drivers mattn --durability same
  sqlite3perf tune --workloads ./mine.yaml --drivers mattn --phase query --set synchronous=full`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return tuneSettings(cmd.Context(), env, o) },
	})
}

type tuneOptions struct {
	runOptions
	phase      string
	durability string
	settings   []string
	leastGain  string
}

// durabilities are the values of --durability. mostLost has, for each of these values, the worst loss
// that it allows.
var (
	durabilities = []string{"same", "last-commit", "power-loss", "any"}
	mostLost     = map[string]int{"same": conditions.NothingLost, "last-commit": conditions.LastCommitLost, "power-loss": conditions.CommitsLost, "any": conditions.DatabaseLost}
)

func (o *tuneOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "the driver whose settings are searched: mattn, mattn@v1.14.22, mattn:tags=sqlite_fts5, mattn=../go-sqlite3, ./my-worker")
	f.StringVar(&o.durability, "durability", "power-loss", "what a setting may put at risk: same (nothing that is safe now), last-commit (the last commit, if the power fails just after it), power-loss (the last commits, if the power fails), any (the database)")
	f.StringSliceVar(&o.settings, "settings", nil, "search only these settings (default: "+strings.Join(tune.Names, ", ")+")")
	f.StringVar(&o.phase, "phase", "", "make only this phase fast (default: the geometric mean of all)")
	o.addWorkFlags(f)
	f.Lookup("set").Usage = "`name=value` fixes a setting, name=value,value says which values are tried (repeatable); sqlite3perf workloads --language lists the settings"
	o.addScaleFlag(f)
	o.addTimeFlag(f, 3*time.Minute, "time for the search, without building the worker; the best settings are confirmed even if that takes longer")
	o.addSeedFlag(f)
	f.StringVar(&o.leastGain, "least-gain", "2%", "a setting must gain at least this `share` of the time")
	cli.Renamed(f, "precision", "least-gain")
	cli.Grouped(f, cli.GroupWhat, "drivers", "durability", "settings", "phase", "least-gain")
	o.addPlaceFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how the answer is printed", tune.Formats.Names(), tune.Formats.Check)
}

func tuneSettings(ctx context.Context, env *cli.Environment, o *tuneOptions) error {
	most, ok := mostLost[o.durability]
	if !ok {
		return cli.Usagef("--durability %s: %s", o.durability, driver.Suggest(o.durability, durabilities))
	}
	gain, err := cli.Share("--least-gain", o.leastGain)
	if err != nil {
		return err
	}
	s := &tune.Search{Time: o.time, Phase: o.phase, Loss: conditions.Severity, Now: env.Now, Most: most, Margin: gain}
	if o.flags.Changed("settings") && len(o.settings) == 0 {
		return cli.Usagef("--settings names none: want such as journal_mode,cache_size, or leave it out")
	}
	for _, name := range o.settings {
		if !slices.Contains(tune.Names, name) {
			return cli.Usagef("--settings %s: tune does not search it: %s", name, driver.Suggest(name, tune.Names))
		}
	}
	if len(o.drivers) == 0 {
		return cli.Usagef("which driver? Name one, as in --drivers modernc")
	}
	given, fixed, err := o.given()
	if err != nil {
		return err
	}
	o.set = fixed
	show := cli.NewProgress(env, o.quiet)
	r, err := o.check(ctx, env)
	if err != nil {
		return err
	}
	if n := len(r.matrix.Drivers); n > 1 {
		return cli.Usagef("--drivers names %d drivers: tune searches the settings of one", n)
	}
	if err := checkPhase(o.phase, r.cases); err != nil {
		return err
	}
	for name, values := range given {
		for _, v := range values {
			if _, err := withSettings(r.cases, driver.Settings{name: v}); err != nil {
				return cli.Usagef("--set %s: %w", name, err)
			}
		}
	}
	r.keepsTime = cli.Typed(o.flags.Lookup("time"))
	t := &candidateRuns{env: env, o: &o.runOptions, r: r, note: show.Note}
	s.Needs = func(n tune.Need) {
		words := n.Words()
		if n.Time > o.time {
			words += fmt.Sprintf(": in --time %v not all is tried. Give as much, a smaller --scale, or fewer --settings", o.time)
		}
		show.Note("%s", words)
	}
	s.Measure, s.Space = t.measure, func(at tune.Situation) ([]tune.Setting, []tune.Skipped) {
		at.Cannot = t.cannot
		at.OnlyReads = !slices.ContainsFunc(r.cases, func(c *lab.Case) bool { return !workload.OnlyReads(c.Plan) })
		names, leftOut := o.searched(r, given)
		space, skipped := tune.Space(at, names, given)
		return space, append(skipped, leftOut...)
	}
	found, failure := s.Run(ctx)
	if base, ok := errors.AsType[*tune.BaseError](failure); ok {
		return cli.Incomplete(fmt.Errorf("%w: tune needs a workload that works: sqlite3perf run shows what fails", base))
	}
	if len(found.Races) == 0 {
		return failure
	}
	answer := tune.Tuning{Finding: found, Driver: r.cases[0].Driver}
	if failure == nil {
		answer.Spelled = t.spell(ctx, answer.Offered())
	}
	run := found.Races[len(found.Races)-1].Analysis.Run
	return cmp.Or(failure, o.output.Answer(ctx, env, run, answer, tuningWriter(&o.output, answer)))
}

func tuningWriter(o *cli.OutputOptions, t tune.Tuning) cli.AnswerWriter {
	t.Flag = "--set"
	return func(w io.Writer, format string, opts document.Options) error {
		opts.Hints.Rest = append(opts.Hints.Rest, document.Hint{Shows: "last race", Command: cli.InStore(o.Store, cli.ShowAgain(t.Run())+" "+figuresFlag+" --full")})
		return tune.Formats.Write(w, format, t, opts)
	}
}

// given splits --set into settings with several values, which the search tries, and settings with
// one value, which it keeps.
func (o *tuneOptions) given() (tried map[string][]string, fixed []string, err error) {
	tried = map[string][]string{}
	for _, entry := range o.set {
		if !strings.Contains(entry, ",") {
			fixed = append(fixed, entry)
			continue
		}
		err := cli.EachList("--set", []string{entry}, func(name, value string) error {
			v, err := driver.ParseSetting(name, value)
			if err != nil {
				return err
			}
			if !slices.Contains(tune.Names, name) {
				return fmt.Errorf("tune does not search %s: give it one value; several can be given to %s", name, strings.Join(tune.Names, ", "))
			}
			tried[name] = distinct.Append(tried[name], v)
			return nil
		})
		if err != nil {
			return nil, nil, cli.WrongUsage(err)
		}
	}
	for _, entry := range fixed {
		if name := settingOf(entry); tried[name] != nil {
			return nil, nil, cli.Usagef("--set %s: it is given once with one value and once with several: leave one of them out", name)
		}
	}
	return tried, fixed, nil
}

// settingOf returns the name of the setting in an entry of --set.
func settingOf(entry string) string {
	name, _, _ := strings.Cut(entry, "=")
	return strings.TrimSpace(name)
}

// searched returns the settings to search, and the settings that are left out because --set or --dsn
// fixes them. If --settings is given, searched considers only the settings in --settings, and the
// settings with several values in --set.
func (o *tuneOptions) searched(r *request, given map[string][]string) (names []string, leftOut []tune.Skipped) {
	for _, name := range tune.Names {
		values, fixed := r.matrix.Settings[name]
		named := len(o.settings) == 0 || slices.Contains(o.settings, name)
		switch {
		case fixed && named:
			by := "--dsn"
			if slices.ContainsFunc(o.set, func(entry string) bool { return settingOf(entry) == name }) {
				by = "--set"
			}
			leftOut = append(leftOut, tune.Skipped{Setting: name, Why: fmt.Sprintf("fixed by %s, to %s", by, strings.Join(values, ","))})
		case !fixed && (named || given[name] != nil):
			names = append(names, name)
		}
	}
	return names, leftOut
}

type candidateRuns struct {
	env  *cli.Environment
	o    *runOptions
	r    *request
	note func(format string, args ...any)
	told bool
}

func withSettings(cases []*lab.Case, set driver.Settings) (list []*lab.Case, err error) {
	for _, c := range cases {
		next, err := c.WithSettings(set)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", c.Workload, err)
		}
		list = append(list, next)
	}
	return list, nil
}

// cannot returns the reason why a value of a setting is not tried, or "". It is used as the field Cannot
// of a [tune.Situation].
func (t *candidateRuns) cannot(name, value string) string {
	if why, ok := t.r.cases[0].Info.Limit(name, value); ok {
		return why
	}
	list, err := withSettings(t.r.cases, driver.Settings{name: value})
	if err != nil {
		return err.Error()
	}
	for i, c := range list {
		if len(c.Beforehand) == len(t.r.cases[i].Beforehand) {
			return ""
		}
	}
	return list[0].Beforehand[len(list[0].Beforehand)-1].Message
}

func (t *candidateRuns) measure(ctx context.Context, p tune.Plan) (*stats.Analysis, error) {
	r := *t.r
	r.cases = nil
	for _, set := range p.Candidates {
		list, err := withSettings(t.r.cases, set)
		if err != nil {
			return nil, err
		}
		r.cases = append(r.cases, list...)
	}
	for i, c := range r.cases {
		c.ID = i + 1
	}
	t.note("%s", p.Words())
	r.schedule = lab.Schedule{Rounds: p.Rounds, Settled: p.Settled}
	r.search = &result.Search{Race: p.What, Confirms: p.Confirms}
	r.told, t.told = t.told, true
	return take(ctx, t.env, t.o, &r)
}

// spell asks the driver's worker how to write settings for the driver. It skips settings for which
// the worker fails.
func (t *candidateRuns) spell(ctx context.Context, offered []driver.Settings) (list []tune.Spelled) {
	for _, set := range offered {
		told, err := t.tell(ctx, set)
		if err != nil {
			t.note("how %s is given these settings is not known: %v", t.r.cases[0].Driver, err)
			continue
		}
		list = append(list, tune.Spell(t.r.cases[0].Info, set, told))
	}
	return list
}

// tell asks the worker how the driver treats a data source name with the given settings. It returns
// nil if the driver accepts no data source names.
func (t *candidateRuns) tell(ctx context.Context, set driver.Settings) (*dsn.Told, error) {
	text, _ := dsn.Of("app.db", set)
	name, err := dsn.Parse(text)
	if err != nil {
		return nil, err
	}
	ref := t.r.cases[0].Ref
	worker, _, err := t.r.Builder.Worker(ctx, ref, nil)
	if err != nil {
		return nil, err
	}
	scratch, err := cli.NewScratch(t.r.dir)
	if err != nil {
		return nil, err
	}
	defer scratch.Remove()
	told, err := dsn.Tell(ctx, worker, ref, name, scratch.Dir)
	if refused, ok := errors.AsType[*lab.JobError](err); ok && slices.Contains([]string{protocol.CodeUnsupported, protocol.CodeUsage}, refused.Reason.Code) {
		return nil, nil // the worker cannot open data source names
	}
	return told, err
}
