package advise

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"golang.org/x/mod/module"
)

// measuredFacts is the table of the measured figures of each candidate. Ratios are relative to the
// first candidate with figures.
func measuredFacts(a Advised) document.Grid {
	f := a.Facts
	g := document.Grid{Columns: []document.Column{{Title: "candidate"}, {Title: "time", Right: true, Whole: true}, {Title: "p99", Right: true, Whole: true, Drop: 1},
		{Title: "failed", Right: true}, {Title: "peak memory", Right: true}, {Title: "status"}}}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		row := []string{c.Name, document.Absent, document.Absent, document.Absent, document.Absent, string(c.Status)}
		switch {
		case i == 0 && c.Measured:
			row[1] = document.Times(1)
			if slices.ContainsFunc(f.Pairs, func(p Pair) bool { return p.Tail != nil }) {
				row[2] = document.Times(1)
			}
		case c.Measured:
			at := slices.IndexFunc(f.Pairs, func(p Pair) bool { return p.First == 0 && p.Second == i })
			if at < 0 {
				break
			}
			p := f.Pairs[at]
			row[1] = strings.TrimSpace(document.Times(p.Time.Median) + " " + document.Interval(p.Time.Interval))
			if p.Tail != nil {
				row[2] = strings.TrimSpace(document.Times(p.Tail.Median) + " " + document.Interval(p.Tail.Interval))
			}
		}
		if c.Operations > 0 {
			row[3] = document.Thousands(c.Failed)
		}
		if c.MemoryBytes > 0 {
			row[4] = document.Megabytes(c.MemoryBytes)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// memoryFacts is the table of peak memory in each combination of settings, if there are several.
// It has a row for each combination.
func memoryFacts(f *Facts) document.Grid {
	var combinations []string
	byName := map[string]int64{} // peak memory in bytes, by candidate and combination
	for _, c := range f.Candidates {
		for _, m := range c.Memory {
			name := m.Workload + " " + m.Variant
			if byName[c.Name+" "+name] = m.Bytes; !slices.Contains(combinations, name) {
				combinations = append(combinations, name)
			}
		}
	}
	columns := []document.ColumnOf[string]{document.Words("settings", func(name string) string { return name })}
	for _, c := range f.Candidates {
		columns = append(columns, document.Figures(c.Name, 0, func(name string) string {
			if n := byName[c.Name+" "+name]; n > 0 {
				return document.Megabytes(n)
			}
			return document.Absent
		}))
	}
	return document.GridOf(combinations, columns...)
}

func tailNote(f *Facts) string {
	text := "Times are ratios to the first row"
	if len(f.Cells) > 1 {
		text += fmt.Sprintf(", the geometric mean over %s", document.Counted(int64(len(f.Cells)), "cell"))
	} else if len(f.Cells) == 1 {
		text += " in " + f.Cells[0].String()
	} else {
		return ""
	}
	if slices.ContainsFunc(f.Pairs, func(p Pair) bool { return p.Tail != nil }) {
		text += "; p99 is the geometric mean over all kinds of operations"
	}
	return text + ". Memory is that of the process and its children."
}

// answersAlike says how the answers of the candidates differ from those of the first, with likely
// reasons.
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

// mostGroups is how many kinds of different answers are listed for each candidate.
const mostGroups = 2

func candidatesOf(f *Facts) document.Grid {
	g := document.Grid{Columns: []document.Column{{Title: "candidate"}, {Title: "version"}, {Title: "SQLite"}, {Title: "released"}, {Title: "license"}, {Title: "interface", Drop: 1}}}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		row := []string{c.Name, cmp.Or(shortVersion(c.Version), document.Absent), cmp.Or(c.SQLite, document.Absent), document.Absent, document.Absent, cmp.Or(string(c.Info.Interface), document.Absent)}
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

// shortVersion returns the revision of a pseudo-version, and other versions unchanged.
func shortVersion(v string) string {
	if module.IsPseudoVersion(v) {
		if rev, err := module.PseudoVersionRev(v); err == nil {
			return rev[:min(7, len(rev))]
		}
	}
	return v
}

func builds(f *Facts) document.Grid {
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
	for i := range f.Candidates {
		c := &f.Candidates[i]
		row := make([]string, len(g.Columns))
		for k := range row {
			row[k] = document.Absent
		}
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

func failedBuilds(f *Facts) (l document.List) {
	for i := range f.Candidates {
		c := &f.Candidates[i]
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

// adviceDefects lists the known defects of each candidate, and why some do not matter here.
func adviceDefects(f *Facts) document.Document {
	var beside, what, harmless document.List
	told := map[string]bool{}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		var ids []string
		for _, d := range c.Harmful {
			ids = append(ids, d.ID)
			if !told[d.ID] {
				told[d.ID] = true
				what = append(what, document.Item{Label: d.ID, Text: fmt.Sprintf("%s: %s. It needs: %s", d.Effect, d.Title, conditions.DefectNeeds(d.Needs))})
			}
		}
		words := strings.Join(ids, ", ")
		switch {
		case ids != nil:
		case c.Version == "" && c.SQLite == "":
			words = "not known, since no worker told its versions"
		case c.Harmless != nil:
			words = "none that matters here"
		default:
			words = "none known"
		}
		beside = append(beside, document.Item{Label: c.Name, Text: words, Alarm: c.Falsifying() != nil})
		for _, d := range c.Harmless {
			harmless = append(harmless, document.Item{Label: c.Name, Text: fmt.Sprintf("%s does not matter here: it needs %s", d.ID, unmetWords(d.Needs.Unmet(f.Use)))})
		}
	}
	if beside == nil {
		return nil
	}
	d := document.Document{document.Heading{Level: 2, Text: "Known defects of these versions"}, beside, what, harmless}
	if what != nil || harmless != nil {
		d = append(d, document.Reference{Title: "known defects", Address: "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/defects.md"})
	}
	return d
}

func unmetWords(unmet []string) string {
	words := map[string]string{"os": "another operating system", "arch": "another processor", "wal": "journal_mode=wal, which the workload does not use",
		"rollback": "another journal_mode than wal, which the workload uses", "connections": "several connections", "cancellation": "contexts that are canceled"}
	return document.Join(unmet, ", ", func(u string) string { return words[u] })
}

func limits(f *Facts) (l document.List) {
	for i := range f.Candidates {
		c := &f.Candidates[i]
		for _, what := range slices.Sorted(maps.Keys(c.Info.Limits)) {
			l = append(l, document.Item{Label: c.Name, Text: what + ": " + c.Info.Limits[what]})
		}
	}
	return l
}
