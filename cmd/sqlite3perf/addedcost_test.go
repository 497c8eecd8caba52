package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/catalog"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

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
