package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

type benchOptions struct {
	databaseOptions
	pipeline bool
	python   bool
	interval int
}

func BenchCommand(env *cli.Environment) *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Read every row of the table, hash and compare, and time it",
		Long: `Bench reads the table that generate made, and verifies that each value of the column
"hash" is the SHA-256 of the bytes that the column "rand" encodes. Times start at the
query, on an open connection. "After query" is when the library has accepted the query:
when Query of database/sql has returned, or when another library has prepared the
statement.

If rows do not match, they are counted, the first ten are shown, and the exit status is
1.`,
		Example: `  sqlite3perf bench --db a.db
  sqlite3perf bench --db a.db --driver native --pipeline
  sqlite3perf bench --db a.db --python`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.interval < 0 {
				return cli.Usagef("-i %d: want seconds between progress lines, or 0 for none", o.interval)
			}
			return bench(cmd.Context(), env, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.pipeline, "pipeline", false, "read and hash on all cores, each with its own connection and ranges of the table")
	f.BoolVar(&o.python, "python", false, "also read the file with Python: with all rows fetched first, and row by row")
	cli.Reaching(f, cli.Executes, "python")
	f.IntVarP(&o.interval, "interval", "i", 2, "`seconds` between progress lines, 0 for none")
	o.addFlags(f)
	o.addTableFlag(f)
	return cmd
}

// reading is one of the ways in which the command "bench" reads the table: a driver, with or without a
// pipeline.
type reading struct {
	*task
	how     string // "pipeline", or "" for one connection
	watcher *cli.Watcher
	result  *protocol.JobResult // nil before the job has run
}

func bench(ctx context.Context, env *cli.Environment, o *benchOptions) error {
	drivers := []string{o.driver}
	if o.python {
		drivers = append(drivers, "python-fetchall", "python")
	}
	var list []*reading
	for i, driver := range drivers {
		own := o.databaseOptions
		own.driver = driver
		r := &reading{}
		b := &protocol.Bench{Table: o.table, Pipeline: o.pipeline && i == 0}
		if b.Pipeline {
			r.how = "pipeline"
		}
		r.watcher = cli.NewWatcher(env, own.quiet, 0, benchLine(r.how, driver, len(drivers) > 1))
		b.EveryMS = r.watcher.Every(int64(o.interval) * 1000)
		var err error
		if r.task, err = own.check(ctx, env, protocol.Job{Bench: b}); err != nil {
			return err
		}
		if s := r.request.Settings; b.Pipeline && s["locking_mode"] != "exclusive" {
			s["pool_size"] = strconv.Itoa(runtime.NumCPU())
		}
		list = append(list, r)
	}
	for _, r := range list {
		if err := r.prepare(ctx, r.watcher); err != nil {
			return err
		}
	}
	var done []*reading
	stopped := false
	for _, r := range list {
		res, err := r.run(ctx, r.watcher)
		if err != nil && len(done) > 0 {
			err = errors.Join(err, printBenched(env.Stdout, o.format, done, false))
		}
		if err != nil {
			return err
		}
		if r.result = res; res.Bench != nil {
			done = append(done, r)
		}
		if stopped = res.Interrupted; stopped {
			break
		}
	}
	if err := printBenched(env.Stdout, o.format, done, stopped); err != nil {
		return err
	}
	if slices.ContainsFunc(done, func(r *reading) bool { return r.result.Bench.Mismatches > 0 }) {
		return cli.StatusError(cli.ExitFailed)
	}
	if stopped {
		return cli.StatusError(cli.ExitInterrupted)
	}
	return nil
}

func benchLine(how, driver string, named bool) func(*protocol.Progress) string {
	prefix := ""
	if named {
		prefix = strings.TrimSpace(driver+" "+how) + ": "
	}
	return func(p *protocol.Progress) string {
		switch {
		case p.Stage == "first-row" && len(p.FirstRow) == 3:
			return fmt.Sprintf("%sfirst row after %s: ID %s, rand %s, hash %s", prefix, time.Duration(p.ElapsedNS), document.Line(p.FirstRow[0]), document.Line(p.FirstRow[1]), document.Line(p.FirstRow[2]))
		case p.Stage == "rows":
			return fmt.Sprintf("%s%d rows in %s, %.2f rows/s", prefix, p.Rows, time.Duration(p.ElapsedNS), perSecond(p.Rows, p.ElapsedNS))
		}
		return ""
	}
}

func perSecond(n, ns int64) float64 { return float64(n) / max(float64(ns)/1e9, 1e-9) }

func printBenched(out io.Writer, format string, list []*reading, stopped bool) error {
	if format == "json" {
		return document.EncodeEscaped(out, document.Map(list, func(r *reading) *databaseOutput { return r.databaseOutput("bench", r.result) }))
	}
	for i, x := range list {
		if i > 0 {
			fmt.Fprintln(out)
		}
		r := x.result.Bench
		fmt.Fprintf(out, "table %s of %s", x.options.table, x.where())
		if x.how != "" {
			fmt.Fprintf(out, ", %s", x.how)
		}
		fmt.Fprintln(out)
		rows := [][]string{{"time after query", time.Duration(r.AfterQueryNS).String()}, {"rows", strconv.FormatInt(r.Rows, 10)}}
		if r.Rows > 0 {
			rows = slices.Insert(rows, 1, []string{"time to first row", time.Duration(r.FirstRowNS).String()})
			rows = append(rows, []string{"average", fmt.Sprintf("%s per record, %.2f records/s", time.Duration(r.WallNS/r.Rows), perSecond(r.Rows, r.WallNS))})
		}
		if err := document.PrintTable(out, "|", append(rows, []string{"overall", time.Duration(r.WallNS).String()})); err != nil {
			return err
		}
		if r.Mismatches > 0 {
			fmt.Fprintf(out, "%d rows of %d do not match:\n", r.Mismatches, r.Rows)
			for _, m := range r.First {
				fmt.Fprintf(out, "  ID %s: %s\n", document.Line(m.ID), document.Line(m.Why))
			}
			if more := r.Mismatches - int64(len(r.First)); more > 0 {
				fmt.Fprintf(out, "  and %d more\n", more)
			}
		}
	}
	if stopped {
		_, err := fmt.Fprintln(out, "interrupted")
		return err
	}
	return nil
}
