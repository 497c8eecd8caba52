package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

func locksCommand(env *cli.Environment) *cobra.Command {
	o := &lockOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "locks [RUN]",
		Short: "Say why operations fail with \"database is locked\", which change ends that, and what it costs",
		Long: `Locks measures the mixes and replays of a workload on every driver, with several ways of
sharing a file. It explains failures: SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT, SQLITE_LOCKED,
and waits that never end. For each case with errors it names the smallest change that
ends all lock errors, and the price of that change.

The ways are all combinations of journal_mode (delete, wal), txlock (deferred,
immediate), busy_timeout (0, 5 s), and how connections are shared: one pool with a
connection for each client, a pool of one, one writer and a reader for each client, and
one pool with a mutex around operations that may write. --set leaves some of them out.

A replay of a recording runs with its own clients, and also with one client on one
connection. With --processes 1,2 the clients are in one process, and then in two
processes that share the file. Between processes only SQLite's own locks work, so there
is no mutex.

The run and its explanation are stored, so show prints it again. locks RUN explains a
run of another command that measured a mix.`,
		Example: `  sqlite3perf locks --drivers mattn,modernc
  sqlite3perf locks --drivers modernc --workloads ./mine.yaml
  sqlite3perf locks --drivers modernc --workloads ./replay.yaml
  sqlite3perf locks --drivers mattn --set journal_mode=wal --set busy_timeout=0,1s
  sqlite3perf locks --drivers mattn --workloads locks --processes 1,2
  sqlite3perf locks last`,
		Args: cli.Arguments(0, 1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return explainStored(cmd.Context(), env, o, args[0])
			}
			return measureLocks(cmd.Context(), env, o)
		},
	})
}

type lockOptions struct {
	runOptions
	patience  time.Duration
	processes []int
}

// lockWorkloads are measured if the user names no workload.
var lockWorkloads = []string{"locks", "locks-nested"}

func (o *lockOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "drivers to measure, as in run (default: all that are not optional)")
	o.addWorkFlags(f)
	f.Lookup("workloads").Usage = "built-in workloads or YAML files that have a mix or a replay (default: " + strings.Join(lockWorkloads, ", ") + ")"
	f.DurationVar(&o.patience, "patience", 5*time.Second, "a phase fails if no client begins or ends an operation for busy_timeout plus this time; a workload's own value takes precedence")
	f.IntSliceVar(&o.processes, "processes", nil, "numbers of processes that share the clients of a mix, for example 1,2; the same as --set processes=1,2 (default: the workload's number, or 1)")
	cli.Grouped(f, cli.GroupWhat, "drivers", "processes")
	cli.Grouped(f, cli.GroupLong, "patience")
	o.addScheduleFlags(f)
	rounds := f.Lookup("rounds")
	rounds.Usage = "exactly this many rounds, at least 6 (default: 6; with --time, as many as fit)"
	o.addPlaceFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how the explanation is printed", locks.Formats.Names(), locks.Formats.Check)
}

// lockGrid has settings and the values that are tried for each. A setting that --set names is left out.
var lockGrid = []string{"journal_mode=delete,wal", "txlock=deferred,immediate", "busy_timeout=0,5s"}

// sharing are the settings that decide how clients share connections.
var sharing = []string{"pool_size", "pool_readers", "write_mutex"}

func measureLocks(ctx context.Context, env *cli.Environment, o *lockOptions) error {
	if err := cli.Positive("--patience", o.patience, "5s"); err != nil {
		return err
	}
	if len(o.workloads) == 0 && !o.flags.Changed("workloads") {
		o.workloads = lockWorkloads
	}
	if err := o.inProcesses(); err != nil {
		return err
	}
	r, err := o.check(ctx, env)
	if err != nil {
		return err
	}
	r.leftOut = nil
	if !o.exact && !o.flags.Changed("time") {
		r.schedule.Rounds = lab.MinRounds
	}
	if r.cases, err = o.ways(r); err != nil {
		return err
	}
	drivers := len(r.matrix.Drivers)
	r.keepsTime = !o.exact && cli.Typed(o.flags.Lookup("time"))
	r.called = fmt.Sprintf("locks of %s and %s", document.Counted(drivers, "driver"), document.Counted(len(r.cases)/drivers, "choice"))
	a, failure := take(ctx, env, &o.runOptions, r)
	if a == nil || len(a.Run.Trials) == 0 {
		return failure
	}
	l := locks.ExplainLocks(a)
	err = o.output.Answer(ctx, env, a.Run, l, locksWriter(&o.output, l))
	if err = cmp.Or(failure, err); err != nil {
		return err
	}
	if a.Run.Stopped == result.StoppedInterrupted {
		return cli.StatusError(cli.ExitInterrupted)
	}
	return cli.CompleteIf(l.Complete())
}

func (o *lockOptions) inProcesses() error {
	if len(o.processes) == 0 {
		return nil
	}
	for _, set := range o.set {
		if settingOf(set) == "processes" {
			return cli.Usagef("--processes and --set %s say the same thing: leave one of them out", set)
		}
	}
	words := make([]string, len(o.processes))
	for i, n := range o.processes {
		if n < 1 {
			return cli.Usagef("--processes %d: want numbers of processes, from 1, such as 1,2", n)
		}
		words[i] = strconv.Itoa(n)
	}
	o.set = append(o.set, "processes="+strings.Join(words, ","))
	return nil
}

func (o *lockOptions) ways(r *request) ([]*lab.Case, error) {
	ways := lab.LockWays{Patience: o.patience}
	for _, def := range lockGrid {
		name, values, _ := strings.Cut(def, "=")
		if _, given := r.matrix.Settings[name]; !given {
			ways.Vary = append(ways.Vary, lab.Varied{Name: name, Values: strings.Split(values, ",")})
		}
	}
	for _, name := range sharing {
		if _, given := r.matrix.Settings[name]; given {
			ways.Shared = true
		}
	}
	cases, err := r.matrix.LockCases(ways)
	if none, ok := err.(*lab.NoMixError); ok { //nolint:errorlint // LockCases returns this error without wrapping it
		return nil, cli.Usagef("workload %s has neither a mix nor a replay, and locks varies how their clients share a database: name a workload that has one; sqlite3perf workloads %s shows a mix", none.Workload, lockWorkloads[0])
	}
	if one, ok := err.(*lab.OneClientError); ok { //nolint:errorlint // LockCases returns this error without wrapping it
		return nil, cli.Usagef("workload %s: its phase %s replays with one client, which never waits for a lock: write clients: 4 next to replay: so that four clients share the transactions; or record a program that uses several connections at once, and leave clients out (a script or a trace has only one connection)", one.Workload, one.Phase)
	}
	if err != nil {
		return nil, cli.WrongUsage(o.blame(err))
	}
	return cases, nil
}

func locksWriter(o *cli.OutputOptions, l *locks.Locks) cli.AnswerWriter {
	return func(w io.Writer, format string, opts document.Options) error {
		opts.Hints.More = []string{cli.InStore(o.Store, cli.ShowAgain(l.Analysis.Run.ID)+" "+figuresFlag+" --full")}
		return locks.Formats.Write(w, format, l, opts)
	}
}

func explainStored(ctx context.Context, env *cli.Environment, o *lockOptions, name string) error {
	if err := cli.InOrder(func() error { return o.onlyOfStored(name + " is stored") }, o.output.Check); err != nil {
		return err
	}
	a, err := sampled(ctx, env, o.output.Store, name)
	if err != nil {
		return err
	}
	o.output.Source = conditions.PageSource(a.Run)
	return o.output.PrintAnswer(env, locksWriter(&o.output, locks.ExplainLocks(a)), "sqlite3perf locks "+name)
}
