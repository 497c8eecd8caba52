package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// TestHelp checks that every command shows its own help, for all ways to request help. Help for an
// unknown command must be an error in the command line.
func TestHelp(t *testing.T) {
	root := rootCommand(cli.ProcessEnvironment())
	root.InitDefaultCompletionCmd()
	eachCommand(root, func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		for _, args := range [][]string{append(path[:len(path):len(path)], "--help"), append([]string{"help"}, path...)} {
			out, code := run1(t, 0, args...)
			about, _, _ := strings.Cut(c.Long, "\n")
			if about == "" {
				about = c.Short
			}
			if code != cli.ExitOK || !strings.HasPrefix(out, about) || !strings.Contains(out, "\nUsage:\n  "+c.CommandPath()) {
				t.Errorf("%s: exit status %d:\n%s", strings.Join(args, " "), code, out)
			}
		}
	})
	for _, args := range [][]string{{"versions", "--help"}, {"--help", "versions"}, {"help", "versions"}, {"versions", "-h"}} {
		if out, code := run1(t, 0, args...); code != cli.ExitUsage || out != "" {
			t.Errorf("%s: exit status %d:\n%s", strings.Join(args, " "), code, out)
		}
	}
}

// TestFlagGroups checks that the help lists every flag that is not hidden, and that commands with many
// flags list them in groups.
func TestFlagGroups(t *testing.T) {
	var commands []string
	for _, c := range cli.Subcommands(rootCommand(cli.ProcessEnvironment())) {
		usages := cli.FlagUsages(c, 0)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if n := strings.Count(usages+" ", " --"+f.Name+" "); !f.Hidden && n < 1 || f.Hidden && n > 0 {
				t.Errorf("%s: the help has --%s %d times", c.Name(), f.Name, n)
			}
		})
		if strings.HasPrefix(usages, "Flags:\n") {
			continue
		}
		commands = append(commands, c.Name())
		at := -1
		for _, g := range cli.FlagGroups {
			next := strings.Index(usages, g+":\n")
			if next <= at {
				t.Errorf("%s: the group %q is at %d:\n%s", c.Name(), g, next, usages)
			}
			at = next
		}
	}
	slices.Sort(commands)
	want := []string{"advise", "bisect", "cluster", "compare", "crash", "gate", "locks", "profile", "reproduce", "run", "tune"}
	if !slices.Equal(commands, want) {
		t.Errorf("flags are in groups in %q, want %q", commands, want)
	}
}

// TestFormerFlags checks that a flag's former name still sets the flag, and that a note names the new name.
func TestFormerFlags(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args      []string
		env, want string
		value     string
		status    bool // true if an error is expected
	}{
		{[]string{"compare", "a", "b", "--precision", "7%"}, "", "--precision is now --margin\n", "7%", false},
		{[]string{"tune", "--precision=7%"}, "", "--precision is now --least-gain\n", "7%", false},
		{[]string{"bisect", "a", "--margin", "7%"}, "", "", "7%", false},
		{[]string{"bisect", "a", "--margin", "7%"}, "8%", "", "7%", false},
		{[]string{"bisect", "a"}, "8%", "--precision is now --margin\n", "8%", false},
		{[]string{"compare", "a", "--margin", "7%", "--precision", "8%"}, "", "", "", true},
		{[]string{"run", "--precision", "7%"}, "", "", "", false},
	} {
		t.Setenv("SQLITE3PERF_PRECISION", c.env)
		root := rootCommand(cli.ProcessEnvironment())
		cmd, _, err := root.Find(c.args)
		if err != nil {
			t.Fatal(err)
		}
		var notes strings.Builder
		root.SetErr(&notes)
		if err := cmd.ParseFlags(c.args[1:]); err != nil {
			t.Fatal(err)
		}
		err = cli.Configure(cmd)
		if (err != nil) != c.status || notes.String() != c.want {
			t.Errorf("%q: %v, and prints %q", c.args, err, notes.String())
		}
		for _, name := range []string{"margin", "least-gain"} {
			if f := cmd.Flags().Lookup(name); f != nil && c.value != "" && f.Value.String() != c.value {
				t.Errorf("%q: --%s is %s", c.args, name, f.Value)
			}
		}
		if f := cmd.Flags().Lookup("precision"); c.value != "" && cli.Typed(f) {
			t.Errorf("%q: --precision counts as typed", c.args)
		}
	}
}
