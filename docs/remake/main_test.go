package main

import (
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

// TestAsked checks that what takes an hour is run only if somebody asks for it.
func TestAsked(t *testing.T) {
	const quick, long, other = "sqlite3perf reproduce a", "sqlite3perf reproduce a --scale full --drivers mattn", "sqlite3perf reproduce b"
	for _, test := range []struct{ words, want string }{
		{"", quick + ", " + other},
		{"a", quick},
		{"full", long},
		{"full a", long},
		{"full b", ""},
	} {
		var got []string
		for _, c := range []string{quick, long, other} {
			if asked(c, strings.Fields(test.words)) {
				got = append(got, c)
			}
		}
		if list := strings.Join(got, ", "); list != test.want {
			t.Errorf("%q: %s, want %s", test.words, list, test.want)
		}
	}
}

// TestRemake checks that a command is run with the store that keeps its run, and that the
// document has what it printed.
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

func TestPublished(t *testing.T) {
	const report = "sqlite3perf v1\nmachine       lab\ndatabases     /home/me on ext4\ncommand       reproduce a --store\n              /tmp/x\n\nThe command is kept.\n"
	if d := cmp.Diff("sqlite3perf v1\nmachine       lab\n\nThe command is kept.\n", published(report)); d != "" {
		t.Error(d)
	}
}

// TestStudies checks that the document of studies has an output of each study.
func TestStudies(t *testing.T) {
	text, err := os.ReadFile("../studies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"cgo-or-not", "driver-comparison", "http-server", "sqlite3perf", "writers"} {
		if !slices.Contains(commands(string(text)), "sqlite3perf reproduce "+s) {
			t.Errorf("no output of %s", s)
		}
	}
}
