package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/catalog"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
)

func workloadsCommand(env *cli.Environment) *cobra.Command {
	var language, schema, source, allowFiles bool
	cmd := &cobra.Command{
		Use:   "workloads [NAME or FILE]",
		Short: "List the built-in workloads, or explain and check one",
		Long: `Workloads lists the built-in workloads. With a name it explains that workload. With the
path of a YAML file it checks the file and explains what it would do. To write your own,
start from a built-in one, or from a database:
  sqlite3perf workloads simple --yaml > mine.yaml
  sqlite3perf workload from app.db -o mine.yaml`,
		Example: "  sqlite3perf workloads simple\n  sqlite3perf workloads ./mine.yaml\n  sqlite3perf workloads --language",
		Args:    cli.Arguments(0, 1, "the workload"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case language:
				_, err := io.WriteString(env.Stdout, workload.LanguageReference())
				return err
			case schema:
				_, err := env.Stdout.Write(workload.Schema)
				return err
			case source && len(args) == 0:
				return cli.Usagef("--yaml needs the name of a workload, such as: sqlite3perf workloads simple --yaml")
			case len(args) == 0:
				return catalog.ListWorkloads(env.Stdout)
			}
			if source {
				w, err := readWorkload(args[0], allowFiles)
				if err != nil {
					return err
				}
				text, err := catalog.Standalone(w)
				if err != nil {
					return err
				}
				_, err = io.WriteString(env.AsItIs(), text)
				return err
			}
			w, err := loadWorkload("", args[0], allowFiles)
			if err != nil {
				return err
			}
			resolved, err := w.Plan(workload.Quick, nil)
			if err != nil {
				return cli.Usagef("workload %s: %w", w.Name, err)
			}
			if err := lab.CheckSQL(w, resolved); err != nil {
				return cli.WrongUsage(err)
			}
			for _, p := range w.Warnings {
				fmt.Fprintf(env.Stderr, "warning: %s\n", document.Line(p.Error()))
			}
			return catalog.Explain(env.Stdout, w, resolved)
		},
	}
	cmd.Flags().BoolVar(&language, "language", false, "list what a workload file may say: generators, checks, phases")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of workload files, for an editor")
	cmd.Flags().BoolVar(&source, "yaml", false, "print the workload's file")
	cli.AddAllowFilesFlag(cmd.Flags(), &allowFiles)
	return cmd
}

// loadWorkload reads a built-in workload or a file. If the workload begins with a database,
// loadWorkload gives the workload a copy of the database, made in a temporary directory in dir. If dir
// is "", it uses the default directory for databases.
func loadWorkload(dir, name string, allowFiles bool) (*workload.Workload, error) {
	w, err := readWorkload(name, allowFiles)
	if err != nil || w.Database == "" {
		return w, err
	}
	if dir == "" {
		if dir, err = cli.DatabasesDirectory(""); err != nil {
			return nil, err
		}
	}
	scratch, err := process.NewScratch(dir, cli.RunDirectory)
	if err != nil {
		return nil, fmt.Errorf("directory for the copy of %s: %w", w.Database, err)
	}
	if runtime.GOOS != "windows" { // Windows does not remove open files; there, the next run removes the copy
		defer scratch.Remove()
	}
	s, err := snapshot.Take(context.Background(), w.DatabasePath(), scratch.Dir)
	if err != nil {
		return nil, cli.Usagef("workload %s: %w", w.Name, err)
	}
	if err := w.Begin(context.Background(), s); err != nil {
		return nil, cli.WrongUsage(err)
	}
	return w, nil
}

func readWorkload(name string, allowFiles bool) (*workload.Workload, error) {
	if cli.IsDatabase(name) {
		return nil, cli.Usagef("%s is a database, not a workload: %s", name, cli.FromDatabase(name))
	}
	var options []workload.Option
	if allowFiles {
		options = append(options, workload.AllowFiles)
	}
	w, err := workload.Load(name, options...)
	var problems workload.Problems
	if errors.As(err, &problems) && slices.ContainsFunc(problems, func(p workload.Problem) bool { return p.Outside }) {
		return nil, cli.Usagef("%w, or give --allow-files if you trust the workload", err)
	}
	if err != nil {
		return nil, cli.WrongUsage(err)
	}
	return w, nil
}
