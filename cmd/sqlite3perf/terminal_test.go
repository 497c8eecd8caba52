package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// terminal runs the command in this process as if on a terminal.
func terminal(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	var out, messages bytes.Buffer
	env := &cli.Environment{Stdout: &out, Stderr: &messages, StdoutWidth: 100, StderrWidth: 100, Now: time.Now,
		Catch: func() <-chan os.Signal { return nil }}
	if code := execute(t.Context(), env, args); code != cli.ExitOK {
		t.Fatalf("exit status %d: %s", code, messages.String())
	}
	return out.String()
}

// TestStepFits checks that the command "workload from" shortens the line about its current step, so that
// the line ends before the terminal's last column.
func TestStepFits(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	env := &cli.Environment{RawErr: &out, StderrWidth: 20, Now: func() time.Time { now = now.Add(time.Second); return now }}
	(&fromOptions{}).teller(env)(strings.Repeat("x", 30))
	if want := "\r\x1b[K" + strings.Repeat("x", 18) + "…"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestColour(t *testing.T) {
	here := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", here)
	t.Setenv("NO_COLOR", "")
	store := filepath.Join(here, "results.db")
	worker := here
	if err := link("good", worker); err != nil {
		t.Fatal(err)
	}
	terminal(t, "run", "--drivers", filepath.Join(worker, "good"), "--workloads", "testdata/tiny.yaml", "--rounds", "6", "--store", store, "--dir", here)
	const escape = "\x1b["
	if out := terminal(t, "show", "last", "--store", store); !strings.Contains(out, escape) {
		t.Errorf("no colour on a terminal:\n%s", out)
	}
	if out := terminal(t, "show", "last", "--store", store, "--no-color"); strings.Contains(out, escape) || !strings.Contains(out, "tiny") {
		t.Errorf("--no-color:\n%q", out)
	}
	file := filepath.Join(here, "out.txt")
	if out := terminal(t, "show", "last", "--store", store, "-o", file); out != "" {
		t.Errorf("-o: %q on standard output", out)
	}
	if out := terminal(t, "show", "last", "--store", store, "--format", "markdown"); strings.Contains(out, escape) {
		t.Errorf("colour in Markdown:\n%q", out)
	}
	t.Setenv("NO_COLOR", "1")
	if out := terminal(t, "show", "last", "--store", store); strings.Contains(out, escape) {
		t.Errorf("NO_COLOR:\n%q", out)
	}
}

// TestFirstScreen checks that a terminal shows only the answer and the command that prints the
// rest, and that --full, files and other formats have everything.
func TestFirstScreen(t *testing.T) {
	here := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", here)
	t.Setenv("NO_COLOR", "1")
	store := filepath.Join(here, "results.db")
	if err := link("good", here); err != nil {
		t.Fatal(err)
	}
	const whole = "Drivers\n"
	more := "sqlite3perf show 1 --full --store " + store
	short := terminal(t, "run", "--drivers", filepath.Join(here, "good"), "--workloads", "testdata/tiny.yaml", "--rounds", "6", "--store", store, "--dir", here)
	for _, out := range []string{short, terminal(t, "show", "last", "--store", store)} {
		if strings.Contains(out, whole) || !strings.Contains(out, more) || strings.Count(out, "\n") > 40 {
			t.Errorf("the first screen:\n%s", out)
		}
	}
	for _, args := range [][]string{{"--full"}, {"--format", "markdown"}, {"--format", "csv"}, {"--format", "json"}} {
		if out := terminal(t, append([]string{"show", "last", "--store", store}, args...)...); strings.Contains(out, more) || strings.Count(out, "\n") < 15 {
			t.Errorf("%s:\n%s", args, out)
		}
	}
	file := filepath.Join(here, "out.txt")
	terminal(t, "show", "last", "--store", store, "-o", file)
	if out, err := os.ReadFile(file); err != nil || !strings.Contains(string(out), whole) {
		t.Errorf("-o: %v\n%s", err, out)
	}
	// A terminal shows no picture: the error says how to write the picture to a file. If there is no
	// such picture, the error lists the names of all pictures.
	for args, want := range map[string]string{
		"--chart tiny-query":              "picture tiny-query: a terminal does not show it: name a file with -o, such as -o tiny-query.svg\n",
		"--chart tiny-query --format png": "such as -o tiny-query.png\n",
		"--chart other":                   "  tiny-query-order\n",
	} {
		var out, messages bytes.Buffer
		env := &cli.Environment{Stdout: &out, Stderr: &messages, StdoutWidth: 100, Now: time.Now}
		if code := execute(t.Context(), env, append([]string{"show", "last", "--store", store}, strings.Fields(args)...)); code != cli.ExitUsage || out.Len() > 0 || !strings.Contains(messages.String(), want) {
			t.Errorf("%s: exit status %d, %.100s, %s", args, code, out.String(), messages.String())
		}
	}
	// On a terminal, comments with the answer and the settings in force follow the text of a workload. In
	// a pipe, nothing follows it.
	text, err := os.ReadFile("testdata/tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if out := terminal(t, "show", "last", "--store", store, "--workload", "tiny"); !strings.HasPrefix(out, string(text)+"\n# What run 1 measured with this workload\n") || !strings.Contains(out, "\n# in force ") {
		t.Errorf("--workload:\n%s", out)
	}
}

// TestTuneOnTerminal checks that a terminal shows only as much of a search for settings as fits,
// and the command that prints the rest.
func TestTuneOnTerminal(t *testing.T) {
	here := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", here)
	t.Setenv("NO_COLOR", "1")
	if err := link("good", here); err != nil {
		t.Fatal(err)
	}
	var out, messages bytes.Buffer
	env := &cli.Environment{Stdout: &out, Stderr: &messages, StdoutWidth: 40, StdoutHeight: 18, StderrWidth: 40, Now: time.Now,
		Catch: func() <-chan os.Signal { return nil }}
	args := []string{"tune", "--drivers", filepath.Join(here, "good"), "--workloads", "testdata/tiny.yaml", "--settings", "temp_store,cache_size,mmap_size", "--time", "60s",
		"--store", filepath.Join(here, "results.db"), "--dir", here}
	if code := execute(t.Context(), env, args); code != cli.ExitOK {
		t.Fatalf("exit status %d: %s", code, messages.String())
	}
	isShort := func(text string) bool {
		words := strings.Join(strings.Fields(text), " ")
		return strings.Count(text, "\n") <= 16 && strings.Contains(words, "not shown") && strings.Contains(words, " --full")
	}
	if !isShort(out.String()) {
		t.Errorf("the output is too long for the terminal:\n%s", out.String())
	}
	again := terminal(t, "show", "last", "--full", "--store", filepath.Join(here, "results.db"))
	if beginning := strings.Join(strings.Fields(out.String()), " ")[:20]; !strings.HasPrefix(strings.Join(strings.Fields(again), " "), beginning) || isShort(again) {
		t.Errorf("shown again, in full:\n%s", again)
	}
}

// TestDriversOnTerminal checks that the list of drivers fits on a terminal, and that the command
// "drivers NAME" prints what the list leaves out.
func TestDriversOnTerminal(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	drivers := func(width, height int, args ...string) string {
		var out, messages bytes.Buffer
		env := &cli.Environment{Stdout: &out, Stderr: &messages, StdoutWidth: width, StdoutHeight: height, Now: time.Now}
		if code := execute(t.Context(), env, append([]string{"drivers", "--no-color"}, args...)); code != cli.ExitOK {
			t.Fatalf("exit status %d: %s", code, messages.String())
		}
		return out.String()
	}
	const limit = "context=commit: database/sql's Commit takes no context"
	for _, size := range [][2]int{{80, 24}, {100, 40}} {
		got := drivers(size[0], size[1])
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(line) - 1; n > size[0] {
				t.Errorf("%d columns of %d: %s", n, size[0], line)
			}
		}
		if n := strings.Count(got, "\n"); n >= size[1] || strings.Contains(got, limit) {
			t.Errorf("%d lines of %d:\n%s", n, size[1], got)
		}
		for _, want := range []string{"\nmattn ", "\nzombiezen ", "sqlite3perf drivers NAME\n", "sqlite3perf drivers --full\n", " INTERFACE "} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q:\n%s", want, got)
			}
		}
	}
	if got := drivers(80, 24, "mattn"); !strings.Contains(got, limit) || strings.Contains(got, "modernc") {
		t.Errorf("drivers mattn:\n%s", got)
	}
	if got := drivers(80, 24, "--full"); !strings.Contains(got, limit) || !strings.Contains(got, "\nzombiezen ") {
		t.Errorf("drivers --full:\n%s", got)
	}
	if got := drivers(80, 24, "mattn:GOGC=400"); !strings.Contains(got, "\nmattn:GOGC=400 (") || !strings.Contains(got, limit) || strings.Contains(got, "modernc") {
		t.Errorf("drivers mattn:GOGC=400:\n%s", got)
	}
}
