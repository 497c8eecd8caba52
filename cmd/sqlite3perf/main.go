// Command sqlite3perf measures ways of using SQLite from Go.
//
// Each subcommand has its own file. This file only puts them together.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/database"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func init() { cobra.EnableCommandSorting = false } // so that the help lists commands in the order of the variable "groups"

func main() { os.Exit(command()) }

// command runs the command line in the environment of the process and returns the exit status.
func command() int {
	return execute(context.Background(), cli.ProcessEnvironment(), os.Args[1:])
}

func execute(ctx context.Context, env *cli.Environment, args []string) int {
	if len(args) > 0 && args[0] == record.StageArgument {
		return record.Stage(args[1:])
	}
	env = env.Printing()
	process.SweepTemporary()
	root := rootCommand(env)
	root.SetArgs(args)
	root.SetIn(strings.NewReader(""))
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	var unknown error // error for an unknown command whose help was requested
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
		if cmd == root && i >= 0 {
			unknown = unknownCommand(root, args[i])
			return
		}
		show(cmd, args)
	})
	err := cli.EnoughAddresses()
	if err == nil {
		err = cmp.Or(root.ExecuteContext(ctx), unknown)
	}
	switch {
	case err == nil, errors.As(err, new(cli.StatusError)):
		return cli.StatusOf(err)
	case env.Unread(err):
		return cli.ExitInterrupted
	}
	fmt.Fprintf(env.Stderr, "sqlite3perf: %v%s\n", err, hint(err))
	return cli.StatusOf(err)
}

// hint returns words that complete the message of an error, such as the flag that names another file
// or directory. It returns "" if there is nothing to add.
func hint(err error) string {
	var file *store.UnusableError
	var cache *build.CacheError
	switch {
	case errors.As(err, &file) && file.Remedy:
		return ", or name another file with --store FILE"
	case errors.As(err, &file):
		return ": name another file with --store FILE"
	case errors.As(err, &cache):
		return ": name another directory with --worker-cache"
	}
	return ""
}

const learn = "Know"

// groups are the commands in the order of the help, grouped by what a user wants to do.
var groups = []struct {
	title    string
	commands []func(*cli.Environment) *cobra.Command
}{
	{"Measure", []func(*cli.Environment) *cobra.Command{runCommand, reproduceCommand, profileCommand}},
	{"Judge", []func(*cli.Environment) *cobra.Command{compareCommand, gateCommand, bisectCommand, diffCommand}},
	{"Decide", []func(*cli.Environment) *cobra.Command{adviseCommand, tuneCommand, locksCommand, dsnCommand, crashCommand, clusterCommand}},
	{"Look", []func(*cli.Environment) *cobra.Command{showCommand, reportCommand, serveCommand, siteCommand, runsCommand, mergeCommand}},
	{learn, []func(*cli.Environment) *cobra.Command{driversCommand, workloadsCommand, doctorCommand, workloadCommand, checkCommand}},
	{"One database of yours", []func(*cli.Environment) *cobra.Command{database.GenerateCommand, database.BenchCommand, database.PragmaCommand, database.ConcurrentCommand, database.PaginateCommand}},
}

func rootCommand(env *cli.Environment) *cobra.Command {
	var root *cobra.Command
	root = &cobra.Command{
		Use:   "sqlite3perf",
		Short: "Measure ways of using SQLite from Go, fairly",
		Long: `sqlite3perf measures ways of using SQLite from Go: drivers, versions and
settings, on real workloads. Every driver runs in its own process, settings are
proven, answers are verified, trials are interleaved, and results without a clear
difference are called a tie.`,
		Example: `  sqlite3perf run
  sqlite3perf report last`,
		Version:       cli.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(root, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cobra.AddTemplateFunc("flagUsages", func(c *cobra.Command) string { return cli.FlagUsages(c, env.StdoutWidth) })
	usage := strings.Replace(root.UsageTemplate(), "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagUsages .}}", 1)
	root.SetUsageTemplate("{{if .HasParent}}" + usage + "{{else}}" + rootUsage + "{{end}}")
	cobra.AddTemplateFunc("versionText", cli.VersionText) // a function, so that the text is computed only for --version
	root.SetVersionTemplate("{{versionText}}")
	root.SetFlagErrorFunc(cli.FlagError)
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, command := range g.commands {
			c := command(env)
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(hostAgentCommand(env))
	root.SetHelpCommandGroupID(learn)
	root.SetCompletionCommandGroupID(learn)
	for _, c := range cli.Subcommands(root) {
		c.Flags().SortFlags = false // the help lists flags in the order of their declarations
		check, run := c.Args, c.RunE
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, instead := errors.AsType[cli.UsageError](err); err != nil && !instead {
				return cli.Usagef("%w; such as: %s", err, strings.TrimSpace(strings.SplitN(cmd.Example, "\n", 2)[0]))
			}
			return err
		}
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if err := cli.Configure(cmd); err != nil {
				return err
			}
			return run(cmd, args)
		}
	}
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		if of, _, _ := root.Find(args); of == root && len(args) > 0 {
			return unknownCommand(root, args[0])
		}
		return nil
	}
	return root
}

// rootUsage is the template of the help of the tool itself. It is short, so that a terminal of 40
// lines shows what the tool is for.
const rootUsage = `Usage:
  sqlite3perf COMMAND [flags]

Examples:
{{.Example}}

Commands (sqlite3perf COMMAND --help says more):{{$all := .Commands}}{{range $group := .Groups}}
{{$group.Title}}{{range $all}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}

Defaults for flags: SQLITE3PERF_ROUNDS=8 in the environment, or rounds: 8 in
./sqlite3perf.yaml or sqlite3perf/config.yaml of your configuration directory.
Exit status: 0 all measured; 1 sqlite3perf failed; 2 wrong usage; 3 gate found a
regression, or an expectation of a workload is not met; 4 some results are
refused, wrong, failed or undecided, or nothing could be measured;
130 interrupted; completed measurements are kept.
`

func unknownCommand(root *cobra.Command, name string) error {
	names := document.Map(root.Commands(), (*cobra.Command).Name)
	return cli.Usagef("unknown command %q: %s (sqlite3perf --help lists them)", name, driver.Suggest(name, names))
}
