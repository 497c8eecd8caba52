// Package report presents a run: as a table for the terminal, Markdown, a page (HTML), CSV,
// JSON or in the Go benchmark format. Package stats makes the judgments.
// docs/report-formats.md documents the formats for other programs.
package report

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Options determine how a report is made.
type Options struct {
	Color bool   // for table: use ANSI colors
	Width int    // for table: columns of the terminal, at least 40; 0 means 120
	Lines int    // for table: if above 0, only what is read first, in at most that many lines, at least 16
	ASCII bool   // for table: the terminal shows nothing else
	Study *Study // what the run says about the published study that it measured; nil if it measured none
	Hints Hints

	// Only says which cells pictures show: those of a case in a phase. nil means all. What is
	// left keeps the ranks, ties and ratios that it has among all.
	Only func(c *result.Case, phase string) bool

	// Link returns what a mark of a picture leads to: a case's samples of a phase. nil means
	// to the case in the page.
	Link func(caseID int, phase string) string

	// Assets, for html, is the URL of the directory that has the files of the variable
	// Assets, with a slash at its end. If it is "" they are part of the page.
	Assets string

	alone bool // pictures are drawn one by one, so none makes a page too large
}

// Hints are what a reader can type, in the words of the program that is run. A hint is
// "" if the program has no words for it.
type Hints struct {
	Workloads string // the flag that names workloads
	AddedCost string // the command that lists what sqlite3perf adds to each driver's time
	Compare   string // the command that compares the sides of this run
	Resume    string // the command that continues this run; "" if it cannot be
	Directory string // the flag that names the directory for databases
	Scale     string // the flag that makes workloads larger
	Samples   string // what gives a profile more samples
	Pass      string // what lets a gate pass that could not exclude a regression

	More []string // the commands that show more of what was measured
	Rest []Hint   // the commands that show what there was no room for
}

// Hint is a command, and in a word or two what it shows.
type Hint struct{ Shows, Command string }

var formats = formatsOf[*stats.Analysis]{
	{"table", writeText},
	{"markdown", writeMarkdown},
	{"html", writeHTML},
	{"csv", writeCSV},
	{"json", writeJSON},
	{"benchfmt", writeBenchfmt},
}

// Formats lists the names of the formats.
func Formats() []string { return formats.names() }

// Extensions are those of files, with the formats that they are of.
var Extensions = []struct{ Extension, Format string }{
	{".txt", "table"}, {".md", "markdown"}, {".markdown", "markdown"}, {".html", "html"}, {".htm", "html"},
	{".csv", "csv"}, {".json", "json"}, {".bench", "benchfmt"}, {".benchfmt", "benchfmt"}, {".xml", "junit"}, {".svg", "svg"}, {".png", "png"},
}

// Check returns an error that suggests the nearest format if there is no format with
// that name. It allows reporting that before anything is measured.
func Check(format string) error { return formats.check(format) }

// Write writes the report of an analyzed run in a format. A run of profiles has the formats
// that [WriteProfile] has.
func Write(w io.Writer, format string, a *stats.Analysis, opts Options) error {
	if err := Check(format); err != nil {
		return err
	}
	if a == nil {
		return errors.New("report: no run")
	}
	if p := ProfileOf(a.Run, opts.Hints); p != nil {
		return WriteProfile(w, format, p, opts)
	}
	return formats.write(w, "report", format, a, opts)
}

// formatsOf are the formats in which a T can be written.
type formatsOf[T any] []struct {
	name string
	to   func(io.Writer, T, Options) error
}

func (list formatsOf[T]) names() []string {
	var names []string
	for _, f := range list {
		names = append(names, f.name)
	}
	return names
}

// check returns an error that suggests the nearest format if there is no format with that
// name.
func (list formatsOf[T]) check(format string) error {
	if names := list.names(); !slices.Contains(names, format) {
		return fmt.Errorf("unknown format %q: %s", format, driver.Suggest(format, names))
	}
	return nil
}

// write writes v, which errors call what, in a format.
func (list formatsOf[T]) write(w io.Writer, what, format string, v T, opts Options) error {
	for _, f := range list {
		if f.name != format {
			continue
		}
		if err := f.to(w, v, opts); err != nil {
			return fmt.Errorf("writing the %s as %s: %w", what, format, err)
		}
		return nil
	}
	return list.check(format)
}
