// Package report turns a run into words: a table for the terminal, Markdown,
// CSV, JSON and the Go benchmark format. What is said is judged by package
// stats; docs/report-formats.md documents the formats for other programs.
package report

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Options are how a report is made.
type Options struct {
	Color bool   // of table: ANSI colours
	Width int    // of table: columns of the terminal, taken for at least 40; 0: 120
	Study *Study // what the run says of the published study that it measured; nil: it measured none
	Hints Hints
}

// Hints are what a reader can type, in the words of the program that is typed to; ""
// for what it has no words for.
type Hints struct {
	Workloads string // the flag that names workloads
	AddedCost string // the command that lists what sqlite3perf adds to each driver's time
}

type writer func(io.Writer, *stats.Analysis, Options) error

var formats = []struct {
	name  string
	write writer
}{
	{"table", writeText},
	{"markdown", writeMarkdown},
	{"csv", writeCSV},
	{"json", writeJSON},
	{"benchfmt", writeBenchfmt},
}

// Formats lists the names of the formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Check returns an error that names the nearest format if there is none of
// that name, so that it can be said before anything is measured.
func Check(format string) error {
	if slices.Contains(Formats(), format) {
		return nil
	}
	return fmt.Errorf("unknown format %q: %s", format, driver.Suggest(format, Formats()))
}

// Write writes the report of an analyzed run in a format.
func Write(w io.Writer, format string, a *stats.Analysis, opts Options) error {
	if err := Check(format); err != nil {
		return err
	}
	if a == nil {
		return errors.New("report: no run")
	}
	for _, f := range formats {
		if f.name == format {
			if err := f.write(w, a, opts); err != nil {
				return fmt.Errorf("writing the report as %s: %w", format, err)
			}
		}
	}
	return nil
}
