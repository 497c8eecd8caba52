package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// Evaluate returns the tables, claims and notes of a study for a run. It returns nil if the run
// does not measure a study, or measures a study that this version does not know. The parameter "full"
// is the command that measures the published sizes.
func Evaluate(a *stats.Analysis, full string) *report.Study {
	if a.Run.Study == nil {
		return nil
	}
	s, err := Find(a.Run.Study.Name)
	if err != nil {
		return nil
	}
	c := newCells(a, 1)
	r := &report.Study{Name: s.Name, AsPublished: c.asPublished, Published: s.Published, Notes: append(s.reduced(c, full), looked(a.Run)...),
		Tables: s.tables(c), Claims: s.judge(a)}
	for i := range r.Tables {
		t := &r.Tables[i]
		if t.Notes == nil {
			t.Notes = []string{}
		}
		if t.Corrected == nil {
			t.Corrected = []string{}
		}
	}
	return r
}

func given(v *float64) report.StudyFigure { return report.StudyFigure{Value: v} }

// statistic computes a figure from the samples of a cell.
type statistic struct {
	name string
	of   func(measure, []stats.Point) report.StudyFigure
}

var (
	median = statistic{"median", func(m measure, p []stats.Point) report.StudyFigure {
		s := m.summarize(p, stats.Confidence)
		return report.StudyFigure{Value: &s.Median, Interval: s.Interval, N: s.N}
	}}
	// justMedian has no interval. It is for figures that only explain other figures.
	justMedian = statistic{"median alone", func(m measure, p []stats.Point) report.StudyFigure {
		s := m.summarize(p, stats.Confidence)
		return report.StudyFigure{Value: &s.Median, N: s.N}
	}}
	mean = statistic{"mean", func(_ measure, p []stats.Point) report.StudyFigure {
		v := stats.Mean(stats.Values(p))
		return report.StudyFigure{Value: &v, N: len(p)}
	}}
	deviation = statistic{"standard deviation", func(_ measure, p []stats.Point) report.StudyFigure {
		f := report.StudyFigure{N: len(p)}
		if v, ok := stats.StdDev(stats.Values(p)); ok {
			f.Value = &v
		}
		return f
	}}
	total = statistic{"total", func(_ measure, p []stats.Point) report.StudyFigure {
		v := 0.0
		for _, x := range p {
			v += x.Value
		}
		return report.StudyFigure{Value: &v, N: len(p)}
	}}
	bestOfTwo = statistic{"best of two", func(_ measure, p []stats.Point) report.StudyFigure {
		best := p[0].Value
		if len(p) > 1 {
			best = min(best, p[1].Value)
		}
		return report.StudyFigure{Value: &best, N: min(len(p), 2)}
	}}
)

// column is a column of figures that this run measured.
type column struct {
	title string
	m     measure
	of    statistic
}

// table is a table with one row for each cell. Its published columns come first.
type table struct {
	report.StudyTable
	cells *cells
	here  []column
	keys  []key // the keys of the rows
}

func (c *cells) table(t report.StudyTable, here ...column) *table {
	t.Columns = append(t.Columns, document.Map(here, func(x column) report.StudyColumn {
		return report.StudyColumn{Title: x.title, Unit: x.m.unit, Statistic: x.of.name}
	})...)
	return &table{t, c, here, nil}
}

// add adds the row of a cell, and returns its figures.
func (t *table) add(k key, labels []string, published ...report.StudyFigure) []report.StudyFigure {
	for _, x := range t.here {
		published = append(published, t.cells.figure(k, x.m, x.of))
	}
	t.Rows, t.keys = append(t.Rows, report.StudyRow{Labels: labels, Figures: published}), append(t.keys, k)
	return published
}

// lockCodes returns a text that counts the operations that failed because of a lock, over all
// trials, for each of SQLite's extended error codes. The text also has the share of operations that
// succeeded. It is "" if no operation failed.
func (c *cells) lockCodes(k key) string {
	x, why := c.find(k)
	if why != "" {
		return ""
	}
	counts := map[string]int64{}
	var operations, failed int64
	for _, s := range x.Samples {
		operations += s.Operations
		failed += s.Failed
		for _, e := range s.Errors {
			counts[e.Name] += e.Count
		}
	}
	names := slices.Sorted(maps.Keys(counts))
	for i, n := range names {
		names[i] = document.Thousands(counts[n]) + " " + n
	}
	if len(names) == 0 {
		return ""
	}
	permille := (operations - failed) * 1000 / max(operations, 1) // rounded down, so that it never becomes 100% although operations failed
	return fmt.Sprintf("%s, %d.%d%% of the operations succeeded", strings.Join(names, ", "), permille/10, permille%10)
}

// lockNote adds to a table a note about the lock errors of its rows.
func (t *table) lockNote() {
	var list []string
	for i, k := range t.keys {
		if codes := t.cells.lockCodes(k); codes != "" {
			list = append(list, strings.Join(t.Rows[i].Labels, " ")+": "+codes)
		}
	}
	if len(list) > 0 {
		t.Notes = append(t.Notes, "locked: "+strings.Join(list, "; "))
	}
}

func (c *cells) figure(k key, m measure, f statistic) report.StudyFigure {
	x, why := c.find(k)
	if why != "" {
		if x == nil {
			return report.StudyFigure{Phase: k.phase}
		}
		return report.StudyFigure{Text: string(x.Status), Case: x.Case.ID, Phase: k.phase}
	}
	out := report.StudyFigure{Text: "not measured"}
	if p := m.values(x); len(p) > 0 {
		out = f.of(m, p)
	}
	out.Case, out.Phase = x.Case.ID, k.phase
	return out
}

func (s *Study) reduced(c *cells, full string) []string {
	const proportions = "published figures are shown for comparison of proportions only"
	switch {
	case c.fullSize():
		return []string{}
	case c.run.Scale == workload.Quick:
		return []string{"quick form: " + s.quick(c) + "; " + proportions + " (" + full + " measures the published sizes)"}
	}
	return []string{"scale " + c.run.Scale + ": sizes are not the published ones, and " + proportions}
}
