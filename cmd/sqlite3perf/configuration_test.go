package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestReaches checks that each flag that names what a command opens, runs or writes is marked, so
// that sqlite3perf.yaml in somebody else's directory cannot set it.
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

// TestReachesDocumented checks that docs/commands.md has the same flags as the table.
func TestReachesDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[reach][]string{}
	root := rootCommand(processEnvironment())
	for _, name := range slices.Sorted(slices.Values(flagNames(root))) {
		if r := reachOf(root, name); r != harmless {
			rows[r] = append(rows[r], "`"+name+"`")
		}
	}
	for r, names := range rows {
		if row := "| " + strings.Join(names, ", ") + " | " + string(r) + " |\n"; !strings.Contains(string(text), row) {
			t.Errorf("docs/commands.md has no row %s", row)
		}
	}
}
