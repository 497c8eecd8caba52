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

type statistic func(measure, []stats.Point) report.StudyFigure

func median(m measure, p []stats.Point) report.StudyFigure {
	s := m.summarize(p, stats.Confidence)
	return report.StudyFigure{Value: &s.Median, Interval: s.Interval, N: s.N}
}

// justMedian returns the median without its interval. It is used for figures that only explain
// other figures.
func justMedian(m measure, p []stats.Point) report.StudyFigure {
	f := median(m, p)
	f.Interval = nil
	return f
}

func mean(_ measure, p []stats.Point) report.StudyFigure {
	v := stats.Mean(stats.Values(p))
	return report.StudyFigure{Value: &v, N: len(p)}
}

func deviation(_ measure, p []stats.Point) report.StudyFigure {
	f := report.StudyFigure{N: len(p)}
	if v, ok := stats.StdDev(stats.Values(p)); ok {
		f.Value = &v
	}
	return f
}

func total(_ measure, p []stats.Point) report.StudyFigure {
	v := 0.0
	for _, x := range p {
		v += x.Value
	}
	return report.StudyFigure{Value: &v, N: len(p)}
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

// lockNote adds to a table a note about the lock errors of its rows. keys has one key for each
// row.
func (c *cells) lockNote(t *report.StudyTable, keys []key) {
	var list []string
	for i, k := range keys {
		if codes := c.lockCodes(k); codes != "" {
			list = append(list, strings.Join(t.Rows[i].Labels, " ")+": "+codes)
		}
	}
	if len(list) > 0 {
		t.Notes = append(t.Notes, "locked: "+strings.Join(list, "; "))
	}
}

func (c *cells) figures(k key, f statistic, measures ...measure) []report.StudyFigure {
	return document.Map(measures, func(m measure) report.StudyFigure { return c.figure(k, m, f) })
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
		out = f(m, p)
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
