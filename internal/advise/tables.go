package advise

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// measuredFacts returns the table of the measured figures of each candidate. The recommended candidates
// come first, followed by the other candidates, the fastest first. Ratios are relative to the first
// row.
func measuredFacts(a Advised) document.Grid {
	f := a.Facts
	var order []int
	for i := range f.Candidates {
		if slices.Contains(a.Names(), f.Candidates[i].Name) {
			order = append(order, i)
		}
	}
	taken := len(order)
	for i := range f.Candidates {
		order = distinct.Append(order, i)
	}
	tails := slices.ContainsFunc(f.Pairs, func(p recommend.Pair) bool { return p.Tail != nil })
	ratio := func(s *stats.Summary) string {
		return strings.TrimSpace(document.Times(s.Median) + " " + document.Ends(*s))
	}
	g := document.Grid{Columns: []document.Column{{Title: "candidate"}, {Title: "time", Right: true, Whole: true}, {Title: "p99", Right: true, Whole: true, Drop: 1},
		{Title: "failed", Right: true, Drop: 2}, {Title: "peak memory", Right: true}, {Title: "verdict"}}}
	for k, i := range order {
		c := &f.Candidates[i]
		row := []string{c.Name, document.Absent, document.Absent, document.Absent, document.Absent, verdict(a, c.Name)}
		switch p, ok := f.Pair(order[0], i); {
		case k == 0 && c.Measured:
			row[1] = document.Times(1)
			if tails {
				row[2] = document.Times(1)
			}
		case ok:
			row[1] = ratio(&p.Time)
			if p.Tail != nil {
				row[2] = ratio(p.Tail)
			}
		}
		if c.Operations > 0 {
			row[3] = document.Thousands(c.Failed)
		}
		if c.MemoryBytes > 0 {
			row[4] = document.Bytes(c.MemoryBytes)
		}
		g.Rows, g.Leaders = append(g.Rows, row), append(g.Leaders, k < taken)
	}
	return g
}

// verdict says in a few words whether to take a candidate.
func verdict(a Advised, name string) string {
	if slices.Contains(a.Names(), name) {
		return "take"
	}
	at := slices.IndexFunc(a.Rejected, func(r recommend.Rejection) bool { return r.Name == name })
	if at < 0 {
		return document.Absent
	}
	switch r := a.Rejected[at]; r.Cause {
	case recommend.CauseStatus:
		return string(r.Status)
	case recommend.CauseDefect:
		return "can lose data: " + document.FirstOf(document.Map(r.Defects, func(d defects.Defect) string { return d.ID }), 2, ", ")
	case recommend.CauseErrors:
		return "more operations fail"
	case recommend.CauseSlower:
		return "slower"
	}
	return "as fast, not better"
}

// memoryFacts returns the table of peak memory in each combination of settings, with a row for each
// combination. The table has no rows if there is only one combination.
func memoryFacts(f *recommend.Facts) document.Grid {
	var combinations []string
	byName := map[string]int64{} // peak memory in bytes, by candidate and combination
	for _, c := range f.Candidates {
		for _, m := range c.Memory {
			name := m.Workload + " " + m.Variant
			byName[c.Name+" "+name] = m.Bytes
			combinations = distinct.Append(combinations, name)
		}
	}
	columns := []document.ColumnOf[string]{document.Words("settings", func(name string) string { return name })}
	for _, c := range f.Candidates {
		columns = append(columns, document.Figures(c.Name, 0, func(name string) string {
			if n := byName[c.Name+" "+name]; n > 0 {
				return document.Bytes(n)
			}
			return document.Absent
		}))
	}
	return document.GridOf(combinations, columns...)
}

func tailNote(a Advised) string {
	f := a.Facts
	text := "Times are ratios to the first row"
	if len(f.Cells) > 1 {
		text += fmt.Sprintf(", the geometric mean over %s", document.Counted(int64(len(f.Cells)), "cell"))
	} else if len(f.Cells) == 1 {
		text += " in " + f.Cells[0].String()
	} else {
		return ""
	}
	if slices.ContainsFunc(f.Pairs, func(p recommend.Pair) bool { return p.Tail != nil }) {
		text += "; p99 is the geometric mean over all kinds of operations"
	}
	return text + ". Memory is that of the process and its children."
}

// answersAlike says how the answers of the candidates differ from those of the first candidate, with
// likely reasons.
func answersAlike(d *diff.Diffed) (l document.List) {
	for _, r := range d.Results {
		l = append(l, document.Item{Label: r.Second, Text: diff.DiffAnswer(r), Alarm: alarming(r)})
		for i := range r.Groups {
			if i == mostGroups {
				l = append(l, document.Item{Label: "likely", Text: fmt.Sprintf("%d more reasons, which sqlite3perf diff lists", len(r.Groups)-i)})
				break
			}
			g := &r.Groups[i]
			l = append(l, document.Item{Label: "likely", Text: fmt.Sprintf("%s (%s)", diff.DiffReason(r, g), g.Statements[0].At())})
		}
	}
	return l
}

func alarming(r *diff.Result) bool {
	return slices.ContainsFunc(r.Groups, func(g diff.Group) bool { return g.Kind != diff.ErrorType && g.Kind != diff.ErrorText })
}

// mostGroups is how many likely reasons of different answers are listed for each candidate.
const mostGroups = 2

func candidatesOf(f *recommend.Facts) document.Grid {
	g := document.Grid{Columns: []document.Column{{Title: "candidate"}, {Title: "version"}, {Title: "SQLite"}, {Title: "released"}, {Title: "license"}, {Title: "interface", Drop: 1}}}
	for _, c := range f.Candidates {
		row := []string{c.Name, cmp.Or(conditions.ShortVersion(c.Version), document.Absent), cmp.Or(c.SQLite, document.Absent), document.Absent, document.Absent, cmp.Or(string(c.Info.Interface), document.Absent)}
		if p := c.Footprint; p != nil {
			if !p.Released.IsZero() {
				row[3] = p.Released.UTC().Format(time.DateOnly)
			}
			row[4] = cmp.Or(p.License, document.Absent)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func builds(f *recommend.Facts) document.Grid {
	g := document.Grid{Columns: []document.Column{{Title: "candidate"}, {Title: "C compiler"}, {Title: "binary", Right: true}, {Title: "build warm", Right: true}, {Title: "cold", Right: true}}}
	var targets []string
	for i := range f.Candidates {
		if p := f.Candidates[i].Footprint; p != nil {
			for _, t := range p.Targets {
				if !slices.Contains(targets, t.Target) {
					targets = append(targets, t.Target)
					g.Columns = append(g.Columns, document.Column{Title: t.Target})
				}
			}
		}
	}
	for _, c := range f.Candidates {
		row := slices.Repeat([]string{document.Absent}, len(g.Columns))
		row[0] = c.Name
		if c.Info.Kind != driver.OtherLanguage {
			row[1] = map[bool]string{true: "not needed", false: "needed"}[c.WithoutC()]
		}
		if p := c.Footprint; p != nil {
			row[2], row[3] = document.Megabytes(p.SizeBytes), document.Elapsed(time.Duration(p.WarmNS))
			if p.ColdNS > 0 {
				row[4] = document.Elapsed(time.Duration(p.ColdNS))
			}
			for _, t := range p.Targets {
				row[len(g.Columns)-len(targets)+slices.Index(targets, t.Target)] = targetCell(t, c.WithoutC())
			}
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func targetCell(t result.TargetBuild, withoutC bool) string {
	switch {
	case t.OK:
		return "builds"
	case !withoutC:
		return "needs C"
	}
	return "does not build"
}

func failedBuilds(f *recommend.Facts) (l document.List) {
	for _, c := range f.Candidates {
		if c.Footprint == nil || !c.WithoutC() {
			continue
		}
		for _, t := range c.Footprint.Targets {
			if !t.OK {
				l = append(l, document.Item{Label: c.Name, Text: t.Target + ": " + document.Line(t.Message)})
			}
		}
	}
	return l
}

// adviceDefects lists the known defects, each with the candidates that have it. For defects that do no
// harm in the measured workloads, it says why.
func adviceDefects(f *recommend.Facts) document.Document {
	var have conditions.Groups[string, string]    // names of candidates, by the ID of their defect, with "-" before the ID if the defect is harmless
	var without conditions.Groups[string, string] // names of candidates that have no listed defect, by the reason
	var harmful, harmless document.List
	for _, c := range f.Candidates {
		for _, d := range c.Harmful {
			if have.Of[d.ID] == nil {
				harmful = append(harmful, document.Item{Label: d.ID, Text: fmt.Sprintf("%s: %s. It needs: %s", d.Effect, d.Title, conditions.DefectNeeds(d.Needs)), Alarm: d.Effect.Falsifies()})
			}
			have.Add(d.ID, c.Name)
		}
		for _, d := range c.Harmless {
			if have.Of["-"+d.ID] == nil {
				harmless = append(harmless, document.Item{Label: d.ID, Text: "does not matter here: it needs " + unmetWords(d.Needs.Unmet(f.Use))})
			}
			have.Add("-"+d.ID, c.Name)
		}
		switch {
		case c.Version == "" && c.SQLite == "":
			without.Add("not known", c.Name)
		case c.Harmful == nil && c.Harmless == nil:
			without.Add("none known", c.Name)
		}
	}
	for i := range harmful {
		harmful[i].Text = strings.Join(have.Of[harmful[i].Label], ", ") + ": " + harmful[i].Text
	}
	for i := range harmless {
		harmless[i].Text = strings.Join(have.Of["-"+harmless[i].Label], ", ") + ": " + harmless[i].Text
	}
	for _, why := range without.Keys {
		harmless = append(harmless, document.Item{Label: why, Text: strings.Join(without.Of[why], ", ")})
	}
	if len(f.Candidates) == 0 {
		return nil
	}
	d := document.Document{document.Heading{Level: 2, Text: "Known defects of these versions"}, append(harmful, harmless...)}
	if have.Keys != nil {
		d = append(d, document.Reference{Title: "known defects", Address: "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/defects.md"})
	}
	return d
}

func unmetWords(unmet []string) string {
	words := map[string]string{"os": "another operating system", "arch": "another processor", "wal": "journal_mode=wal, which the workload does not use",
		"rollback": "another journal_mode than wal, which the workload uses", "words": "SQL or types that the workload does not use", "connections": "several connections", "cancellation": "contexts that are canceled"}
	return document.Join(unmet, ", ", func(u string) string { return words[u] })
}

func limits(f *recommend.Facts) (l document.List) {
	for _, c := range f.Candidates {
		for _, what := range slices.Sorted(maps.Keys(c.Info.Limits)) {
			l = append(l, document.Item{Label: c.Name, Text: what + ": " + c.Info.Limits[what]})
		}
	}
	return l
}
