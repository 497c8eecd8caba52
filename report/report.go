// Package report presents a run: as a table for the terminal, Markdown, CSV, JSON or in
// the Go benchmark format. Package stats makes the judgments.
// docs/report-formats.md documents the formats for other programs.
package report

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Options determine how a report is made.
type Options struct {
	Color bool   // for table: use ANSI colors
	Width int    // for table: columns of the terminal, at least 40; 0 means 120
	Study *Study // what the run says about the published study that it measured; nil if it measured none
	Hints Hints
}

// Hints are what a reader can type, in the words of the program that is run. A hint is
// "" if the program has no words for it.
type Hints struct {
	Workloads string // the flag that names workloads
	AddedCost string // the command that lists what sqlite3perf adds to each driver's time
	Directory string // the flag that names the directory for databases
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

// Check returns an error that suggests the nearest format if there is no format with
// that name. It allows reporting that before anything is measured.
func Check(format string) error { return known(format, Formats()) }

func known(format string, formats []string) error {
	if slices.Contains(formats, format) {
		return nil
	}
	return fmt.Errorf("unknown format %q: %s", format, driver.Suggest(format, formats))
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
