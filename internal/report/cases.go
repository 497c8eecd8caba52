package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// casesOf has for each of some cases its samples in some tables, and the settings that were
// proven.
func casesOf(outcomes []*stats.Outcome, tables []*stats.Table, intervals bool) document {
	var body document
	for _, o := range outcomes {
		body = append(body, caseOf(o, tables, intervals))
	}
	return document{details{title: "Samples, and settings as they were proven", body: body, nest: true}}
}

// caseOf has the samples of a case and what its worker proved.
func caseOf(o *stats.Outcome, tables []*stats.Table, intervals bool) details {
	l := list{{label: "status", text: string(o.Status), alarm: o.Status != result.OK}}
	if o.Status != result.OK && o.Reason != nil {
		l = append(l, item{label: "reason", text: reason(o), alarm: true})
	}
	if p := o.Proof(); p != nil {
		l.note(item{label: "in force", text: opened(p)})
		l.note(item{label: "SQLite", text: strings.TrimSpace(p.SQLiteVersion + " " + p.SQLiteSourceID)})
		l.note(item{label: "module", text: strings.TrimSpace(p.Module + " " + p.ModuleVersion)})
	}
	var asked []string
	for _, n := range stats.SettingNames(o.Case.Settings) {
		asked = append(asked, n+"="+o.Case.Settings[n])
	}
	l.note(item{label: "asked for", text: strings.Join(asked, " ")})
	l.note(item{label: "itself", text: changed(o.Case)})
	d := details{title: name(o), id: caseID(o.Case.ID), body: document{l}}
	if p := o.Proof(); p != nil && o.Status == result.Refused {
		d.body = append(d.body, connections(p, o.Case)...)
		d.body = append(d.body, readLater([]*stats.Outcome{o})...)
	}
	if s := samplesOf(o, tables, intervals); len(s.rows) > 0 {
		d.body = append(d.body, s)
		if more := len(o.Trials) - maxSampleRows; more > 0 {
			d.body = append(d.body, paragraph{fmt.Sprintf("%s more: the formats csv and json have all.", counted(int64(more), "trial")), true})
		}
	}
	return d
}

// opened says what the connections of a pool read back when they were opened.
func opened(p *protocol.Proof) string {
	set := readBack(p)
	var words []string
	for _, n := range stats.SettingNames(set) {
		words = append(words, n+"="+set[n])
	}
	if words == nil {
		return ""
	}
	return fmt.Sprintf("%s (read back by %s when opened, before the schema and the work)", strings.Join(words, " "), counted(int64(len(p.Connections)), "connection"))
}

// connections has a row for each connection of a refused case, with the settings that were
// asked for as it read them back. What differs is marked.
func connections(p *protocol.Proof, c *result.Case) document {
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
	g := grid{columns: []column{{title: "connection"}}}
	rows := [][]string{{"asked for"}}
	for i := range p.Connections {
		rows = append(rows, []string{fmt.Sprintf("%d of %d", i+1, len(p.Connections))})
	}
	g.rows = rows
	for _, n := range names {
		words := []string{asked[n]}
		for _, got := range p.Connections {
			word := cmp.Or(got[n], absent)
			if driver.Check(driver.Settings{n: asked[n]}, got) != nil {
				word = "✗ " + word
			}
			words = append(words, word)
		}
		g.add(column{title: n}, words)
	}
	return document{paragraph{text: "Each connection read these back when it was opened, before the schema and the work. ✗ marks what was not asked for. " +
		"What was read later is in the reason."}, g}
}

// samplesOf has the samples of a case, a row for each trial and a column for each phase.
func samplesOf(o *stats.Outcome, tables []*stats.Table, intervals bool) grid {
	out := grid{columns: []column{{title: "round", right: true}}}
	trials := o.Trials[:min(len(o.Trials), maxSampleRows)]
	for _, t := range trials {
		words := fmt.Sprint(t.Round)
		if t.Repeated {
			words += " (robbed, does not count)"
		}
		out.rows = append(out.rows, []string{words})
	}
	ends := [][]string{{"n"}, {"median"}, {"interval"}}
	for _, t := range tables {
		i := slices.IndexFunc(t.Cells, func(c *stats.Cell) bool { return c.Outcome == o })
		if i < 0 {
			continue
		}
		c := t.Cells[i]
		var values []float64
		for _, tr := range trials {
			values = append(values, sampleValue(tr, t))
		}
		format := secondsOf("")
		out.columns = append(out.columns, column{title: t.Phase, right: true})
		for j, v := range values {
			word := absent
			if v == v {
				word = format(v)
			}
			out.rows[j] = append(out.rows[j], word)
		}
		n, median, sure := absent, absent, absent
		if c.Summary.N > 0 {
			n, median = fmt.Sprint(c.Summary.N), format(c.Summary.Median)
			if x := c.Summary.Interval; x != nil {
				sure = format(x.Low) + " to " + format(x.High)
			}
		}
		ends[0], ends[1], ends[2] = append(ends[0], n), append(ends[1], median), append(ends[2], sure)
	}
	if len(out.columns) == 1 {
		return grid{}
	}
	if !intervals {
		ends = ends[:2]
	}
	out.rows = append(ends, out.rows...)
	return out
}

// sampleValue returns what a trial measured in the phase of a table, as the table has it. It
// is NaN if the trial has no sample of the phase.
func sampleValue(t *result.Trial, of *stats.Table) float64 {
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

func caseID(id int) string { return fmt.Sprintf("case-%d", id) }

// caseLink returns what leads to the samples and the settings of a case.
func caseLink(c *result.Case) string { return "#" + caseID(c.ID) }

// changed says which settings the workload itself changes. It returns "" if there are
// none.
func changed(c *result.Case) string {
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

// maxSampleRows is how many samples of a case a page has. The other formats have all.
const maxSampleRows = 100

// readLater has for each of some cases that were refused after their connections had been
// opened what these read back then. It is nil if there is no such case.
func readLater(outcomes []*stats.Outcome) document {
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
	g := grid{columns: []column{{title: "refused"}, {title: "read back"}, {title: "connection"}}}
	for _, n := range names {
		g.columns = append(g.columns, column{title: n})
	}
	for _, o := range outcomes {
		r := refusedFor(o)
		if r == nil {
			continue
		}
		row := []string{name(o), when(r), "wanted"}
		for _, n := range names {
			row = append(row, cmp.Or(r.Wanted[n], absent))
		}
		g.rows = append(g.rows, row)
		alike := alikeConnections(r, names)
		for _, words := range alike.keys {
			row := []string{"", "", fmt.Sprintf("%s of %d", someNumbers(alike.of[words]), len(r.Connections))}
			g.rows = append(g.rows, append(row, strings.Split(words, "\x00")...))
		}
	}
	return document{space{}, paragraph{text: "What the connections of refused cases read back. ✗ marks what must not be."}, g}
}

func outcomesByCase(a *stats.Analysis) map[int]*stats.Outcome {
	outcomes := map[int]*stats.Outcome{}
	for _, g := range a.Groups {
		for _, o := range g.Outcomes {
			outcomes[o.Case.ID] = o
		}
	}
	return outcomes
}
