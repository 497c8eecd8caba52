// Package report presents a run: as a table for the terminal, Markdown, a page (HTML), CSV,
// JSON or in the Go benchmark format. Package stats makes the judgments.
// docs/report-formats.md documents the formats for other programs.
package report

import (
	"errors"
	"io"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Options determine how the report of a run is made.
type Options struct {
	document.Options
	Study *Study // what the run says about the published study that it measured; nil if it measured none

	// Only chooses the cells that pictures show, by case and phase; nil means all. Shown cells
	// keep the ranks, ties and ratios that they have among all.
	Only func(c *result.Case, phase string) bool

	// Link returns the address that a mark of a picture leads to: the samples of a case and phase.
	// nil means the case in the page.
	Link func(caseID int, phase string) string

	alone bool // pictures are drawn one by one, so none makes a page too large
}

var formats = document.FormatsOf[*stats.Analysis, Options]{What: "report", List: []document.Format[*stats.Analysis, Options]{
	{Name: "table", To: writeText},
	{Name: "markdown", To: writeMarkdown},
	{Name: "html", To: writeHTML},
	{Name: "csv", To: writeCSV},
	{Name: "json", To: WriteJSON},
	{Name: "benchfmt", To: writeBenchfmt},
}}

// Formats lists the names of the formats.
func Formats() []string { return formats.Names() }

// Check returns an error that suggests the nearest format if there is no such format, so that it
// can be reported before measuring.
func Check(format string) error { return formats.Check(format) }

// Write writes the report of an analyzed run. A run of profiles has the formats of
// profile.Formats.
func Write(w io.Writer, format string, a *stats.Analysis, opts Options) error {
	if err := Check(format); err != nil {
		return err
	}
	if a == nil {
		return errors.New("report: no run")
	}
	if p := profile.ProfileOf(a.Run, opts.Hints); p != nil {
		return profile.Formats.Write(w, format, p, opts.Options)
	}
	return formats.Write(w, format, a, opts)
}
