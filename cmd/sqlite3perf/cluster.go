package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func clusterCommand(env *cli.Environment) *cobra.Command {
	o := &clusterOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "cluster",
		Short: "What a cluster costs, and what is lost when its leader fails",
		Long: `Cluster measures what it costs to keep a database on several nodes. Clients write rows
as fast as they can to clusters of the driver rqlite, and to a local driver, with each
number of clients and of rows per INSERT. It reports how many rows are acknowledged per
second, how long a write takes until it is acknowledged and until it is visible on every
node, and how much CPU, memory and disk all nodes use.

With --kill, the leader is killed (SIGKILL) as many times as you say, and restarted on
its data. With --isolate, it is cut off from the other nodes, and reconnected. Meanwhile
clients write and read. Cluster reports how long no write was acknowledged, whether an
acknowledged write was lost, and which reads were stale.

The nodes are processes on this machine, which end with the command. The answer is
stored, so show prints it again. To measure reads, with every answer verified, use
sqlite3perf run --drivers mattn,rqlite --workloads point-read --set nodes=3.

The exit status is 4 if an acknowledged write is lost (unless writes were queued), or if
something could not be measured.`,
		Example: `  sqlite3perf cluster
  sqlite3perf cluster --nodes 3 --delay 0,1ms,10ms --clients 8 --batch 1,100 -o cluster.html
  sqlite3perf cluster --kill 3 --isolate 3
  sqlite3perf cluster --kill 10 --set queued_writes=on`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return measureClusters(cmd.Context(), env, o) },
	})
}

const clusterDriver = "rqlite"

type clusterOptions struct {
	runOptions
	driver, local    string
	nodes            []int
	delays           []time.Duration
	clients, batches []int
	duration         time.Duration
	kills, cuts      int
	limit, patience  time.Duration
	localSet         []string
}

func (o *clusterOptions) addFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.driver, "cluster", clusterDriver, "driver of the clusters")
	f.StringVar(&o.local, "local", "mattn", "local driver for comparison, or none")
	cli.Reaching(f, cli.Executes, "cluster", "local")
	f.IntSliceVar(&o.nodes, "nodes", []int{1, 3}, "numbers of nodes; with --kill or --isolate, the default is 3")
	f.DurationSliceVar(&o.delays, "delay", []time.Duration{0}, "`delays` of every byte between two nodes, such as 0,1ms,10ms")
	f.IntSliceVar(&o.clients, "clients", []int{1, 8}, "numbers of clients; with --kill or --isolate, the default is 4")
	f.IntSliceVar(&o.batches, "batch", []int{1, 100}, "numbers of rows per INSERT")
	f.DurationVar(&o.duration, "duration", 2*time.Second, "how long clients write for each figure; with --kill or --isolate, how long before each failure (the default is then 500ms)")
	f.IntVar(&o.rounds, "rounds", 1, "how many times everything is measured, in shuffled order; with 6 or more, rates have intervals")
	f.IntVar(&o.kills, "kill", 0, "how many times the leader is killed under load, and restarted")
	f.IntVar(&o.cuts, "isolate", 0, "how many times the leader is cut off under load, and reconnected (Linux)")
	f.DurationVar(&o.limit, "timeout", time.Second, "with --kill or --isolate, how long a client waits for an answer before it tries the next node")
	f.DurationVar(&o.patience, "patience", time.Minute, "time limit for a write, for a row to reach every node, and for recovery")
	f.DurationVar(&o.trialLimit, "trial-limit", 10*time.Minute, "a trial fails if it takes this much longer than the time that you asked for")
	f.StringArrayVar(&o.set, "set", nil, "a `setting=value` of the clusters, such as queued_writes=on (repeatable)")
	f.StringArrayVar(&o.localSet, "local-set", []string{"journal_mode=wal", "synchronous=full", "busy_timeout=10s"}, "a `setting=value` of the local driver (repeatable)")
	cli.Grouped(f, cli.GroupWhat, "cluster", "local", "nodes", "delay", "clients", "batch", "kill", "isolate", "set", "local-set")
	cli.Grouped(f, cli.GroupLong, "duration", "rounds", "timeout", "patience", "trial-limit")
	cli.AddDirFlag(f, &o.dir)
	o.workers.AddFlags(f)
	cli.AddQuietFlag(f, &o.quiet)
	cli.AddStoreFlag(f, &o.output.Store)
	o.output.AddFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how results are printed", cluster.Formats.Names(), cluster.Formats.Check)
}

func measureClusters(ctx context.Context, env *cli.Environment, o *clusterOptions) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	trials, err := o.trials()
	if err != nil {
		return err
	}
	dir, err := cli.DatabasesDirectory(o.dir)
	if err != nil {
		return err
	}
	shop, err := o.workers.Workshop()
	if err != nil {
		return err
	}
	for _, k := range shop.Known {
		if k.Kind == driver.Cluster && k.Needs != nil && k.Needs.Unless != "" && os.Getenv(k.Needs.Unless) != "" {
			return cli.Usagef("cluster starts its own nodes: unset %s", k.Needs.Unless)
		}
	}
	for i := range trials {
		t := &trials[i]
		refs, err := shop.Refs(ctx, t.Driver)
		if err != nil {
			return err
		}
		if t.Ref = refs[0]; t.Ref.Known == nil {
			continue
		}
		switch several := t.Ref.Known.Kind == driver.Cluster; {
		case several && t.Nodes == 0:
			return cli.Usagef("--local %s is a cluster: want a local driver, such as mattn, or %s", t.Driver, noDriver)
		case !several && t.Nodes > 0:
			return cli.Usagef("--cluster %s is not a driver of a cluster: want %s", t.Driver, clusterDriver)
		}
	}
	for _, t := range []cluster.Planned{trials[len(trials)-1], trials[0]} { // the cluster's driver is checked before the local one
		if err := t.Ref.Ready(ctx); err != nil {
			return cli.Incomplete(err)
		}
	}
	started := env.Now()
	var out *cluster.Clusters
	err = env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) (err error) {
		out, err = o.measure(ctx, shop, dir, trials, show)
		return err
	})
	_, stopped := errors.AsType[cli.StatusError](err)
	if err != nil && !stopped {
		return err
	}
	if len(out.Trials) > 0 {
		if err := o.output.Answer(ctx, env, clustersRun(out, started, stopped), out, cluster.Formats.Of(out)); err != nil {
			return err
		}
	}
	if stopped {
		return cli.StatusError(cli.ExitInterrupted)
	}
	return cli.CompleteIf(!slices.ContainsFunc(out.Trials, func(t cluster.ClusterTrial) bool { return t.Reason != "" || t.Lost() > 0 && !t.Queued() }))
}

func clustersRun(out *cluster.Clusters, started time.Time, stopped bool) *result.Run {
	run := unsampledRun(&request{}, out.Machine, started, out.Warnings, document.Map(out.Trials, func(t cluster.ClusterTrial) result.Case {
		return result.Case{Workload: result.QuestionCluster, Driver: t.Driver, Settings: t.Settings}
	}))
	if stopped {
		run.Stopped = result.StoppedInterrupted
	}
	return run
}

func (o *clusterOptions) harms() bool { return o.kills != 0 || o.cuts != 0 }

func (o *clusterOptions) checkHarm() error {
	for name, set := range map[string]func(){
		"nodes": func() { o.nodes = []int{3} }, "clients": func() { o.clients = []int{4} },
		"duration": func() { o.duration = 500 * time.Millisecond }, "local": func() { o.local = noDriver }, "rounds": func() { o.rounds = 1 },
	} {
		if !cli.Typed(o.flags.Lookup(name)) {
			set()
		}
	}
	switch {
	case o.output.Format == "svg":
		return cli.Usagef("there is no picture of what --kill and --isolate do: want another format, such as html")
	case o.rounds > 1:
		return cli.Usagef("--rounds %d: with --kill or --isolate there is one round: give these a larger number instead", o.rounds)
	case cli.Typed(o.flags.Lookup("batch")):
		return cli.Usagef("--batch: with --kill or --isolate clients write single rows: leave it out")
	case o.local != noDriver:
		return cli.Usagef("--local %s: a local driver has no leader that could be killed or isolated: leave it out", o.local)
	case len(o.clients) != 1:
		return cli.Usagef("--clients: want one number with --kill or --isolate, such as 4")
	}
	return nil
}

func (o *clusterOptions) checkNumbers() error {
	switch {
	case o.rounds < 1:
		return cli.Usagef("--rounds %d: want at least 1", o.rounds)
	case o.kills < 0:
		return cli.Usagef("--kill %d: want 0 or more", o.kills)
	case o.cuts < 0:
		return cli.Usagef("--isolate %d: want 0 or more", o.cuts)
	case o.limit < time.Millisecond:
		return cli.Usagef("--timeout %v: want a time above 0, such as 1s", o.limit)
	case o.duration < time.Millisecond:
		return cli.Usagef("--duration %v: want a time above 0, such as 2s", o.duration)
	}
	err := cli.Positive("--patience", o.patience, "1m")
	if err == nil && o.harms() {
		err = o.checkHarm()
	}
	if err != nil {
		return err
	}
	for _, list := range []struct {
		flag   string
		values []int
	}{{"nodes", o.nodes}, {"clients", o.clients}, {"batch", o.batches}} {
		if len(list.values) == 0 {
			return cli.Usagef("--%s is empty: want at least one number", list.flag)
		}
		if n := slices.Min(list.values); n < 1 {
			return cli.Usagef("--%s %d: want at least 1", list.flag, n)
		}
	}
	if o.cuts > 0 && slices.Min(o.nodes) < 3 {
		return cli.Usagef("--isolate needs 3 nodes or more: otherwise there is no majority left that could go on")
	}
	if len(o.delays) == 0 {
		return cli.Usagef("--delay is empty: want at least one, such as 0")
	}
	if d := slices.Min(o.delays); d < 0 {
		return cli.Usagef("--delay %v: want 0 or more", d)
	}
	return o.checkTrialLimit()
}

// trials checks the flags and returns the trials to run.
func (o *clusterOptions) trials() ([]cluster.Planned, error) {
	if err := o.checkNumbers(); err != nil {
		return nil, err
	}
	job := protocol.Cluster{DurationMS: o.duration.Milliseconds(), Patience: max(o.patience.Milliseconds(), 1)}
	if o.harms() {
		job.Harm = &protocol.ClusterHarm{Clients: o.clients[0], Kills: o.kills, Cuts: o.cuts, LoadMS: o.duration.Milliseconds(),
			LimitMS: o.limit.Milliseconds(), Patience: o.patience.Milliseconds(), Levels: driver.ReadLevels}
	} else {
		for _, batch := range o.batches {
			for _, clients := range o.clients {
				job.Loads = append(job.Loads, protocol.ClusterLoad{Clients: clients, Batch: batch})
			}
		}
	}
	if err := (&protocol.Job{Cluster: &job}).Check(); err != nil {
		return nil, cli.WrongUsage(err)
	}
	pool := driver.Settings{"pool_size": strconv.Itoa(slices.Max(o.clients) + 1)} // one connection for each client, and another to check which rows are visible
	settings, err := parseSettings("--set", o.set)
	if err != nil {
		return nil, err
	}
	local, err := parseSettings("--local-set", o.localSet)
	if err != nil {
		return nil, err
	}
	var list []cluster.Planned
	if o.local != noDriver {
		list = append(list, cluster.Planned{ClusterTrial: cluster.ClusterTrial{Driver: o.local, Settings: pool.With(local)}, Job: job})
	}
	for _, nodes := range o.nodes {
		for i, delay := range o.delays {
			if nodes == 1 && i > 0 {
				break // a cluster of one node has no network, so its first delay is enough
			}
			t := cluster.Planned{ClusterTrial: cluster.ClusterTrial{Driver: o.driver, Nodes: nodes, Delay: delay}, Job: job}
			if nodes == 1 {
				t.Delay = 0
			}
			defs := []string{"nodes=" + strconv.Itoa(nodes)}
			if t.Delay > 0 || o.cuts > 0 { // connections between nodes can be delayed and cut only if the setting node_delay is given
				defs = append(defs, "node_delay="+t.Delay.String())
			}
			cluster, err := parseSettings("--nodes", defs)
			if err != nil {
				return nil, err
			}
			t.Settings = pool.With(settings).With(cluster)
			list = append(list, t)
		}
	}
	return list, nil
}

const noDriver = "none"

func parseSettings(flag string, list []string) (driver.Settings, error) {
	s := driver.Settings{}
	for _, def := range list {
		name, value, ok := strings.Cut(def, "=")
		if name = strings.TrimSpace(name); !ok {
			return nil, cli.Usagef("%s %s: want setting=value", flag, def)
		}
		v, err := driver.ParseSetting(name, value)
		if err != nil {
			return nil, cli.Usagef("%s: %w", flag, err)
		}
		s[name] = v
	}
	return s, nil
}

func (o *clusterOptions) measure(ctx context.Context, shop cli.Workshop, dir string, trials []cluster.Planned, show *cli.Progress) (*cluster.Clusters, error) {
	scratch, observer, err := cli.Observed(dir) // called before anything is built, because the directory may be unusable
	if err != nil {
		return &cluster.Clusters{}, err
	}
	defer scratch.Remove()
	m := &cluster.Measurement{
		Trials: trials, Executables: map[string]string{}, Rounds: o.rounds, Harms: o.kills + o.cuts, Limit: o.trialLimit + o.asked(),
		Dir: scratch.Dir, Observer: observer, Note: show.Note,
	}
	for i := range trials {
		t := &trials[i]
		if m.Executables[t.Driver] != "" {
			continue
		}
		if m.Executables[t.Driver], err = shop.Worker(ctx, t.Ref, show.Note); err != nil {
			return &cluster.Clusters{}, err
		}
	}
	out, err := m.Run(ctx)
	out.Machine.Directory = dir // not scratch.Dir, which no longer exists when users read this
	return out, err
}

// asked estimates the time of a trial from the options. If the leader is killed or cut off, each kill
// and each cut takes o.duration plus twice o.patience. Without kills and cuts, the estimate is twice
// the duration of all loads.
func (o *clusterOptions) asked() time.Duration {
	if n := o.kills + o.cuts; n > 0 {
		return time.Duration(n) * (o.duration + 2*o.patience)
	}
	return time.Duration(2*len(o.clients)*len(o.batches)) * o.duration
}
