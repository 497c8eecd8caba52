package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// seen returns the first outcome of each driver, one with a proof if there is any.
func seen(a *stats.Analysis) (seen []*stats.Outcome) {
	for _, g := range a.Groups {
		for _, o := range g.Outcomes {
			i := slices.IndexFunc(seen, func(s *stats.Outcome) bool { return s.Case.Driver == o.Case.Driver })
			switch {
			case i < 0:
				seen = append(seen, o)
			case seen[i].Proof() == nil && o.Proof() != nil:
				seen[i] = o
			}
		}
	}
	return seen
}

// drivers says which drivers were measured: versions, kinds, and what makes variants.
func drivers(a *stats.Analysis) document {
	seen := seen(a)
	if len(seen) == 0 {
		return nil
	}
	g := grid{columns: []column{{title: "driver"}, {title: "module", drop: 4}, {title: "version", drop: 2}, {title: "SQLite"},
		{title: "kind"}, {title: "interface"}, {title: "runtime", drop: 3}}}
	for _, o := range seen {
		module, v, runtime := o.Case.Info.Module, absent, absent
		if p := o.Proof(); p != nil {
			module, v, runtime = cmp.Or(p.Module, module), cmp.Or(p.ModuleVersion, absent), cmp.Or(p.Runtime, absent)
			if o.Case.Build["directory"] != "" {
				v = cmp.Or(revision(o.Case.Build), absent)
			}
		}
		g.rows = append(g.rows, []string{label(o.Case), cmp.Or(module, absent), v, sqliteVersion(o),
			cmp.Or(string(o.Case.Info.Kind), absent), cmp.Or(string(o.Case.Info.Interface), absent), runtime})
	}
	d := document{heading{2, "Drivers"}, g}
	if l := variants(seen); l != nil {
		d = append(d, paragraph{text: "What makes the variants, as their workers prove it:"}, l)
	}
	return append(d, driverDefects(a)...)
}

// driverNotes says what is read last: how the drivers differ in compile options, and in
// settings that nobody asked for.
func driverNotes(a *stats.Analysis) (d document) {
	if l := compileOptions(seen(a)); l != nil {
		d = append(d, paragraph{text: "Compile options of SQLite that matter and differ:"}, l)
	}
	if l := unasked(a); l != nil {
		d = append(d, paragraph{text: "Settings that nobody asked for and that differ:"}, l)
	}
	if d == nil {
		return nil
	}
	return append(document{heading{2, "How the drivers differ"}}, d...)
}

// variants says what was proven of the variants of drivers.
func variants(seen []*stats.Outcome) list {
	var l list
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
			l = append(l, item{label: label(o.Case), text: strings.Join(words, "; ")})
		}
	}
	return l
}

// matters reports whether a compile option affects speed, safety or syntax.
// See https://www.sqlite.org/compile.html.
func matters(option string) bool {
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

// compileOptions lists, by driver, the options that matter and that some other driver
// lacks or has with a different value.
func compileOptions(seen []*stats.Outcome) list {
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
	var l list
	differ := false
	for _, o := range known {
		var words []string
		for _, c := range slices.Compact(slices.Sorted(slices.Values(o.Proof().CompileOptions))) {
			if matters(c) && count[c] < len(known) {
				words = append(words, c)
				differ = true
			}
		}
		if words == nil {
			words = []string{"none of the others' options"}
		}
		l = append(l, item{label: label(o.Case), text: strings.Join(words, " ")})
	}
	if !differ {
		return nil
	}
	return l
}

// unasked lists the settings that a workload leaves to the library and that differ
// between its drivers.
func unasked(a *stats.Analysis) list {
	var where groups[item, string] // the groups that each setting with its values is about
	all := 0
	competing := map[string][]string{} // by setting, the workloads in which it can change times
	for _, g := range a.Groups {
		for _, it := range deciding(g.Outcomes) {
			if !slices.Contains(competing[it.label], g.Workload) {
				competing[it.label] = append(competing[it.label], g.Workload)
			}
		}
		if slices.ContainsFunc(g.Outcomes, func(o *stats.Outcome) bool { return o.Proof() != nil }) {
			all++
		}
		for _, it := range unset(g.Outcomes, len(g.Outcomes)) {
			where.add(it, strings.TrimSpace(g.Workload+" "+g.Variant()))
		}
	}
	var l list
	for _, it := range where.keys {
		if in := where.of[it]; len(in) < all {
			it.text += " (" + someOf(in, 6) + ")"
		}
		switch in := competing[it.label]; {
		case !aboutLocks(it.label):
		case in == nil:
			it.text += "; without effect here, since each pool has one connection"
		default:
			it.text += "; it can matter only where connections compete: " + strings.Join(in, ", ")
		}
		l = append(l, it)
	}
	return l
}

// unset lists the settings that are not set and that differ between the outcomes of a
// group. Of the drivers with one value, the first most are named.
func unset(outcomes []*stats.Outcome, most int) (l list) {
	got := map[string]map[string][]string{} // by setting and value, the drivers
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
			got[name][value] = append(got[name][value], label(o.Case))
		}
	}
	for _, name := range stats.SettingNames(got) {
		if len(got[name]) < 2 {
			continue
		}
		var words []string
		for _, value := range slices.Sorted(maps.Keys(got[name])) {
			drivers, more := got[name][value], ""
			if len(drivers) > most {
				drivers, more = drivers[:most], fmt.Sprintf(" and %d more", len(drivers)-most)
			}
			words = append(words, fmt.Sprintf("%s with %s%s", value, strings.Join(drivers, ", "), more))
		}
		l = append(l, item{label: name, text: strings.Join(words, "; ")})
	}
	return l
}

// unsetIn lists the settings of [unset] that can change the times of a table.
func unsetIn(t *stats.Table) list {
	var outcomes []*stats.Outcome
	for _, c := range t.Measured() {
		outcomes = append(outcomes, c.Outcome)
	}
	return deciding(outcomes)
}

// deciding lists the settings of [unset] that can change times. How long to wait for a
// lock, and when to take one, can do so only if connections compete.
func deciding(outcomes []*stats.Outcome) list {
	competing := slices.ContainsFunc(outcomes, func(o *stats.Outcome) bool {
		p := o.Proof()
		return p != nil && len(p.Connections) > 1
	})
	return slices.DeleteFunc(unset(outcomes, 3), func(it item) bool {
		return !competing && aboutLocks(it.label)
	})
}

// aboutLocks reports whether a setting matters only if connections compete.
func aboutLocks(setting string) bool { return setting == "busy_timeout" || setting == "txlock" }

// unsetInRun counts and names the settings of [unsetIn], with the workloads.
func unsetInRun(a *stats.Analysis) (count int, text string) {
	var where groups[string, string]
	for _, g := range a.Groups {
		for _, t := range g.Tables {
			for _, it := range unsetIn(t) {
				if !slices.Contains(where.of[it.label], g.Workload) {
					where.add(it.label, g.Workload)
				}
			}
		}
	}
	var words []string
	for _, name := range where.keys {
		words = append(words, name+" in "+strings.Join(where.of[name], ", "))
	}
	if words == nil {
		return 0, ""
	}
	return len(words), "nobody set " + strings.Join(words, "; ")
}

// changes reports whether the workload itself changes a setting.
func changes(c *result.Case, name string) bool {
	for _, s := range c.InForce {
		if s[name] != c.Settings[name] {
			return true
		}
	}
	return false
}

// readBack returns what the connections of a pool read back. A setting that is not the
// same on all connections has all its values.
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

// allCompileOptions has the compile options of each driver's SQLite, as it proved them.
func allCompileOptions(a *stats.Analysis) details {
	var l list
	for _, o := range driverOrder(a) {
		if p := o.Proof(); p != nil {
			l.note(item{label: label(o.Case), text: strings.Join(p.CompileOptions, " ")})
		}
	}
	return details{title: "Compile options of SQLite, all of each driver", body: document{l}}
}

// driverOrder returns an outcome of each driver: in the order of the summary, or else in
// that of the run.
func driverOrder(a *stats.Analysis) (list []*stats.Outcome) {
	add := func(o *stats.Outcome) {
		i := slices.IndexFunc(list, func(x *stats.Outcome) bool { return x.Case.Driver == o.Case.Driver })
		switch {
		case i < 0:
			list = append(list, o)
		case list[i].Proof() == nil && o.Proof() != nil: // whose version is known
			list[i] = o
		}
	}
	outcomes := outcomesByCase(a)
	for _, d := range a.Overall.Drivers {
		add(outcomes[d.Case.ID])
	}
	for _, g := range a.Groups {
		for _, o := range g.Outcomes {
			add(o)
		}
	}
	return list
}
