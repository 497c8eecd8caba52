package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/catalog"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

// TestAddedCostLines checks that an added cost whose interval contains 0 is not reported as a cost.
func TestAddedCostLines(t *testing.T) {
	got := catalog.AddedCostLines(&driver.AddedCost{Phases: []driver.AddedPhase{
		{Phase: "insert", WallRatio: estimate.Estimate{Median: 0.876}, WallAdded: estimate.Estimate{Median: -768, Low: -1100, High: 562}},
		{Phase: "query", WallRatio: estimate.Estimate{Median: 1.05}, WallAdded: estimate.Estimate{Median: 12, Low: 9, High: 15}},
	}})
	want := []string{"sqlite3perf adds, per row or operation: insert -768 ns [-1100, 562] (not told from 0), query 12 ns [9, 15] (+5.0%)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestAddedCostTable checks that the table in docs/proofs.md is the command's
// output.
func TestAddedCostTable(t *testing.T) {
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	known, err := source.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := driversFormats.Write(&out, cli.TableFormat, catalog.AddedCost(known), document.Options{Width: document.Unlimited}); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	block := "<!-- output of: sqlite3perf drivers --added-cost -->\n```text\n" + out.String() + "```\n"
	if !strings.Contains(string(doc), block) {
		t.Errorf("docs/proofs.md does not have this; run: go run ./docs/remake -tool bin/sqlite3perf docs/proofs.md 'drivers --added-cost'\n%s", out.String())
	}
}
