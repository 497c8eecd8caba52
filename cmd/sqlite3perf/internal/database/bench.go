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

// BenchCommand returns the command bench.
func BenchCommand(env *cli.Environment) *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Read every row of the table, hash and compare, and time it",
		Long: `Bench reads the table that generate made and verifies that hash is the SHA-256 of the
bytes that rand encodes. Times start at the query, on an open connection. "After query"
is when the library has accepted the query: when Query of database/sql has returned, or
when another library has prepared the statement.

Rows that do not match are counted, the first ten are shown, and the exit status is 1.`,
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

// benched is the result of reading the table in one way.
type benched struct {
	*databaseOutput
	how    string
	where  string
	result *protocol.Benched
}

func bench(ctx context.Context, env *cli.Environment, o *benchOptions) error {
	type reading struct {
		how string
		protocol.Bench
		driver string
	}
	list := []reading{{"", protocol.Bench{Pipeline: o.pipeline}, o.driver}}
	if o.pipeline {
		list[0].how = "pipeline"
	}
	if o.python {
		list = append(list, reading{"", protocol.Bench{}, "python-fetchall"}, reading{"", protocol.Bench{}, "python"})
	}
	var tasks []*task
	var watchers []*cli.Watcher
	for i := range list {
		own := o.databaseOptions
		own.driver = list[i].driver
		w := cli.NewWatcher(env, own.quiet, 0, benchLine(list[i].how, list[i].driver, len(list) > 1))
		b := list[i].Bench
		b.Table, b.EveryMS = o.table, w.Every(int64(o.interval)*1000)
		t, err := own.check(ctx, env, protocol.Job{Bench: &b}, reads)
		if err != nil {
			return err
		}
		if s := t.request.Settings; b.Pipeline && s["locking_mode"] != "exclusive" {
			s["pool_size"] = strconv.Itoa(runtime.NumCPU())
		}
		tasks, watchers = append(tasks, t), append(watchers, w)
	}
	for i, t := range tasks {
		if err := t.prepare(ctx, watchers[i]); err != nil {
			return err
		}
	}
	var done []benched
	stopped := false
	for i, t := range tasks {
		res, err := t.run(ctx, watchers[i])
		if err != nil && len(done) > 0 {
			err = errors.Join(err, printBenched(env.Stdout, &o.databaseOptions, done, false))
		}
		if err != nil {
			return err
		}
		if res.Bench != nil {
			done = append(done, benched{t.databaseOutput("bench", res), list[i].how, t.where(), res.Bench})
		}
		if stopped = res.Interrupted; stopped {
			break
		}
	}
	if err := printBenched(env.Stdout, &o.databaseOptions, done, stopped); err != nil {
		return err
	}
	for _, b := range done {
		if b.result.Mismatches > 0 {
			return cli.StatusError(cli.ExitFailed)
		}
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

func printBenched(out io.Writer, o *databaseOptions, list []benched, stopped bool) error {
	if o.format == "json" {
		return document.EncodeEscaped(out, document.Map(list, func(b benched) *databaseOutput { return b.databaseOutput }))
	}
	for i, b := range list {
		if i > 0 {
			fmt.Fprintln(out)
		}
		r := b.result
		fmt.Fprintf(out, "table %s of %s", o.table, b.where)
		if b.how != "" {
			fmt.Fprintf(out, ", %s", b.how)
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
