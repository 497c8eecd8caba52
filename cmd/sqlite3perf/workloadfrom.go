package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

func workloadCommand(env *cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "workload",
		Short:   "Make a workload: from a database of yours",
		Long:    "Workload makes a workload. The command workloads lists, explains and checks them.",
		Example: "  sqlite3perf workload from app.db -o mine.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && cli.IsWorkload(args[0]):
				return cli.Usagef("unexpected argument %q: sqlite3perf workloads %[1]s explains it", args[0])
			case len(args) > 0 && cli.IsDatabase(args[0]):
				return cli.DatabaseHere(cmd, args[0])
			}
			return cli.Arguments(0, 0, "")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(workloadFromCommand(env))
	return cmd
}

type fromOptions struct {
	file       string
	rows       string
	keepValues bool
	noCompare  bool
	keep       string
	force      bool
	format     string
	quiet      bool
}

func workloadFromCommand(env *cli.Environment) *cobra.Command {
	o := &fromOptions{}
	cmd := &cobra.Command{
		Use:   "from DATABASE",
		Short: "Write a workload that imitates a database",
		Long: `From reads a database and writes a workload that is like it: the same schema, as many
rows, columns with the same kinds of values, and phases that insert, read by each index
and join along foreign keys. Then it loads the imitation into a temporary file and shows
how similar it is: sizes, plans and numbers of rows.

The database is only read, through a copy in a temporary directory (TMPDIR), so an
application that uses it does not wait. The workload has no text of the database: times
and numbers of 1000 or more are rounded or moved, and other texts become letters, also
in the schema. It does have names of tables and columns, numbers of rows, lengths of
texts, and small integers with their frequencies.`,
		Example: `  sqlite3perf workload from app.db -o mine.yaml
  sqlite3perf workload from app.db -o mine.yaml --rows 10%
  sqlite3perf run --workloads ./mine.yaml --drivers mattn,modernc`,
		Args: cli.Arguments(1, 1, "the database"),
		RunE: func(cmd *cobra.Command, args []string) error {
			share, err := o.check(args[0])
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), env, args[0], share)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "output", "o", "", "`file` for the workload (default: standard output)")
	f.StringVar(&o.rows, "rows", "100%", "how many rows to generate for each table with 1000 rows or more, as a percentage of its rows")
	f.BoolVar(&o.keepValues, "keep-values", false, "copy real values into the workload: literals of the schema, the exact least and greatest value of columns, and all values of columns with few different values")
	f.BoolVar(&o.noCompare, "no-compare", false, "do not compare the workload with the database")
	f.StringVar(&o.keep, "keep", "", "new `file` for the database that the workload generates for the comparison")
	cli.Reaching(f, cli.Reveals, "keep-values")
	cli.Reaching(f, cli.Writes, "keep")
	f.BoolVar(&o.force, "force", false, "also replace a file that this command did not write, or that was changed since")
	cli.Reaching(f, cli.Overwrites, "force")
	f.StringVar(&o.format, "format", "text", "how the comparison is printed: text or json")
	f.BoolVar(&o.quiet, "quiet", false, "show no progress")
	return cmd
}

func (o *fromOptions) check(database string) (float64, error) {
	number, percent := strings.CutSuffix(o.rows, "%")
	share, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || !(share > 0 && share <= 100) {
		return 0, cli.Usagef("--rows is %q: want a share, such as 10%%, up to 100%%", o.rows)
	}
	if o.format != "text" && o.format != "json" {
		return 0, cli.Usagef("--format is %q: want text or json", o.format)
	}
	if err := snapshot.Check(database); err != nil {
		return 0, cli.Usagef("database %s: %w", database, err)
	}
	switch {
	case o.keep == "":
	case o.noCompare:
		return 0, cli.Usagef("--keep and --no-compare: the imitation is loaded only to be compared: leave one of them out")
	default:
		if _, err := os.Lstat(o.keep); err == nil {
			return 0, cli.Usagef("--keep %s exists: name a new file", o.keep)
		}
		if err := (&cli.OutputOptions{File: o.keep, Flag: "--keep " + o.keep}).CheckPlace(); err != nil {
			return 0, err
		}
	}
	if o.file == "" {
		return share / 100, nil
	}
	if ext := filepath.Ext(o.file); ext != ".yaml" && ext != ".yml" {
		return 0, cli.Usagef("-o %s: a workload's file ends in .yaml: want such as mine.yaml", o.file)
	}
	if cli.SameFile(o.file, database) {
		return 0, cli.Usagef("-o %s is the database: name another file", o.file)
	}
	if err := o.output().CheckPlace(); err != nil {
		return 0, err
	}
	if !o.force && !imitate.Replaceable(o.file) {
		return 0, cli.Usagef("-o %s exists, and workload from did not write it, or it has been changed: name another file, or replace it with --force", o.file)
	}
	return share / 100, nil
}

func (o *fromOptions) output() *cli.OutputOptions { return &cli.OutputOptions{File: o.file} }

func (o *fromOptions) run(ctx context.Context, env *cli.Environment, database string, share float64) (err error) {
	ctx, stop, release := env.Interruptible(ctx, env.Say, cli.Stopping)
	defer release()
	ctx = cli.Until(ctx, stop)
	tell := o.teller(env)
	defer func() {
		if cli.Interrupted(stop) && err != nil {
			tell("")
			env.Say("interrupted: no workload is written")
			err = cli.StatusError(cli.ExitInterrupted)
		}
	}()
	scratch, err := process.NewTemporary()
	if err != nil {
		return err
	}
	defer scratch.Remove()
	source, err := imitate.Open(ctx, database, scratch.Dir)
	if errors.Is(err, imitate.ErrNoTables) {
		return cli.WrongUsage(err)
	}
	if err != nil {
		return cli.Incomplete(err)
	}
	defer func() {
		if e := source.Close(); err == nil {
			err = e
		}
	}()
	w, err := imitate.From(ctx, source, imitate.Options{Share: share, KeepValues: o.keepValues, Tell: tell})
	if err != nil {
		return err
	}
	resolved, err := o.valid(w)
	if err != nil {
		return err
	}
	var c *imitate.Comparison
	if !o.noCompare {
		if c, err = o.compare(ctx, w, resolved, tell); err != nil {
			return err
		}
		if _, err := o.valid(w); err != nil { // the comparison may have changed the text of the workload
			return err
		}
	}
	text := imitate.Sealed(w.YAML)
	tell("")
	out := env.Stdout
	if o.file == "" {
		if _, err := io.WriteString(env.AsItIs(), text); err != nil {
			return err
		}
		out = env.Stderr
	} else if err := o.output().Put([]byte(text)); err != nil {
		return fmt.Errorf("-o %s: %w", o.file, directory.Reason(err))
	}
	answer := &imitate.Answer{Database: database, File: o.file, Kept: o.keep, Workload: w, Comparison: c, Source: source}
	if o.format == "json" {
		return answer.WriteJSON(out)
	}
	if o.file != "" {
		answer.Measure, answer.Full = "sqlite3perf run --workloads "+conditions.ShellWord(cli.PathOf(o.file)), "--scale full"
	}
	return answer.WriteText(out)
}

// compare compares the imitation with the database. With --keep it also stores the imitation's
// database, but only if the comparison succeeds.
func (o *fromOptions) compare(ctx context.Context, w *imitate.Workload, resolved *plan.Plan, tell func(string)) (*imitate.Comparison, error) {
	if o.keep == "" {
		return w.Compare(ctx, resolved, "", tell)
	}
	scratch, err := process.Beside(o.keep)
	if err != nil {
		return nil, fmt.Errorf("--keep %s: %w", o.keep, directory.Reason(err))
	}
	defer scratch.Remove()
	file := filepath.Join(scratch.Dir, filepath.Base(o.keep))
	c, err := w.Compare(ctx, resolved, file, tell)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(o.keep); err == nil {
		return nil, cli.Usagef("--keep %s exists by now: name a new file", o.keep)
	}
	if err := os.Rename(file, o.keep); err != nil {
		return nil, fmt.Errorf("--keep %s: %w", o.keep, err)
	}
	return c, nil
}

// valid checks the generated workload, and returns its plan.
func (o *fromOptions) valid(w *imitate.Workload) (*plan.Plan, error) {
	parsed, err := workload.Parse(cmp.Or(o.file, "imitation.yaml"), []byte(w.YAML), nil)
	if err != nil {
		return nil, fmt.Errorf("the workload that was made is not valid: %w", err)
	}
	resolved, err := parsed.Plan(workload.Full, nil)
	if err != nil {
		return nil, err
	}
	if err := lab.CheckSQL(parsed, resolved); err != nil {
		return nil, fmt.Errorf("the workload that was made is not valid: %w", err)
	}
	return resolved, nil
}

const toldEvery = 10 * time.Second

// teller returns a function that shows the current step on standard error. On a terminal each step replaces
// the line of the previous step, and the step "" empties the line. Elsewhere the function prints a line at
// most every [toldEvery]. With --quiet, it does nothing.
func (o *fromOptions) teller(env *cli.Environment) func(string) {
	if o.quiet {
		return func(string) {}
	}
	last := env.Now()
	if env.StderrWidth == 0 {
		return func(what string) {
			if now := env.Now(); what != "" && now.Sub(last) > toldEvery {
				last = now
				fmt.Fprintln(env.Stderr, what)
			}
		}
	}
	return func(what string) {
		if now := env.Now(); what == "" || now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Fprintf(env.RawErr, "\r\x1b[K%s", document.Abridged(what, env.StderrWidth-1))
		}
	}
}
