package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// TestReaches checks that each flag whose usage names a file, a directory or a client, or says that
// something is replaced, has a [cli.Reach] other than Harmless. So sqlite3perf.yaml in somebody else's
// directory cannot set these flags.
func TestReaches(t *testing.T) {
	root := rootCommand(cli.ProcessEnvironment())
	for _, c := range cli.Subcommands(root) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, word := range []string{"`file`", "`directory`", "`client`", "replace"} {
				if strings.Contains(f.Usage, word) && cli.ReachOf(root, f.Name) == cli.Harmless {
					t.Errorf("%s --%s: say with reaching what it can do: %s", c.Name(), f.Name, f.Usage)
				}
			}
		})
	}
}
