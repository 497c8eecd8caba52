package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestAddedCostTable checks that the table in docs/proofs.md has the added cost (the time that sqlite3perf
// adds to a driver) that each driver's file added-cost.json states. With -update it writes the table.
func TestAddedCostTable(t *testing.T) {
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	known, err := source.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	const file, begin, end = "../../docs/proofs.md", "<!-- added cost -->\n", "<!-- end -->"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no table of the added cost", file)
	}
	want := shortAddedCost(known)
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: the table is outdated, and go test ./cmd/sqlite3perf -run TestAddedCostTable -update writes it (-want +got):\n%s", file, d)
	}
}

// shortAddedCost returns the added cost of the drivers as a table in Markdown. It leaves out drivers
// without a file added-cost.json.
func shortAddedCost(known []build.Known) string {
	var b strings.Builder
	var how []string                 // when and on what machine costs were measured
	drivers := map[string][]string{} // by the same
	for _, k := range known {
		c := k.AddedCost
		if c == nil {
			continue
		}
		if how == nil {
			b.WriteString("| driver |")
			for _, p := range c.Phases {
				fmt.Fprintf(&b, " %s |", p.Phase)
			}
			b.WriteString("\n|---|" + strings.Repeat("---:|", len(c.Phases)) + "\n")
		}
		fmt.Fprintf(&b, "| %s |", k.Name)
		for _, p := range c.Phases {
			bold := ""
			if lab.AddsTooMuch(p) {
				bold = "**"
			}
			fmt.Fprintf(&b, " %s%.0f ns%s, %.1f %% |", bold, p.WallAdded.Median, bold, 100*(p.WallRatio.Median-1))
		}
		b.WriteString("\n")
		measured := fmt.Sprintf("Measured on %s: %s, %s", c.Measured, c.Machine, c.Runtime)
		how, drivers[measured] = distinct.Append(how, measured), append(drivers[measured], k.Name)
	}
	for _, measured := range how {
		if len(how) > 1 {
			measured += " (" + strings.Join(drivers[measured], ", ") + ")"
		}
		b.WriteString("\n" + measured + ".\n")
	}
	return b.String()
}
