package database

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func GenerateCommand(env *cli.Environment) *cobra.Command {
	o := &databaseOptions{}
	g := &protocol.Generate{}
	var interval int
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Fill a table with random values and their hashes, and time it",
		Long: `Generate drops, recreates and fills the table: column ID counts from 0, rand is 8 random
bytes in hex, and hash is the SHA-256 of those bytes. Each INSERT of --batch rows is its
own transaction, on one connection. Values are made from --seed, ahead of the INSERTs,
on another core.

Without --force, it drops nothing in a database that sqlite3perf did not make. Ctrl-C
stops it after the current INSERT; then it prints the number of rows.`,
		Example: `  sqlite3perf generate -r 1000000 -b 100 -p --db 'a.db?_journal=wal&_sync=0'
  sqlite3perf generate -r 50000 --db a.db --driver modernc -v`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < 0 {
				return cli.Usagef("-i %d: want seconds between progress lines, or 0 for none", interval)
			}
			return generate(cmd.Context(), env, o, g, interval)
		},
	}
	f := cmd.Flags()
	f.Int64VarP(&g.Rows, "records", "r", 1000, "`rows` to insert")
	f.IntVarP(&g.Batch, "batch", "b", 100, "`rows` per INSERT")
	f.IntVarP(&interval, "interval", "i", 2, "`seconds` between progress lines, 0 for none")
	f.BoolVarP(&g.Vacuum, "vacuum", "v", false, "VACUUM afterwards")
	f.BoolVarP(&g.Prepared, "prepared", "p", false, "prepare the INSERT once")
	f.BoolVar(&g.Force, "force", false, "drop or create the table even in a database that sqlite3perf did not make")
	o.addFlags(f)
	o.addTableFlag(f)
	o.addSeedFlag(f)
	return cmd
}

func generate(ctx context.Context, env *cli.Environment, o *databaseOptions, g *protocol.Generate, interval int) error {
	g.Table = o.table
	w := cli.NewWatcher(env, o.quiet, g.Rows, func(p *protocol.Progress) string {
		switch {
		case p.Stage == "vacuum":
			return "VACUUM"
		case p.Rows > 0:
			return written(p.Rows, g.Rows, time.Duration(p.ElapsedNS))
		}
		return ""
	})
	g.EveryMS = w.Every(int64(interval) * 1000)
	_, err := o.do(ctx, env, "generate", protocol.Job{Generate: g}, w, func(t *task, out io.Writer, res *protocol.JobResult) error {
		done := res.Generate
		if done == nil {
			_, err := fmt.Fprintf(out, "interrupted before the table %s was recreated\n", g.Table)
			return err
		}
		fmt.Fprintf(out, "table %s of %s, seed %d\n", g.Table, t.where(), t.request.Seed)
		_, err := fmt.Fprintln(out, written(done.Rows, g.Rows, time.Duration(done.WallNS)))
		if done.VacuumNS > 0 {
			_, err = fmt.Fprintf(out, "VACUUM took %s\n", time.Duration(done.VacuumNS))
		}
		if res.Interrupted {
			_, err = fmt.Fprintf(out, "interrupted: %d rows of %d are in the table\n", done.Rows, g.Rows)
		}
		return err
	})
	return err
}

// written returns a line about progress. The line is worded as in the program from which sqlite3perf
// began.
func written(rows, of int64, took time.Duration) string {
	width := len(fmt.Sprint(of))
	return fmt.Sprintf("%*d/%d (%6.2f%%) written in %s, avg: %s/record, %.2f records/s",
		width, rows, of, 100*float64(rows)/float64(of), took, took/time.Duration(max(rows, 1)), float64(rows)/max(took.Seconds(), 1e-9))
}
