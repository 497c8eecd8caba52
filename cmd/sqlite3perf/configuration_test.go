package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestReaches checks that each flag whose value is opened, run or written has a reach, so that
// sqlite3perf.yaml in somebody else's directory cannot set it.
func TestReaches(t *testing.T) {
	root := rootCommand(processEnvironment())
	for _, c := range subcommands(root) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, word := range []string{"`file`", "`directory`", "`client`", "replace"} {
				if strings.Contains(f.Usage, word) && reachOf(root, f.Name) == harmless {
					t.Errorf("%s --%s: say with reaching what it can do: %s", c.Name(), f.Name, f.Usage)
				}
			}
		})
	}
}
