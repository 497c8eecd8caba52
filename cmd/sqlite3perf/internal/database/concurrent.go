package database

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

type concurrentOptions struct {
	databaseOptions
	protocol.Concurrent
	maxConns int
	duration time.Duration
	close    bool
	txlock   string
	pool     string
}

func ConcurrentCommand(env *cli.Environment) *cobra.Command {
	o := &concurrentOptions{}
	cmd := &cobra.Command{
		Use:   "concurrent",
		Short: "Run readers and writers on the table at the same time",
		Long: `Concurrent runs writers, which insert single rows with ascending IDs, and readers, which
read the three rows with the greatest IDs. Each of them begins an operation when its last
one has ended (closed loop). Each second, and in total, concurrent reports rates,
latency, and errors by SQLite's extended code. Errors because of a lock or of an ID that
exists are counted; any other error ends the run. Rates and latencies include failed
operations; ok is the share that succeeded.

Two of these commands may use one file at the same time:
  sqlite3perf concurrent --clear --db 'a.db?_journal=wal&_busy_timeout=10000'
  sqlite3perf concurrent --from=99999999 --db 'a.db?_journal=wal&_busy_timeout=10000'`,
		Example: `  sqlite3perf concurrent -r 10 -w 10 -m 4 -d 10s --clear --db 'a.db?_journal=wal'
  sqlite3perf concurrent -w 100 --pool own --txlock immediate --db 'a.db?_journal=wal'`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.pool != "pinned" && o.pool != "go" && cmd.Flags().Changed("maxConns") {
				return cli.Usagef("--pool %s and -m %d both say how many connections there are: leave one out", o.pool, o.maxConns)
			}
			return concurrent(cmd.Context(), env, o)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.Readers, "reads", "r", 100, "`number` of readers")
	f.IntVarP(&o.Writers, "writes", "w", 100, "`number` of writers")
	f.IntVarP(&o.maxConns, "maxConns", "m", 1, "`connections` in the shared pool")
	f.DurationVarP(&o.duration, "duration", "d", time.Minute, "how long")
	f.Int64Var(&o.From, "from", 0, "first `ID` to write")
	f.BoolVar(&o.Clear, "clear", false, "drop and recreate the table first")
	cli.Reaching(f, cli.Overwrites, "clear")
	f.BoolVar(&o.close, "close", true, "close the database at the end; --close=false leaves the WAL as it is")
	f.StringVar(&o.txlock, "txlock", "", "write in explicit transactions that begin deferred, immediate or exclusive (default: each INSERT is a transaction)")
	f.StringVar(&o.pool, "pool", "pinned", "pinned: all connections of the shared pool stay open; go: at most 2 idle connections stay open (Go's default); own: each client has its own connection; a number: the same as -m")
	f.BoolVar(&o.Force, "force", false, "write to a database that sqlite3perf did not make, and drop or create its table")
	o.addFlags(f)
	o.addTableFlag(f)
	o.addSeedFlag(f)
	return cmd
}

// settings adds the settings of --txlock, --pool and -m to s, which already has the settings in --db. It
// returns an error if a flag and --db give the same setting different values.
func (o *concurrentOptions) settings(s driver.Settings) error {
	set := func(flag, name, value string) error {
		v, err := driver.ParseSetting(name, value)
		if err != nil {
			return cli.Usagef("%s: %w", flag, err)
		}
		if old, ok := s[name]; ok && old != v {
			return cli.Usagef("%s %s: --db says %s=%s: leave one out", flag, value, name, old)
		}
		s[name] = v
		return nil
	}
	if o.txlock != "" {
		if err := set("--txlock", "txlock", o.txlock); err != nil {
			return err
		}
	}
	size := strconv.Itoa(o.maxConns)
	switch o.pool {
	case "pinned":
	case "go":
		if err := set("--pool", "pool_idle", strconv.Itoa(min(2, o.maxConns))); err != nil {
			return err
		}
	case "own":
		o.Own = true
		size = strconv.Itoa(max(o.Readers+o.Writers, 1))
	default:
		if n, err := strconv.Atoi(o.pool); err != nil || n < 1 {
			return cli.Usagef("--pool %s: want pinned, go, own, or a number of connections", o.pool)
		}
		size = o.pool
	}
	if s["mode"] == "memory" && s["cache"] != "shared" && size != "1" {
		return cli.Usagef("--db %s: each of %s connections would have its own database in memory: add cache=shared, or want -m 1", o.db, size)
	}
	return set("-m", "pool_size", size)
}

func concurrent(ctx context.Context, env *cli.Environment, o *concurrentOptions) error {
	o.Table, o.DurationMS, o.KeepOpen = o.table, o.duration.Milliseconds(), !o.close
	w := cli.NewWatcher(env, o.quiet, 0, activityLine)
	t, err := o.check(ctx, env, protocol.Job{Concurrent: &o.Concurrent})
	if err != nil {
		return err
	}
	if err := o.settings(t.request.Settings); err != nil {
		return err
	}
	res, failed := t.run(ctx, w)
	if failed != nil && (res == nil || res.Concurrent == nil || res.Concurrent.Readers.Operations+res.Concurrent.Writers.Operations == 0) {
		return failed
	}
	err = t.print("concurrent", res, func(out io.Writer) error {
		if res.Concurrent == nil {
			return nil
		}
		return t.printConcurred(out, &o.Concurrent, res.Concurrent)
	})
	if failed == nil && res.Interrupted {
		fmt.Fprintln(env.Stderr, "interrupted")
	}
	return cmp.Or(failed, err)
}

func activityLine(p *protocol.Progress) string {
	a := p.Second
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%s  %s | %s", time.Duration(p.ElapsedNS).Round(time.Second),
		groupLine("reads", &a.Readers, a.WallNS), groupLine("writes", &a.Writers, a.WallNS))
}

func groupLine(what string, g *protocol.Group, ns int64) string {
	l := &g.Latency
	s := fmt.Sprintf("%s %.0f/s", what, perSecond(g.Operations, ns))
	if g.Operations > 0 {
		s += fmt.Sprintf(" p50 %s p99 %s max %s", short(l.P50NS), short(l.P99NS), short(l.MaxNS))
	}
	if g.Failed > 0 {
		s += " ok " + document.PercentOK(g.Failed, g.Operations)
	}
	for _, e := range g.Errors {
		s += fmt.Sprintf(" %d %s", e.Count, e.Name)
	}
	return s
}

// short formats a latency in ns with about three digits.
func short(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Second; unit > time.Nanosecond; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

func (t *task) printConcurred(out io.Writer, c *protocol.Concurrent, r *protocol.Concurred) error {
	var rows [][]string
	var after strings.Builder
	for _, g := range []struct {
		name    string
		clients int
		*protocol.Group
	}{{"readers", c.Readers, &r.Readers}, {"writers", c.Writers, &r.Writers}} {
		l := &g.Latency
		rows = append(rows, []string{g.name, strconv.Itoa(g.clients), strconv.FormatInt(g.Operations, 10), fmt.Sprintf("%.1f", perSecond(g.Operations, r.WallNS)),
			short(l.MeanNS), short(l.P50NS), short(l.P90NS), short(l.P99NS), short(l.P999NS), short(l.MaxNS), document.PercentOK(g.Failed, g.Operations)})
		for _, e := range g.Errors {
			fmt.Fprintf(&after, "%s: %d %s (%d), after %s of waiting in all\n", g.name, e.Count, e.Name, e.Code, short(e.WaitNS))
		}
	}
	if c.Writers > 0 {
		fmt.Fprintf(&after, "IDs from %d to %d were tried\n", c.From, r.LastID)
	}
	fmt.Fprintf(out, "table %s of %s, for %s, closed loop\n", c.Table, t.where(), time.Duration(r.WallNS).Round(time.Millisecond))
	err := document.PrintTable(out, "|>clients|>operations|>per second|>mean|>p50|>p90|>p99|>p99.9|>max|>ok", rows)
	if err == nil {
		_, err = io.WriteString(out, after.String())
	}
	return err
}
