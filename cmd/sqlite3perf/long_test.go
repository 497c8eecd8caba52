package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestSoakLongTexts shows a run in which every text is very long. It takes hours if the time of any
// step is quadratic in the length of a text.
func TestSoakLongTexts(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	long := strings.Repeat("0123456789", 3_000)
	r := hostileRun()
	spoil(reflect.ValueOf(r).Elem(), long)
	path := storedAs(t, r)
	most := 2 << 20 // greatest number of bytes that may be printed
	for _, width := range []int{0, 80} {
		for _, format := range report.Formats() {
			out, code := run1(t, width, "show", "1", "--store", path, "--format", format)
			if exact := format == "json" || format == "benchfmt" || format == "csv"; code != cli.ExitOK || len(out) > most && !exact {
				t.Errorf("%s: exit status %d, %d bytes", format, code, len(out))
			}
		}
		for _, args := range [][]string{{"runs"}, {"show", "1", "--full"}, {"report", "1", "-o", filepath.Join(t.TempDir(), "page.html")}, {"site", filepath.Join(t.TempDir(), "site")}, {"compare", "1", "mattn" + long, "x"}, {"locks", "1"}} {
			run1(t, width, append(args, "--store", path)...)
		}
	}
}

// TestManyWarnings shows a run with very many warnings. The output must stay small.
func TestManyWarnings(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	r := hostileRun()
	for i := range 50_000 {
		r.Warnings = append(r.Warnings, result.Warning{Code: strconv.Itoa(i), Message: strconv.Itoa(i), Phase: strconv.Itoa(i)})
	}
	path := storedAs(t, r)
	for _, width := range []int{0, 80} {
		out, code := run1(t, width, "show", "1", "--store", path)
		if code != cli.ExitOK || len(out) > 1<<20 {
			t.Errorf("exit status %d, %d bytes", code, len(out))
		}
	}
}

// TestCommandsOfCI shows a run whose texts contain commands of CI services. No line of the output may
// contain such a command where a service would execute it, at various widths of the terminal.
func TestCommandsOfCI(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	r := hostileRun()
	spoil(reflect.ValueOf(r).Elem(), "a long text ::error file=x::owned ::stop-commands::x ##[add-path]y ##vso[task.setvariable]z ##teamcity[x] ")
	path := storedAs(t, r)
	command := regexp.MustCompile(`(?m)^\s*::[a-z]|##[a-z]*\[`)
	for width := range 40 {
		for _, format := range report.Formats() {
			if width > 0 && format != report.Formats()[0] {
				continue // this format does not depend on the width
			}
			out, code := run1(t, 40+width, "show", "1", "--full", "--store", path, "--format", format)
			if c := command.FindString(out); code != cli.ExitOK || c != "" {
				t.Fatalf("%s, %d columns: exit status %d, %q", format, 40+width, code, c)
			}
		}
	}
	first, second := r.Cases[0].Driver, r.Cases[1].Driver
	for _, format := range report.Formats() {
		for _, args := range [][]string{{"compare", "1", first, second}, {"advise", "1", "--full"}, {"locks", "1"}} {
			out, code := run1(t, 0, append(args, "--store", path, "--format", format)...)
			if c := command.FindString(out); c != "" || out == "" && code != cli.ExitUsage {
				t.Errorf("%q, %s: exit status %d, %d bytes, %q", args[0], format, code, len(out), c)
			}
		}
	}
	for _, args := range [][]string{{"compare", "1", "::error::x", "x"}, {"show", "\n::error::x"}, {"::error::x"}, {"run", "--drivers", "\n  ::error::x##[x]"}} {
		said, _ := stderrOf(t, append(args, "--store", path)...)
		if c := command.FindString(said); c != "" {
			t.Errorf("%q: %q", args, said)
		}
	}
}

// stderrOf runs the command in this process and returns its standard error and exit status.
func stderrOf(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out, messages strings.Builder
	env := &cli.Environment{Stdout: &out, Stderr: &messages, Now: time.Now, Catch: func() <-chan os.Signal { return nil }}
	code := execute(t.Context(), env, args)
	return messages.String(), code
}
