package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestFirstCases checks that the first answer has the cases of all [firstDrivers] that can be built, and that
// firstCases does not change the cases of the run. If the other drivers are already built, there must be no
// first answer.
func TestFirstCases(t *testing.T) {
	var cases []*lab.Case
	for _, name := range []string{"bvinc", "mattn", "glebarez", "modernc", "native", "ncruces", "mattn"} {
		c := &lab.Case{Ref: build.Ref{Name: name}}
		c.Driver, c.ID = name, len(cases)+1
		cases = append(cases, c)
	}
	list := firstCases(cases, func(build.Ref) (bool, error) { return false, nil })
	if len(list) != 4 || list[0].Driver != "mattn" || list[3].Driver != "mattn" || list[3].ID != 4 || cases[6].ID != 7 {
		t.Errorf("%d cases", len(list))
	}
	without := firstCases(cases, func(ref build.Ref) (bool, error) {
		if ref.Name == "mattn" {
			return false, errors.New("no C compiler")
		}
		return false, nil
	})
	if len(without) != 2 || namesOf(without) != "modernc and ncruces" || without[1].ID != 2 {
		t.Errorf("without mattn: %s", namesOf(without))
	}
	for _, built := range []string{"", "glebarez"} {
		list := firstCases(cases, func(ref build.Ref) (bool, error) {
			return ref.Name != built && ref.Name != "mattn" && ref.Name != "bvinc", nil
		})
		if list != nil {
			t.Errorf("%d cases, although few drivers have to be built", len(list))
		}
	}
}

// watched is a terminal that calls the function in the field "seen" when the text in the field
// "text" appears on it.
type watched struct {
	bytes.Buffer
	text string
	seen func()
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if w.seen != nil && strings.Contains(w.String(), w.text) {
		w.seen()
		w.seen = nil
	}
	return n, err
}

// TestFirstAnswer runs the command on a terminal, with no worker built yet. The command must say at once how
// long the first answer takes, count that down on the bar, print the answer, and say where the time went. A
// Ctrl-C ends the test while the other drivers are built. Then the command must say which run has the answer.
func TestFirstAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds workers")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	here := t.TempDir()
	interrupts := make(chan os.Signal, 2)
	screen := &watched{text: " has more.\n\n", seen: func() { interrupts <- syscall.SIGINT }}
	env := &cli.Environment{Stdout: io.Discard, Stderr: screen, StdoutWidth: 100, StderrWidth: 100, Now: time.Now,
		Catch: func() <-chan os.Signal { return interrupts }}
	args := []string{"run", "--workloads", "testdata/tiny.yaml", "--worker-cache", filepath.Join(here, "workers"),
		"--store", filepath.Join(here, "runs.db"), "--dir", here}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if code := execute(ctx, env, args); code != cli.ExitInterrupted {
		t.Errorf("exit status %d", code)
	}
	said := screen.String()
	at := 0
	for _, want := range []string{
		`the first answer is about .*modernc and ncruces, in at least [\dm]+s \(\d+s to download, [\dms]+ to build, at least 0s to measure: estimated[^)]*\); then the other drivers are built`,
		`at least [\dms]+ until the first answer: downloading`,
		`building the worker for modernc \(\d of \d\)\n`,
		`estimating the time until the first answer: round 1 of`,
		`about [\dm]+s until the first answer: round 6 of`,
		`First answer, about .*modernc and ncruces only, from 6 rounds: `,
		`\nThis took [\dms.]+: [\dms.]+ of downloads before anything could be built, [\dms.]+ of builds, [\dms.]+ of measuring\.\nsqlite3perf show 1 .*has more\.\n\n`,
		`The first answer, about .*modernc and ncruces only, is in run 1: sqlite3perf show 1 --store `,
	} {
		found := regexp.MustCompile("(?s)" + strings.ReplaceAll(want, " ", `\s+`)).FindStringIndex(said[at:]) // a line may end after any word
		if found == nil {
			t.Fatalf("no %s after byte %d of:\n%q", want, at, said)
		}
		at += found[0]
	}
	_, answer, _ := strings.Cut(said, "\nFirst answer, ")
	answer, _, _ = strings.Cut(answer, " has more.")
	for line := range strings.Lines(answer) {
		if n := document.Width(strings.TrimRight(line, "\n")); n > 100 {
			t.Errorf("a line of %d columns, which the terminal breaks within a word: %s", n, line)
		}
	}
	if names := workersIn(t, filepath.Join(here, "workers")); !slices.Contains(names, "modernc") || !slices.Contains(names, "ncruces") {
		t.Errorf("the cache has the workers %q", names)
	}
}

// workersIn returns the names of the drivers whose workers are in a cache.
func workersIn(t *testing.T, cache string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cache, "*.sha256"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, _, _ := strings.Cut(filepath.Base(f), "-")
		names = append(names, name)
	}
	return names
}
