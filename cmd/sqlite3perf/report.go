package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func reportCommand(env *cli.Environment) *cobra.Command {
	o := &showOptions{OutputOptions: cli.OutputOptions{Format: pageFormat}}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a stored run as a page with pictures, as show -o x.html does",
		Long: `Report writes a run as one HTML file that needs neither a network nor a server. It has
the answer, pictures with their figures, and for each figure its samples and the
settings that the driver read back. If tune, locks, advise, diff, cluster, crash or gate
made the run, the page has that command's answer, and with --figures the measurements.

The run is in the store, given by its number or as "last", or it is a JSON report
(base.json). Without -o the file is run-3.html, or base.html, in the working directory.
Report prints the file's name. Show RUN -o x.html writes the same page, and also has
other formats.`,
		Example: "  sqlite3perf report last\n  sqlite3perf report 3 -o report.html\n  sqlite3perf report base.json",
		Args:    cli.Arguments(1, 1, "the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.File != "" {
				if format := cli.FormatOf(o.File); format != "" && format != pageFormat {
					return cli.Usagef("-o %s: report writes a page: want a name that ends in .html, or sqlite3perf show %s -o %s", o.File, args[0], o.File)
				}
				if err := o.Check(); err != nil {
					return err
				}
			}
			run, err := storedOrReport(cmd.Context(), env, o.Store, args[0])
			if err != nil {
				return err
			}
			if o.File == "" {
				o.File = fmt.Sprintf("run-%d.html", run.ID)
				if base, isReport := strings.CutSuffix(filepath.Base(args[0]), ".json"); isReport {
					o.File = base + ".html"
				}
				if err := cli.ReplacesPage(o.File); err != nil {
					return err
				}
				if err := o.Check(); err != nil {
					return err
				}
			}
			if err := o.showRun(cmd.Context(), env, run, stats.Analyze(run, lab.Floor)); err != nil {
				return err
			}
			_, err = fmt.Fprintln(env.Stdout, o.File)
			return err
		},
	}
	cli.AddStoreFlag(cmd.Flags(), &o.Store)
	addFiguresFlag(cmd.Flags(), &o.figures)
	cmd.Flags().StringVarP(&o.File, "output", "o", "", "`file` for the page (default: run-N.html)")
	return cmd
}

const pageFormat = "html"
