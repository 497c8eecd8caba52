package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = "# Title\n\n<!-- output of: sqlite3perf reproduce a -->\n```text\nold\n$1\n```\n\nBetween.\n\n" +
	"<!-- output of: sqlite3perf reproduce b --drivers mattn -->\n```text\n```\n\n```text\nno output\n```\n"

func TestReplaced(t *testing.T) {
	if d := cmp.Diff([]string{"sqlite3perf reproduce a", "sqlite3perf reproduce b --drivers mattn"}, commands(document)); d != "" {
		t.Error(d)
	}
	got := replaced(replaced(document, "sqlite3perf reproduce a", "new\n"), "sqlite3perf reproduce b --drivers mattn", "$0\n")
	want := strings.Replace(strings.Replace(document, "old\n$1\n", "new\n", 1), "```text\n```", "```text\n$0\n```", 1)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestRemake checks that a command is run with --store, so that its run is kept, and that the
// document then contains the command's output.
func TestRemake(t *testing.T) {
	dir := t.TempDir()
	tool, file := filepath.Join(dir, "tool"), filepath.Join(dir, "doc.md")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := remake(tool, "kept.db", file, []string{"reproduce a"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(document, "old\n$1\n", "reproduce a --store kept.db --no-color\n", 1)
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}

// TestRemakeHead checks that a document shows only the first two lines of the output of a command
// that ends with "| head -2".
func TestRemakeHead(t *testing.T) {
	dir := t.TempDir()
	tool, file := filepath.Join(dir, "tool"), filepath.Join(dir, "doc.md")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const block = "<!-- output of: sqlite3perf reproduce a b | head -2 -->\n```text\n"
	if err := os.WriteFile(file, []byte(block+"old\n```\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := remake(tool, "kept.db", file, nil); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(block+"reproduce\na\n```\n", string(got)); d != "" {
		t.Error(d)
	}
}

func TestPublished(t *testing.T) {
	const report = "sqlite3perf v1\nmachine       lab\ndatabases     /home/me on ext4\ncommand       reproduce a --store\n              /tmp/x\nmore          sqlite3perf show 1 --store /tmp/x\n\nThe command is kept.\n"
	if d := cmp.Diff("sqlite3perf v1\nmachine       lab\n\nThe command is kept.\n", published(report)); d != "" {
		t.Error(d)
	}
}

// TestParts checks which part of a report each word selects, such as "answer" in "<!-- answer of: … -->".
func TestParts(t *testing.T) {
	const report = "b is slower\nthan a.\nverdict  cell  ratio         p  n\nslower   x     2x (1 to 3)  0.1  9\nover all      b\nhow sure      very\n              much\nsides         a and b\nmeasured      now\nnoise         much\nwarning       a\n              b\n\n" +
		"Claims\nholds  1. a\n       b\n\n#  verdict  here\n1  holds    2x\n\n== c ==\n\nDrivers\nmattn\n"
	for kind, want := range map[string]string{
		"output":   report,
		"answer":   "b is slower\nthan a.\nverdict  cell  ratio         p  n\nslower   x     2x (1 to 3)  0.1  9\nover all      b\nsides         a and b\nmeasured      now\n",
		"cells":    "verdict  cell  ratio\nslower   x     2x (1 to 3)\n",
		"summary":  report[:strings.Index(report, "\n== ")],
		"claims":   "Claims\nholds  1. a\n       b\n\n#  verdict  here\n1  holds    2x\n",
		"verdicts": "Claims\nholds  1. a\n       b\n",
	} {
		block := "<!-- " + kind + " of: sqlite3perf x -->\n```text\n"
		if d := cmp.Diff(block+want+"```", replaced(block+"old\n```", "sqlite3perf x", report)); d != "" {
			t.Errorf("%s: %s", kind, d)
		}
	}
	if len(parts) != 6 {
		t.Errorf("%d parts", len(parts))
	}
}

// count returns how many claims have the given verdict. Outputs of older versions have the words "cannot be
// told" instead of "not known yet".
func count(claims, verdict string) int {
	n := strings.Count("\n"+claims, "\n"+verdict+" ")
	if verdict == "cannot be told" {
		n += strings.Count("\n"+claims, "\nnot known yet ")
	}
	return n
}

// TestStudies checks that no study's output is empty, and that the numbers in the table of claims
// agree with the outputs.
func TestStudies(t *testing.T) {
	studies := []string{"sqlite3perf", "writers", "driver-comparison", "cgo-or-not", "http-server"}
	text, err := os.ReadFile("../studies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range output.FindAllStringSubmatch(string(text), -1) {
		if m[3] == "" {
			t.Errorf("%s has no output", m[2])
		}
		name, ok := strings.CutPrefix(m[2], "sqlite3perf reproduce ")
		if !ok || !slices.Contains(studies, name) {
			continue
		}
		_, claims, _ := strings.Cut("\n"+m[3], "\nClaims\n")
		claims, _, _ = strings.Cut(claims, "\n\n")
		row := fmt.Sprintf("| [%s](#%s) |", name, name)
		for _, verdict := range []string{"holds", "does not hold", "cannot be told"} {
			row += fmt.Sprintf(" %d |", count(claims, verdict))
		}
		if !strings.Contains(string(text), "\n"+row+"\n") {
			t.Errorf("no row %s", row)
		}
		studies = slices.DeleteFunc(slices.Clone(studies), func(s string) bool { return s == name })
	}
	if len(studies) > 0 {
		t.Errorf("no output of %v", studies)
	}
}
