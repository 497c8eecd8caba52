package study

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/workload"
)

// Report is a run of a study in the study's own tables, with its claims.
type Report struct {
	Name        string   `json:"name"`
	AsPublished bool     `json:"as_published"`
	Published   string   `json:"published"`
	Notes       []string `json:"notes"` // what the figures of all tables cannot say
	Tables      []Table  `json:"tables"`
	Claims      []Claim  `json:"claims"`
}

// Table is a table as the study had it.
type Table struct {
	Title   string   `json:"title"`
	Labels  []string `json:"labels"` // heads of the columns that name a row
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`

	// Corrected is what is measured otherwise than it was published; in the form
	// as published, the faults that are measured with it.
	Corrected []string `json:"corrected"`
	Notes     []string `json:"notes"`              // what the figures cannot say
	Warnings  []string `json:"warnings,omitempty"` // what makes some of them doubtful
}

// Column is a column of figures.
type Column struct {
	Title     string `json:"title"`
	Unit      string `json:"unit,omitempty"`
	Published bool   `json:"published"` // else measured in this run
	Statistic string `json:"statistic,omitempty"`
}

// Row is a row of a table: a label for each of the table's, a figure for each
// column.
type Row struct {
	Labels  []string `json:"labels"`
	Figures []Figure `json:"figures"`
}

// Figure is one figure of a table, or why there is none.
type Figure struct {
	Value    *float64        `json:"value,omitempty"`
	Interval *stats.Interval `json:"interval,omitempty"`
	N        int             `json:"n,omitempty"`    // samples
	Text     string          `json:"text,omitempty"` // in place of the value, or of what is missing
	Case     int             `json:"case,omitempty"` // id, in run.cases, of what was measured
	Phase    string          `json:"phase,omitempty"`
}

// Evaluate puts a run of a study into the study's words; nil where the run is of
// no study, or of one that is not known here.
func Evaluate(a *stats.Analysis) *Report {
	if a.Run.Study == nil {
		return nil
	}
	s, err := Find(a.Run.Study.Name)
	if err != nil {
		return nil
	}
	c := newCells(a)
	r := &Report{Name: s.Name, AsPublished: c.asPublished, Published: s.Published, Notes: s.reduced(c),
		Tables: s.tables(c), Claims: judge(s.claims, c)}
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

// given is a published figure.
func given(v *float64) Figure { return Figure{Value: v} }

// statistic makes one number of a cell's samples.
type statistic func(measure, []stats.Point) Figure

func median(m measure, p []stats.Point) Figure {
	s := m.summarize(p, stats.Confidence)
	return Figure{Value: &s.Median, Interval: s.Interval, N: s.N}
}

// justMedian is the median for a figure that explains another, whose interval
// would tell nothing more.
func justMedian(m measure, p []stats.Point) Figure {
	f := median(m, p)
	f.Interval = nil
	return f
}

func mean(_ measure, p []stats.Point) Figure {
	v := stats.Mean(stats.Values(p))
	return Figure{Value: &v, N: len(p)}
}

func deviation(_ measure, p []stats.Point) Figure {
	f := Figure{N: len(p)}
	if v, ok := stats.StdDev(stats.Values(p)); ok {
		f.Value = &v
	}
	return f
}

func total(_ measure, p []stats.Point) Figure {
	v := 0.0
	for _, x := range p {
		v += x.Value
	}
	return Figure{Value: &v, N: len(p)}
}

// lockCodes counts by SQLite's extended code the operations that a lock failed,
// over all trials, and says which share of all succeeded; "" where none failed.
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
		names[i] = counted(counts[n]) + " " + n
	}
	if len(names) == 0 {
		return ""
	}
	permille := (operations - failed) * 1000 / max(operations, 1) // rounded down, so that it is not 100%
	return fmt.Sprintf("%s, %d.%d%% of the operations succeeded", strings.Join(names, ", "), permille/10, permille%10)
}

// lockNote says of the rows of a table with which codes locks failed operations.
// Keys are those of the rows.
func (c *cells) lockNote(t *Table, keys []key) {
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

// figure is what a statistic makes of a cell.
func (c *cells) figure(k key, m measure, f statistic) Figure {
	x, why := c.find(k)
	if why != "" {
		if x == nil {
			return Figure{Phase: k.phase}
		}
		return Figure{Text: string(x.Status), Case: x.Case.ID, Phase: k.phase}
	}
	out := Figure{Text: "not measured"}
	if p := m.values(x); len(p) > 0 {
		if out = f(m, p); out.Interval != nil {
			out.Interval = m.summarize(p, c.confidence).Interval
		}
	}
	out.Case, out.Phase = x.Case.ID, k.phase
	return out
}

// reduced is the note of a run whose sizes are not the published ones.
func (s *Study) reduced(c *cells) []string {
	const proportions = "figures stand beside the published ones for their proportions only"
	switch {
	case c.fullSize():
		return []string{}
	case c.run.Scale == workload.Quick:
		return []string{"quick form: " + s.quick(c) + "; " + proportions + " (--scale full measures the published sizes)"}
	}
	return []string{"scale " + c.run.Scale + ": sizes are not the published ones, and " + proportions}
}

// counted writes a number with its thousands apart.
func counted(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
