package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestReaches checks that every flag is classified and nothing else is, so that whoever
// adds a flag decides whether somebody else's directory may set it.
func TestReaches(t *testing.T) {
	got := slices.Sorted(maps.Keys(reaches))
	flags := flagNames(rootCommand(processEnvironment()))
	slices.Sort(flags)
	for _, name := range flags {
		if !slices.Contains(got, name) {
			t.Errorf("--%s is not in reaches: say whether sqlite3perf.yaml in the working directory may set it", name)
		}
	}
	for _, name := range got {
		if !slices.Contains(flags, name) {
			t.Errorf("reaches has %s, and no command has such a flag", name)
		}
	}
	if reachOf("a flag that is not there") == harmless {
		t.Error("a flag that is not classified is taken for harmless")
	}
}

// TestReachesDocumented checks that docs/commands.md has the same flags as the table.
func TestReachesDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[reach][]string{}
	for _, name := range slices.Sorted(maps.Keys(reaches)) {
		if r := reaches[name]; r != harmless {
			rows[r] = append(rows[r], "`"+name+"`")
		}
	}
	for r, names := range rows {
		if row := "| " + strings.Join(names, ", ") + " | " + string(r) + " |\n"; !strings.Contains(string(text), row) {
			t.Errorf("docs/commands.md has no row %s", row)
		}
	}
}
