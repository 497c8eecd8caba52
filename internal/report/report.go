// Package report writes the report of a run: as a table for the terminal, Markdown, a page (HTML),
// CSV, JSON or in the Go benchmark format. A row of a report's table is a driver or a setting. The
// floor is the driver that ratios are relative to, usually plain C. Package stats does the
// statistics. docs/report-formats.md documents the formats that other programs read.
package report

import (
	"errors"
	"io"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Options determine how the report of a run is made.
type Options struct {
	document.Options
	Study *Study // the study's claims and tables, if the run measured a published study; otherwise nil

	// The function Only reports whether pictures show the cell of a case and phase. If Only is nil,
	// pictures show all cells. Shown cells keep the ranks, ties and ratios that they have among all
	// cells.
	Only func(c *result.Case, phase string) bool

	// Link returns the address that a mark in a picture links to, where the samples of a case and
	// phase are shown. If Link is nil, marks link to the case in the same page.
	Link func(caseID int, phase string) string

	// Answers has the answers of the run, if the caller has them already; otherwise it is nil.
	Answers *Answers

	// Brief makes a page small: it has no samples, and no pictures of latencies and memory. If the
	// run has many cells, the page shows them only in tables.
	Brief bool

	alone bool // each picture is written by itself, so pictures need not be simplified to keep a page small
}

var formats = document.FormatsOf[*stats.Analysis, Options]{What: "report", List: []document.Format[*stats.Analysis, Options]{
	{Name: "table", To: writeText},
	{Name: "markdown", To: func(w io.Writer, a *stats.Analysis, o Options) error { return document.RenderMarkdown(w, Build(a, o)) }},
	{Name: "html", To: writeHTML},
	{Name: "csv", To: writeCSV},
	{Name: "json", To: WriteJSON},
	{Name: "benchfmt", To: writeBenchfmt},
}}

// Formats lists the names of the report formats.
func Formats() []string { return formats.Names() }

// Check returns an error if there is no report format with this name. The error suggests the nearest name.
// Callers call Check before they measure.
func Check(format string) error { return formats.Check(format) }

// Write writes the report of an analyzed run in a format. A run that measured profiles is written
// in one of profile.Formats.
func Write(w io.Writer, format string, a *stats.Analysis, opts Options) error {
	if a == nil {
		return errors.New("report: no run")
	}
	if p := profile.ProfileOf(a.Run, opts.Hints); p != nil {
		opts.Source = conditions.PageSource(a.Run)
		return profile.Formats.Write(w, format, p, opts.Options)
	}
	return formats.Write(w, format, a, opts)
}
