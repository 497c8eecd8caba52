package conditions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// DriverDefects are the known defects of a driver in a run.
type DriverDefects struct {
	Driver  string           `json:"driver"`
	Case    int              `json:"case" jsonschema:"minimum=1"` // ID of the driver's first case whose worker reported its versions
	SQLite  string           `json:"sqlite,omitempty"`
	Version string           `json:"version,omitempty"` // version of the library; absent if the library is a checkout
	Known   []defects.Defect `json:"known"`             // known defects, the worst first
}

// DefectsOf lists the known defects of each driver of a run. It leaves out drivers whose versions
// no worker reported. It also leaves out the driver a.Floor, which is plain C for comparison and is
// not used in production.
func DefectsOf(a *stats.Analysis) (list []DriverDefects) {
	for _, o := range seen(a) {
		known, ok := KnownDefects(a, o)
		if !ok {
			continue
		}
		if known == nil {
			known = []defects.Defect{}
		}
		l := LibraryOf(o.Case, o.Proof())
		list = append(list, DriverDefects{Driver: Label(o.Case), Case: o.Case.ID, SQLite: l.SQLite, Version: l.Version, Known: known})
	}
	return list
}

// KnownDefects lists the known defects of a case's library and of its SQLite, the worst first. It
// considers the versions that the case's worker reported. ok is false if no versions were reported,
// and for the driver a.Floor.
func KnownDefects(a *stats.Analysis, o *stats.Outcome) (known []defects.Defect, ok bool) {
	p := o.Proof()
	if p == nil || result.BaseDriver(o.Case.Driver) == a.Floor {
		return nil, false
	}
	return defects.Known(LibraryOf(o.Case, p)), true
}

// Harmful has the harmful defects of each driver. A known defect is harmful if it can lose, damage
// or falsify data under the conditions of a run, such as its journal mode.
type Harmful map[string][]defects.Defect

// HarmfulDefects returns the harmful defects of a run's drivers. A defect with conditions, such as
// journal_mode=wal, counts if at least one workload meets them.
func HarmfulDefects(a *stats.Analysis) Harmful { return harmful(a, seen(a), UseOf(a)) }

// HarmfulIn returns the defects that are harmful under the conditions of a table's workload. It leaves
// out defects that cannot occur with the settings or the SQL of the workload.
func HarmfulIn(a *stats.Analysis, t *stats.Table) Harmful {
	outcomes := document.Map(t.Cells, func(c *stats.Cell) *stats.Outcome { return c.Outcome })
	return harmful(a, outcomes, useIn(a, outcomes))
}

func harmful(a *stats.Analysis, outcomes []*stats.Outcome, use defects.Use) Harmful {
	h := Harmful{}
	for _, o := range outcomes {
		if h[o.Case.Driver] != nil {
			continue // the driver's defects are known from another case
		}
		known, _ := KnownDefects(a, o)
		for _, d := range known {
			if d.Effect.Falsifies() && d.Needs.Unmet(use) == nil {
				h[o.Case.Driver] = append(h[o.Case.Driver], d)
			}
		}
	}
	return h
}

// SlowDefects lists the known defects that may make a case slow, with the settings and the SQL that
// it uses.
func SlowDefects(a *stats.Analysis, o *stats.Outcome) []defects.Defect {
	known, _ := KnownDefects(a, o)
	use := useIn(a, []*stats.Outcome{o})
	return slices.DeleteFunc(known, func(d defects.Defect) bool { return d.Effect != defects.Slow || d.Needs.Unmet(use) != nil })
}

// IDs lists the IDs of a driver's harmful defects.
func (h Harmful) IDs(driver string) []string {
	return document.Map(h[driver], func(d defects.Defect) string { return d.ID })
}

// LibraryOf returns the library that a case used, with the versions that its worker reported in p.
func LibraryOf(c *result.Case, p *protocol.Proof) defects.Library {
	l := defects.Library{Module: c.Info.Module, Linked: c.Linked}
	if p == nil {
		return l
	}
	l.SQLite = p.SQLiteVersion
	if c.Build["directory"] == "" { // the source isn't a checkout; the version of a checkout may be between two releases
		l.Version = p.ModuleVersion
	}
	return l
}

// UseOf says how a run uses its databases, and which words its SQL can contain. It does not know whether
// other processes open the database, or whether contexts are canceled.
func UseOf(a *stats.Analysis) defects.Use { return useIn(a, a.Outcomes()) }

func useIn(a *stats.Analysis, outcomes []*stats.Outcome) defects.Use {
	u := defects.Use{OS: a.Run.Machine.OS, Arch: a.Run.Machine.Arch}
	var wal, other bool // whether some case has journal_mode=wal, and whether some case has only other journal modes
	var workloads []string
	for _, o := range outcomes {
		workloads = distinct.Append(workloads, o.Case.Workload)
		p := o.Proof()
		if p == nil {
			continue
		}
		isWAL := func(s driver.Settings) bool { return s["journal_mode"] == "wal" }
		all := slices.Concat(p.Connections, slices.Collect(maps.Values(o.Case.InForce)))
		wal = wal || slices.ContainsFunc(all, isWAL)
		other = other || !slices.ContainsFunc(all, isWAL)
		if len(p.Connections) > 1 {
			u.Connections = defects.Yes
		}
	}
	switch {
	case wal && other: // u.WAL stays unknown, because defects of both modes can do harm
	case wal:
		u.WAL = defects.Yes
	case other:
		u.WAL = defects.No
	}
	u.Text = textOf(a.Run, workloads)
	return u
}

// textOf returns all SQL and all types of the given workloads in one text, in lower case. It
// returns "" if they are not known.
func textOf(run *result.Run, workloads []string) string {
	var all []string
	for _, name := range workloads {
		i := slices.IndexFunc(run.Workloads, func(w result.Workload) bool { return w.Name == name })
		if i < 0 {
			return ""
		}
		w := &run.Workloads[i]
		text, ok := workload.WordsOf(w.Text, document.Map(w.Includes, func(f result.TextFile) string { return f.Text }))
		if !ok {
			return ""
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

func driverDefects(a *stats.Analysis) document.Document {
	var beside document.List
	var all Groups[string, defects.Defect]
	for _, d := range DefectsOf(a) {
		if len(d.Known) == 0 {
			continue
		}
		var ids []string
		for _, x := range d.Known {
			ids = append(ids, x.ID)
			all.Add(x.ID, x)
		}
		beside = append(beside, document.Item{Label: d.Driver, Text: strings.Join(ids, ", "), Alarm: d.Known[0].Effect.Falsifies()})
	}
	if beside == nil {
		return nil
	}
	g := document.Grid{Columns: []document.Column{{Title: "defect"}, {Title: "effect"}, {Title: "what it is"}, {Title: "what it needs", Drop: 1}}}
	use := UseOf(a)
	for _, id := range all.Keys {
		d := all.Of[id][0]
		needs := DefectNeeds(d.Needs)
		if d.Needs.Unmet(use) != nil {
			needs += "; not in this run"
		}
		g.Rows = append(g.Rows, []string{d.ID, string(d.Effect), d.Title, needs})
	}
	return document.Document{document.Paragraph{Text: "Known defects of these versions, the worst first (docs/defects.md says more):"}, beside, g}
}

// DefectVersions lists the versions that have a defect, and the versions that fixed it.
func DefectVersions(d *defects.Defect) string {
	of := d.Of
	if of == defects.OfSQLite {
		of = "SQLite"
	}
	var words []string
	for _, r := range d.Affected {
		switch {
		case r.From == "" && r.Fixed == "":
			words = append(words, "all so far")
		case r.From == "":
			words = append(words, "before "+r.Fixed)
		case r.Fixed == "":
			words = append(words, "since "+r.From)
		default:
			words = append(words, "since "+r.From+", fixed in "+r.Fixed)
		}
	}
	for _, p := range d.Patched {
		words = append(words, p.Module+" repaired it from "+p.From+" on")
	}
	return of + " " + strings.Join(words, "; ")
}

// DefectNeeds lists the conditions under which a defect does harm.
func DefectNeeds(n defects.Needs) string {
	var words []string
	note := func(needed bool, text string) {
		if needed {
			words = append(words, text)
		}
	}
	note(n.OS != nil, document.Or(n.OS))
	note(n.Arch != nil, document.Or(n.Arch))
	note(n.WAL, "journal_mode=wal")
	note(n.Rollback, "another journal_mode than wal")
	note(n.Connections, "several connections")
	note(n.Cancellation, "contexts that are canceled or time out")
	note(n.Other != "", n.Other)
	if words == nil {
		return "nothing more"
	}
	return strings.Join(words, "; ")
}

// shownDefects is the greatest number of defects that [DefectCaveat] names.
const shownDefects = 3

// DefectCaveat names the drivers with harmful defects, the fastest drivers first. Defects that
// cannot do harm under the conditions of the run are left out. The result "count" is the number of
// defects.
func DefectCaveat(a *stats.Analysis) (count int, text string) {
	var of Groups[string, string] // drivers by the defect that they have
	titles := map[string]string{}
	harmful := HarmfulDefects(a)
	for _, o := range DriverOrder(a) { // the fastest first
		for _, d := range harmful[o.Case.Driver] {
			of.Add(d.ID, Label(o.Case))
			titles[d.ID] = d.Title
		}
	}
	if of.Keys == nil {
		return 0, ""
	}
	slices.SortStableFunc(of.Keys, func(x, y string) int { return len(of.Of[y]) - len(of.Of[x]) })
	words := document.Map(of.Keys, func(id string) string {
		return fmt.Sprintf("%s (%s): %s", id, titles[id], document.AndOthers(of.Of[id]))
	})
	count = len(words)
	if count > shownDefects {
		words = append(words[:shownDefects], document.Counted(int64(count-shownDefects), "more defect"))
	}
	return count, strings.Join(words, "; ")
}
