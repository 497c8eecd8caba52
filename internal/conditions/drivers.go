package conditions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// seen returns one outcome of each driver: the first whose worker reported its versions and
// settings. If no worker of the driver reported them, it is the driver's first outcome.
func seen(a *stats.Analysis) []*stats.Outcome { return ofEachDriver(a, nil) }

// DriverOrder returns an outcome of each driver: first the drivers in the summary of all tables, the
// fastest first, then the other drivers in the order of the run.
func DriverOrder(a *stats.Analysis) []*stats.Outcome {
	var first []*stats.Outcome
	outcomes := OutcomesByCase(a)
	for _, d := range a.Overall.Drivers {
		first = append(first, outcomes[d.Case.ID])
	}
	return ofEachDriver(a, first)
}

// ofEachDriver returns an outcome of each driver. Drivers with an outcome in the list "first" come
// before the other drivers.
func ofEachDriver(a *stats.Analysis, first []*stats.Outcome) (list []*stats.Outcome) {
	for _, o := range append(first, a.Outcomes()...) {
		i := slices.IndexFunc(list, func(x *stats.Outcome) bool { return x.Case.Driver == o.Case.Driver })
		switch {
		case i < 0:
			list = append(list, o)
		case list[i].Proof() == nil && o.Proof() != nil: // prefer the outcome whose version is known
			list[i] = o
		}
	}
	return list
}

// Drivers lists the measured drivers, with their versions and kinds, and how variants were built.
func Drivers(a *stats.Analysis) document.Document {
	seen := seen(a)
	if len(seen) == 0 {
		return nil
	}
	g := document.Grid{Columns: []document.Column{{Title: "driver"}, {Title: "module", Drop: 4}, {Title: "version", Drop: 2}, {Title: "SQLite"},
		{Title: "kind"}, {Title: "interface"}, {Title: "runtime", Drop: 3}}}
	for _, o := range seen {
		module, v, runtime := o.Case.Info.Module, document.Absent, document.Absent
		if p := o.Proof(); p != nil {
			module, v, runtime = cmp.Or(p.Module, module), cmp.Or(p.ModuleVersion, document.Absent), cmp.Or(p.Runtime, document.Absent)
			if o.Case.Build["directory"] != "" {
				v = cmp.Or(revision(o.Case.Build), document.Absent)
			}
		}
		g.Rows = append(g.Rows, []string{Label(o.Case), cmp.Or(module, document.Absent), v, SQLiteVersion(o),
			cmp.Or(string(o.Case.Info.Kind), document.Absent), cmp.Or(string(o.Case.Info.Interface), document.Absent), runtime})
	}
	d := document.Document{document.Heading{Level: 2, Text: "Drivers"}, g}
	if l := variants(seen); l != nil {
		d = append(d, document.Paragraph{Text: "What makes the variants, as their workers prove it:"}, l)
	}
	return append(d, driverDefects(a)...)
}

// DriverNotes lists differences between the drivers: in compile options, and in the default values
// of settings that the workload does not set.
func DriverNotes(a *stats.Analysis) (d document.Document) {
	if l := compileOptions(seen(a)); l != nil {
		d = append(d, document.Paragraph{Text: "Compile options of SQLite that matter and differ:"}, l)
	}
	if l := unasked(a); l != nil {
		d = append(d, document.Paragraph{Text: "Settings that were not requested, and that differ:"}, l)
	}
	if d == nil {
		return nil
	}
	return append(document.Document{document.Heading{Level: 2, Text: "How the drivers differ"}}, d...)
}

// variants lists how the variants of drivers were built and run, as the workers reported.
func variants(seen []*stats.Outcome) document.List {
	var l document.List
	for _, o := range seen {
		p := o.Proof()
		if p == nil {
			continue
		}
		var words, flags, variables []string
		if dir := o.Case.Build["directory"]; dir != "" {
			from := "built from " + dir
			if v := o.Case.Build["vcs.revision"]; v != "" {
				from += " at " + v
			}
			if o.Case.Build["vcs.modified"] != "" {
				from += ", with changes that are not committed"
			}
			words = append(words, from)
		}
		for _, key := range slices.Sorted(maps.Keys(o.Case.Options)) {
			name := strings.TrimPrefix(key, "env.")
			flag := cmp.Or(map[string]string{"tags": "-tags", "cflags": "CGO_CFLAGS"}[key], key)
			if v, ok := p.Build[flag]; ok {
				flags = append(flags, flag+"="+v)
			} else if v, ok := p.Environment[name]; ok {
				variables = append(variables, name+"="+v)
			}
		}
		if flags != nil {
			built := "built with " + strings.Join(flags, ", ")
			if o.Case.Needed != nil {
				built += fmt.Sprintf(", because the workload %s needs %s", o.Case.Workload, strings.Join(o.Case.Needed, ", "))
			}
			words = append(words, built)
		}
		if variables != nil {
			words = append(words, "run with "+strings.Join(variables, ", "))
		}
		if words != nil {
			l = append(l, document.Item{Label: Label(o.Case), Text: strings.Join(words, "; ")})
		}
	}
	return l
}

// Matters reports whether a compile option of SQLite affects speed, safety or syntax.
// See https://www.sqlite.org/compile.html.
func Matters(option string) bool {
	name, _, _ := strings.Cut(option, "=")
	switch name {
	case "THREADSAFE", "DEFAULT_MEMSTATUS", "DQS", "DEFAULT_WAL_SYNCHRONOUS", "DEFAULT_SYNCHRONOUS",
		"DEFAULT_CACHE_SIZE", "DEFAULT_PAGE_SIZE", "DEFAULT_LOOKASIDE", "LIKE_DOESNT_MATCH_BLOBS",
		"USE_ALLOCA", "ENABLE_STAT4", "TEMP_STORE", "SECURE_DELETE", "DEBUG", "MUTEX_NOOP",
		"ENABLE_FTS3", "ENABLE_FTS3_PARENTHESIS", "ENABLE_FTS4", "ENABLE_FTS5", "ENABLE_RTREE", "ENABLE_GEOPOLY",
		"ENABLE_JSON1", "ENABLE_MATH_FUNCTIONS", "ENABLE_PERCENTILE", "ENABLE_ICU", "ENABLE_DBSTAT_VTAB",
		"ENABLE_SESSION", "SOUNDEX":
		return true
	}
	return strings.HasPrefix(name, "OMIT_") || strings.Contains(name, "MMAP")
}

// compileOptions lists the compile options in which each driver differs from another driver.
// Options for which [Matters] is false are left out.
func compileOptions(seen []*stats.Outcome) document.List {
	count := map[string]int{}
	var known []*stats.Outcome
	for _, o := range seen {
		if p := o.Proof(); p != nil && len(p.CompileOptions) > 0 {
			known = append(known, o)
			for _, c := range slices.Compact(slices.Sorted(slices.Values(p.CompileOptions))) {
				count[c]++
			}
		}
	}
	var l document.List
	differ := false
	for _, o := range known {
		var words []string
		for _, c := range slices.Compact(slices.Sorted(slices.Values(o.Proof().CompileOptions))) {
			if Matters(c) && count[c] < len(known) {
				words = append(words, c)
				differ = true
			}
		}
		if words == nil {
			words = []string{"none of the others' options"}
		}
		l = append(l, document.Item{Label: Label(o.Case), Text: strings.Join(words, " ")})
	}
	if !differ {
		return nil
	}
	return l
}

func unasked(a *stats.Analysis) document.List {
	var where Groups[document.Item, string] // titles of groups, by the item about a setting and its values
	all := 0
	competing := map[string][]string{} // workloads in which a setting can change times, by setting
	for _, g := range a.Groups {
		for _, it := range Deciding(g.Outcomes) {
			competing[it.Label] = distinct.Append(competing[it.Label], g.Workload)
		}
		if slices.ContainsFunc(g.Outcomes, func(o *stats.Outcome) bool { return o.Proof() != nil }) {
			all++
		}
		for _, it := range unset(g.Outcomes, len(g.Outcomes)) {
			where.Add(it, strings.TrimSpace(g.Workload+" "+g.Variant()))
		}
	}
	var l document.List
	for _, it := range where.Keys {
		if in := where.Of[it]; len(in) < all {
			it.Text += " (" + document.SomeOf(in, 6) + ")"
		}
		switch in := competing[it.Label]; {
		case !aboutLocks(it.Label):
		case in == nil:
			it.Text += "; without effect here, since each pool has one connection"
		default:
			it.Text += "; it can matter only where connections compete: " + strings.Join(in, ", ")
		}
		l = append(l, it)
	}
	return l
}

// unset lists the settings that the workload does not set, and in which the outcomes differ. For
// each value of a setting it names at most as many drivers as the parameter "most".
func unset(outcomes []*stats.Outcome, most int) (l document.List) {
	got := map[string]map[string][]string{} // drivers by setting and value
	for _, o := range outcomes {
		p := o.Proof()
		if p == nil {
			continue
		}
		for name, value := range readBack(p) {
			if _, asked := o.Case.Settings[name]; asked || changes(o.Case, name) {
				continue
			}
			if got[name] == nil {
				got[name] = map[string][]string{}
			}
			got[name][value] = append(got[name][value], Label(o.Case))
		}
	}
	for _, name := range stats.SettingNames(got) {
		if len(got[name]) < 2 {
			continue
		}
		l = append(l, document.Item{Label: name, Text: document.Join(slices.Sorted(maps.Keys(got[name])), "; ", func(value string) string {
			return value + " with " + document.FirstOf(got[name][value], most, ", ")
		})})
	}
	return l
}

// UnsetIn lists the settings that a table's workload does not set and that can change the table's
// times. See [Deciding].
func UnsetIn(t *stats.Table) document.List {
	outcomes := document.Map(t.Measured(), func(c *stats.Cell) *stats.Outcome { return c.Outcome })
	return Deciding(outcomes)
}

// Deciding lists the settings that can change times because the workload does not set them and the
// drivers differ in them. Settings about locks are listed only if several connections compete.
func Deciding(outcomes []*stats.Outcome) document.List {
	competing := slices.ContainsFunc(outcomes, func(o *stats.Outcome) bool {
		p := o.Proof()
		return p != nil && len(p.Connections) > 1
	})
	return slices.DeleteFunc(unset(outcomes, 3), func(it document.Item) bool {
		return !competing && aboutLocks(it.Label)
	})
}

func aboutLocks(setting string) bool { return setting == "busy_timeout" || setting == "txlock" }

// UnsetInRun returns the number of settings that [UnsetIn] lists for all tables of a run, without
// duplicates. The result "text" is a sentence about them: it names the settings and the workloads
// that do not set them.
func UnsetInRun(a *stats.Analysis) (count int, text string) {
	var by Groups[string, string] // names of settings by workload
	names := map[string]bool{}
	for _, g := range a.Groups {
		for _, t := range g.Tables {
			for _, it := range UnsetIn(t) {
				names[it.Label] = true
				AddOnce(&by, g.Workload, it.Label)
			}
		}
	}
	if len(names) == 0 {
		return 0, ""
	}
	var alike Groups[string, string] // workloads by the settings that they leave unset
	for _, w := range by.Keys {
		alike.Add(document.Or(by.Of[w]), w)
	}
	words := document.Map(alike.Keys, func(unset string) string { return unsetBy(alike.Of[unset], unset) })
	return len(names), Sentence(CaveatUnset, document.And(words))
}

// unsetBy says that workloads leave settings unset.
func unsetBy(workloads []string, settings string) string {
	return document.AndOthers(workloads) + " " + document.Verb(len(workloads), "doesn't set", "don't set") + " " + settings
}

// UnsetItem warns of a setting that workloads leave unset. The parameter "values" has the drivers'
// defaults.
func UnsetItem(workloads []string, setting, values string) document.Item {
	return KindOf(CaveatUnset).Item(Sentence(CaveatUnset, unsetBy(workloads, setting)) + ": " + values)
}

func changes(c *result.Case, name string) bool {
	in := slices.Collect(maps.Values(c.InForce))
	return slices.ContainsFunc(in, func(s driver.Settings) bool { return s[name] != c.Settings[name] })
}

// readBack returns the settings that the connections of a pool read back. If connections read
// different values of a setting, the values are joined by slashes.
func readBack(p *protocol.Proof) driver.Settings {
	all := driver.Settings{}
	for _, c := range p.Connections {
		for name, value := range c {
			switch old, ok := all[name]; {
			case !ok:
				all[name] = value
			case !slices.Contains(strings.Split(old, "/"), value):
				all[name] = old + "/" + value
			}
		}
	}
	return all
}

// AllCompileOptions lists all compile options of each driver's SQLite, as the worker reported them.
func AllCompileOptions(a *stats.Analysis) document.Details {
	var l document.List
	for _, o := range DriverOrder(a) {
		if p := o.Proof(); p != nil {
			l.Note(document.Item{Label: Label(o.Case), Text: strings.Join(p.CompileOptions, " ")})
		}
	}
	return document.Details{Title: "Compile options of SQLite, all of each driver", Body: document.Document{l}}
}
