package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/lab"
)

// TestAddedCostTable checks that the table in docs/methodology.md is the command's
// output.
func TestAddedCostTable(t *testing.T) {
	source, err := lab.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	known, err := source.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := listAddedCost(&out, known); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/methodology.md")
	if err != nil {
		t.Fatal(err)
	}
	block := "<!-- output of: sqlite3perf drivers --added-cost -->\n```text\n" + out.String() + "```\n"
	if !strings.Contains(string(doc), block) {
		t.Errorf("docs/methodology.md does not have this; run: go run ./docs/remake -tool bin/sqlite3perf docs/methodology.md 'drivers --added-cost'\n%s", out.String())
	}
}
