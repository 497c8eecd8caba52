package conditions

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// CasesOf lists each case's samples in the given tables, and the settings that the case's worker read back
// from its connections. Without tables, it lists only the settings. If the parameter "intervals" is true,
// it also lists the intervals of the medians.
func CasesOf(outcomes []*stats.Outcome, tables []*stats.Table, intervals bool) document.Details {
	var body document.Document
	for _, o := range outcomes {
		body = append(body, caseOf(o, tables, intervals))
	}
	return document.Details{Title: "Samples, and settings as they were proven", Body: body, Nest: true}
}

func caseOf(o *stats.Outcome, tables []*stats.Table, intervals bool) document.Details {
	l := document.List{{Label: "status", Text: string(o.Status), Alarm: o.Status != result.OK}}
	if o.Status != result.OK && o.Reason != nil {
		l = append(l, document.Item{Label: "reason", Text: Reason(o), Alarm: true})
	}
	if p := o.Proof(); p != nil {
		l.Note(document.Item{Label: "in force", Text: opened(p)})
		l.Note(document.Item{Label: "SQLite", Text: strings.TrimSpace(p.SQLiteVersion + " " + p.SQLiteSourceID)})
		l.Note(document.Item{Label: "module", Text: strings.TrimSpace(p.Module + " " + p.ModuleVersion)})
	}
	l.Note(document.Item{Label: "asked for", Text: stats.SettingWords(o.Case.Settings)})
	l.Note(document.Item{Label: "itself", Text: Changed(o.Case)})
	d := document.Details{Title: Name(o), ID: CaseID(o.Case.ID), Body: document.Document{l}}
	if p := o.Proof(); p != nil && o.Status == result.Refused {
		d.Body = append(d.Body, connections(p, o.Case)...)
		d.Body = append(d.Body, ReadLater([]*stats.Outcome{o})...)
	}
	if s := samplesOf(o, tables, intervals); len(s.Rows) > 0 && len(s.Columns) > 1 {
		d.Body = append(d.Body, s)
		if more := len(o.Trials) - maxSampleRows; more > 0 {
			d.Body = append(d.Body, document.Paragraph{Text: fmt.Sprintf("%s more: the formats csv and json have all.", document.Counted(int64(more), "trial")), Quiet: true})
		}
	}
	return d
}

func opened(p *protocol.Proof) string {
	set := readBack(p)
	if len(set) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (read back by %s when opened, before the schema and the work)", stats.SettingWords(set), document.Counted(int64(len(p.Connections)), "connection"))
}

// connections returns a table about a refused case, with a row for each connection. The row has
// the values of settings that the connection read back. ✗ marks values that differ from the
// requested values.
func connections(p *protocol.Proof, c *result.Case) document.Document {
	asked := driver.Settings{}
	for n, v := range c.Settings {
		if slices.ContainsFunc(p.Connections, func(got driver.Settings) bool { _, ok := got[n]; return ok }) {
			asked[n] = v
		}
	}
	names := stats.SettingNames(asked)
	if len(names) == 0 {
		return nil
	}
	var g document.Grid
	rows := []string{"asked for"}
	for i := range p.Connections {
		rows = append(rows, fmt.Sprintf("%d of %d", i+1, len(p.Connections)))
	}
	g.Add(document.Column{Title: "connection"}, rows)
	for _, n := range names {
		words := []string{asked[n]}
		for _, got := range p.Connections {
			word := cmp.Or(got[n], document.Absent)
			if driver.Check(driver.Settings{n: asked[n]}, got) != nil {
				word = "✗ " + word
			}
			words = append(words, word)
		}
		g.Add(document.Column{Title: n}, words)
	}
	return document.Document{document.Paragraph{Text: "Each connection read these back when it was opened, before the schema and the work. ✗ marks a value that was not requested. " +
		"What was read later is in the reason."}, g}
}

func samplesOf(o *stats.Outcome, tables []*stats.Table, intervals bool) document.Grid {
	var out document.Grid
	trials := o.Trials[:min(len(o.Trials), maxSampleRows)]
	add := func(title, n, median, interval string, samples []string) {
		words := []string{n, median}
		if intervals {
			words = append(words, interval)
		}
		out.Add(document.Column{Title: title, Right: true}, append(words, samples...))
	}
	add("round", "n", "median", "interval", document.Map(trials, func(t *result.Trial) string {
		if t.Repeated {
			return fmt.Sprintf("%d (disturbed, doesn't count)", t.Round)
		}
		return fmt.Sprint(t.Round)
	}))
	for _, t := range tables {
		i := slices.IndexFunc(t.Cells, func(c *stats.Cell) bool { return c.Outcome == o })
		if i < 0 {
			continue
		}
		c := t.Cells[i]
		format := document.SecondsOf("")
		n, median, sure := document.Absent, document.Absent, document.Absent
		if c.Summary.N > 0 {
			n, median = fmt.Sprint(c.Summary.N), format(c.Summary.Median)
			if x := c.Summary.Interval; x != nil {
				sure = format(x.Low) + " to " + format(x.High)
			}
		}
		add(t.Phase, n, median, sure, document.Map(trials, func(tr *result.Trial) string {
			if v := SampleValue(tr, t); !math.IsNaN(v) {
				return format(v)
			}
			return document.Absent
		}))
	}
	return out
}

// SampleValue returns a trial's figure for a table. It returns NaN if the trial has no sample of
// the table's phase.
func SampleValue(t *result.Trial, of *stats.Table) float64 {
	i := slices.IndexFunc(t.Samples, func(s result.Sample) bool { return s.Phase == of.Phase })
	if i < 0 {
		return math.NaN()
	}
	s := &t.Samples[i]
	if of.PerOp {
		return s.Value() / float64(max(s.Operations, 1))
	}
	return s.Value()
}

// TimeUnit returns the unit of the figures that [SampleValue] returns for the samples of a cell.
func TimeUnit(t *stats.Table, c *stats.Cell) string {
	if t.PerOp {
		return "s/op"
	}
	return c.Samples[0].Unit()
}

func CaseID(id int) string { return fmt.Sprintf("case-%d", id) }

// CaseLink returns the link, within a page, to the samples and settings of a case.
func CaseLink(c *result.Case) string { return "#" + CaseID(c.ID) }

// Changed names the settings that the workload of a case itself changes. It returns "" if there are
// none.
func Changed(c *result.Case) string {
	var words []string
	for _, d := range driver.Vocabulary {
		n := d.Name
		if !changes(c, n) {
			continue
		}
		if v, asked := c.Settings[n]; asked {
			words = append(words, n+" ("+v+" was asked for)")
		} else {
			words = append(words, n)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "the workload itself changes " + strings.Join(words, ", ") + ", as it declares"
}

const maxSampleRows = 100

// ReadLater lists cases that were refused in the middle of a trial. Their connections had the requested
// settings at first, but later some settings had other values. For each case, the list shows only these
// settings. ReadLater returns nil if there is no such case.
func ReadLater(outcomes []*stats.Outcome) document.Document {
	differ := driver.Settings{}
	for _, o := range outcomes {
		if r := refusedFor(o); r != nil {
			maps.Copy(differ, r.Wanted)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	names := stats.SettingNames(differ)
	g := document.Grid{Columns: document.Map(append([]string{"refused", "read back", "connection"}, names...), func(title string) document.Column { return document.Column{Title: title} })}
	for _, o := range outcomes {
		r := refusedFor(o)
		if r == nil {
			continue
		}
		row := []string{Name(o), "after " + cmp.Or(r.After, "the schema"), "wanted"}
		for _, n := range names {
			row = append(row, cmp.Or(r.Wanted[n], document.Absent))
		}
		g.Rows = append(g.Rows, row)
		alike := alikeConnections(r, names)
		for _, words := range alike.Keys {
			row := []string{"", "", fmt.Sprintf("%s of %d", document.JoinInts(alike.Of[words]), len(r.Connections))}
			g.Rows = append(g.Rows, append(row, strings.Split(words, "\x00")...))
		}
	}
	return document.Document{document.Space{}, document.Paragraph{Text: "What the connections of refused cases read back. ✗ marks what must not be."}, g}
}

func OutcomesByCase(a *stats.Analysis) map[int]*stats.Outcome {
	outcomes := map[int]*stats.Outcome{}
	for _, o := range a.Outcomes() {
		outcomes[o.Case.ID] = o
	}
	return outcomes
}
