package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/study"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

func reproduceCommand(env *cli.Environment) *cobra.Command {
	o := &reproduceOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "reproduce [STUDY]",
		Short: "Measure a published study again, and judge its claims",
		Long: `Reproduce measures a published benchmark of SQLite from Go here. It prints the study's
own tables, with the published figures next to the new ones, and then its claims, each
with a verdict: holds, does not hold, or not known yet. A terminal gets only the claims,
unless --full is given. Without a name it lists the studies.

Mistakes of the study are corrected, and listed below the tables. --as-published
measures the study with its mistakes.

The scale quick takes at most five minutes with all drivers on two cores, without
building; full is the published scale. After six rounds only cases of open claims are
measured. --rounds fixes the number of rounds; with --precision, cases are measured
until they are settled, as in run.`,
		Example: `  sqlite3perf reproduce cgo-or-not
  sqlite3perf reproduce writers --drivers mattn,modernc --scale full
  sqlite3perf reproduce driver-comparison --as-published -o report.md`,
		Args: cli.Arguments(0, 1, "the study"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listStudies(env)
			}
			s, err := study.Find(args[0])
			if err != nil {
				return cli.WrongUsage(err)
			}
			f := cmd.Flags()
			quick := o.scale == workload.Quick
			o.claims = !f.Changed("rounds") && !f.Changed("precision") && (quick || f.Changed("time"))
			o.exact = f.Changed("rounds") || !o.claims && !f.Changed("precision")
			if !f.Changed("rounds") && o.exact {
				o.rounds = s.Rounds
			}
			if quick && !f.Changed("time") {
				o.time = study.Time
			}
			return reproduce(cmd.Context(), env, o, s)
		},
	})
}

// reproduceOptions are the flags of the command "reproduce". They include the flags of the command
// "run", except flags that choose what is measured.
type reproduceOptions struct {
	runOptions
	asPublished bool
	claims      bool // spend the time on cases that the study's claims depend on
}

func (o *reproduceOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "drivers to measure: mattn, mattn@v1.14.22, mattn:tags=sqlite_fts5,GOGC=400, mattn=../go-sqlite3, ./my-worker (default: all that are not optional, and the study's own if they are installed)")
	f.BoolVar(&o.asPublished, "as-published", false, "measure the study as it was published, with its mistakes")
	cli.Grouped(f, cli.GroupWhat, "drivers", "as-published")
	o.addFigureFlags(f)
	o.addPlaceFlags(f)
	o.hosts.addFlags(f)
	o.output.AddFullFlag(f)
	o.addPageFlag(f)
}

func listStudies(env *cli.Environment) error {
	rows := document.Map(study.All(), func(s *study.Study) []string { return []string{s.Name, s.Asks} })
	return document.PrintTable(env.Stdout, "STUDY|ASKS", rows)
}

func reproduce(ctx context.Context, env *cli.Environment, o *reproduceOptions, s *study.Study) error {
	r, err := o.check(ctx, s)
	if err != nil {
		return err
	}
	o.untilSettled(r)
	if o.claims {
		r.study.Looks, r.schedule.Settled = true, s.Settled(r.schedule.Time)
		r.precision = 0 // this run is to decide claims, not to measure figures precisely
		if !o.quiet {
			r.ahead = fmt.Sprintf("%d rounds of all cases, and then of those on which claims rest", lab.MinRounds)
		}
	}
	if rounds := r.schedule.Rounds; rounds > 0 {
		r.least = study.Least(r.cases, rounds)
	}
	return measure(ctx, env, &o.runOptions, r)
}

func (o *reproduceOptions) check(ctx context.Context, s *study.Study) (*request, error) {
	r := &request{study: &result.Study{Name: s.Name, AsPublished: o.asPublished}}
	return r, cli.InOrder(
		o.output.Check,
		func() error { return o.checkSchedule(r) },
		func() error { return o.checkStudyDrivers(ctx, s, r) },
		func() (err error) {
			r.matrix.Scale = o.scale
			r.cases, err = s.Cases(o.scale, o.asPublished, r.matrix.Drivers, r.matrix.Seed)
			return cli.WrongUsage(err)
		},
		func() error { return o.checkPlaces(r) },
		func() error { return o.checkHosts(r) },
	)
}

// checkStudyDrivers chooses the drivers if the user names none: all drivers that are not optional, and
// each optional driver that the study measured and that is installed.
func (o *reproduceOptions) checkStudyDrivers(ctx context.Context, s *study.Study, r *request) error {
	named := len(o.drivers) > 0
	if err := o.checkDrivers(ctx, r); err != nil || named {
		return err
	}
	for i := range r.Known {
		k := &r.Known[i]
		if !slices.Contains(s.Extra, k.Name) {
			continue
		}
		ref := build.Ref{Name: k.Name, Known: k}
		var unavailable *build.BuildError
		switch _, err := r.Builder.Built(ctx, ref); {
		case errors.As(err, &unavailable):
			r.leftOut = append(r.leftOut, result.LeftOut{Driver: k.Name, Code: unavailable.Reason.Code, Message: unavailable.Reason.Message})
		case err != nil:
			return err
		default:
			r.matrix.Drivers = append(r.matrix.Drivers, ref)
		}
	}
	return nil
}
