package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// The lines around the screen that the README shows.
const (
	screenBegin = "<!-- screen of the default run: make pages writes it -->\n```text\n"
	screenEnd   = "```\n"
)

// screen writes the answer and the bars of a run's first screen, as on a terminal with 100 columns,
// into the README.
func (p *pages) screen(ctx context.Context, ref string) error {
	run, err := p.stored(ctx, ref)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	opts := document.Options{Width: 100, Lines: 40, Hints: document.Hints{Rest: []document.Hint{
		{Shows: "all tables", Command: "sqlite3perf show last --full"}, {Shows: "pictures", Command: "sqlite3perf report last"}}}}
	if err := report.Write(&out, "table", stats.Analyze(run, "native"), report.Options{Options: opts}); err != nil {
		return err
	}
	file := filepath.Join(p.docs, "..", "README.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), screenBegin)
	_, after, ended := strings.Cut(rest, screenEnd)
	if !ok || !ended {
		return fmt.Errorf("%s has no lines %q", file, screenBegin)
	}
	paragraphs := strings.SplitAfterN(out.String(), "\n\n", 3)
	bars, _, _ := strings.Cut(strings.Join(paragraphs[:min(2, len(paragraphs))], ""), "\nin each cell, ")
	if !strings.Contains(bars, "\ntime over ") {
		return fmt.Errorf("the screen has no bars:\n%s", bars)
	}
	return os.WriteFile(file, []byte(before+screenBegin+strings.TrimSpace(bars)+"\n…\n"+screenEnd+after), 0o644)
}
