package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// SidesDiffer returns the section that compares the versions and settings of both sides, as their
// workers reported them. It has a table of the facts that differ, and a list of the facts that are
// the same. It returns nil if there is no cell for which workers of both sides reported anything.
func SidesDiffer(cells []*stats.Compared, first, second string) document.Document {
	_, same, proven := sideFacts(cells)
	if proven == 0 {
		return nil
	}
	d := document.Document{document.Heading{Level: 2, Text: "What differs between the sides"}}
	g := document.Grid{Stacks: true, Columns: []document.Column{{Title: "what"}, {Title: first}, {Title: second}, {Title: "in"}}}
	for _, f := range SideDifferences(cells) {
		g.Rows = append(g.Rows, []string{f.What, f.First, f.Second, f.In})
	}
	if g.Rows != nil {
		d = append(d, g)
	} else {
		d = append(d, document.Paragraph{Text: "Nothing that the workers reported: library, SQLite, compile options and settings are the same on both sides."})
	}
	values, count := conditions.Groups[string, string]{}, map[string]int{}
	for _, f := range same.Keys {
		values.Add(f.what, f.first)
		count[f.what] += len(same.Of[f])
	}
	var words []string
	for _, what := range values.Keys {
		list := values.Of[what]
		if count[what] < proven { // in some cells, the sides differ in this fact, so it is not listed as equal
			continue
		}
		w := what + " " + document.Or(list)
		if len(list) > 1 {
			w += ", by the cell"
		}
		words = append(words, w)
	}
	if words != nil {
		d = append(d, document.List{{Label: "the same", Text: strings.Join(words, "; ")}})
	}
	return d
}

// SideDifference is a version or setting that differs: the workers of the two sides reported
// different values.
type SideDifference struct {
	What   string `json:"what"` // what differs, such as "SQLite" or a setting
	First  string `json:"first"`
	Second string `json:"second"`
	In     string `json:"in"` // names of the cells, or "all cells"
}

// allCells is the value of [SideDifference].In for a difference that all cells have.
const allCells = "all cells"

// SideDifferences lists the facts that differ between two sides, as their workers reported them.
func SideDifferences(cells []*stats.Compared) (list []SideDifference) {
	differ, _, proven := sideFacts(cells)
	for _, f := range differ.Keys {
		where := allCells
		if names := differ.Of[f]; len(names) < proven {
			where = document.SomeOf(names, MostNamed)
		}
		list = append(list, SideDifference{f.what, f.first, f.second, where})
	}
	return list
}

// sideFact is a version or setting, with the value that the worker of each side reported.
type sideFact struct{ what, first, second string }

// sideFacts compares the facts that the workers of two sides reported. It returns the facts that
// differ and the facts that are the same, each with the names of its cells. The result "proven" is
// the number of cells for which workers of both sides reported facts.
func sideFacts(cells []*stats.Compared) (differ, same conditions.Groups[sideFact, string], proven int) {
	for _, x := range cells {
		a, b := provenFacts(x.First.Outcome, x.Phase), provenFacts(x.Second.Outcome, x.Phase)
		if a.Keys == nil || b.Keys == nil {
			continue
		}
		proven++
		for _, what := range distinct.Append(slices.Clone(a.Keys), b.Keys...) {
			f := sideFact{what, valueOf(a, what), valueOf(b, what)}
			if f.first == f.second {
				same.Add(f, CellName(x))
			} else {
				differ.Add(f, CellName(x))
			}
		}
		if a, b := optionsApart(x.First.Outcome, x.Second.Outcome); a != b {
			differ.Add(sideFact{"compile options", a, b}, CellName(x))
		}
		for _, f := range modulesApart(x.First.Outcome, x.Second.Outcome) {
			differ.Add(f, CellName(x))
		}
	}
	return differ, same, proven
}

// modulesApart lists the linked modules that differ between two versions of a library, without the
// library itself. It compares nothing if the two sides have different libraries, because these have
// few modules in common.
func modulesApart(first, second *stats.Outcome) (list []sideFact) {
	a, b := first.Case.Linked, second.Case.Linked
	module := first.Proof().Module
	if a == nil || b == nil || module != second.Proof().Module {
		return nil
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if a[path] != b[path] && path != module {
			list = append(list, sideFact{"module " + path, cmp.Or(a[path], "not linked"), cmp.Or(b[path], "not linked")})
		}
	}
	return list
}

// alsoDiffers lists further differences between the sides. It leaves out the driver, its library,
// the version of SQLite and the setting that is compared, because the names of the sides contain
// them. It returns "" if there is no cell for which workers of both sides reported anything.
func alsoDiffers(c Compared) string {
	if _, _, proven := sideFacts(c.Cells); proven == 0 {
		return ""
	}
	named := []string{"driver", "module", "SQLite"} // the names of the sides already contain these facts
	if by := c.First.Run.Compares; by != nil {
		named = append(named, by.Name)
	}
	var words []string
	for _, d := range SideDifferences(c.Cells) {
		if slices.Contains(named, d.What) {
			continue
		}
		w := fmt.Sprintf("%s %s and %s", d.What, inShort(d.First), inShort(d.Second))
		if d.In != allCells {
			w += " in " + d.In
		}
		words = append(words, w)
	}
	if words == nil {
		return "nothing else that the workers reported: flags, compile options and settings are the same"
	}
	return strings.Join(words, "; ")
}

func inShort(words string) string {
	const most = 4
	if n := len(strings.Fields(words)); n > most {
		return fmt.Sprintf("%d others", n)
	}
	return words
}

func valueOf(facts conditions.Groups[string, string], what string) string {
	if values := facts.Of[what]; values != nil {
		return values[0]
	}
	return "not set"
}

// provenFacts returns the versions and settings that a worker reported for a phase of a case, by
// name. It returns no keys if no worker reported any.
func provenFacts(o *stats.Outcome, phase string) (facts conditions.Groups[string, string]) {
	p := o.Proof()
	if p == nil {
		return facts
	}
	add := func(what, value string) {
		if value != "" {
			facts.Add(what, value)
		}
	}
	add("driver", conditions.Label(o.Case))
	version := p.ModuleVersion
	// For a driver built from a local checkout, the worker reports only the directory as its version.
	// The driver's name already contains that directory.
	if o.Case.Build["directory"] != "" {
		version = cmp.Or(conditions.Version(o), version)
	}
	add("module", strings.TrimSpace(p.Module+" "+version))
	add("SQLite", p.SQLiteVersion)
	add("runtime", p.Runtime)
	for _, more := range []map[string]string{p.Build, p.Environment, conditions.InForce(o, phase)} {
		for _, n := range stats.SettingNames(more) {
			add(n, more[n])
		}
	}
	add("connections", fmt.Sprint(len(p.Connections)))
	return facts
}

// optionsApart returns the compile options in which two outcomes differ: a has the options that only
// the first outcome has, and b has the options that only the second outcome has. Options that don't
// matter are left out. Both texts are empty if the options of one outcome are unknown.
func optionsApart(first, second *stats.Outcome) (a, b string) {
	x, y := first.Proof().CompileOptions, second.Proof().CompileOptions
	if len(x) == 0 || len(y) == 0 {
		return "", ""
	}
	only := func(of, other []string) string {
		list := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(of))), func(option string) bool {
			return !conditions.Matters(option) || slices.Contains(other, option)
		})
		return cmp.Or(strings.Join(list, " "), document.Absent)
	}
	return only(x, y), only(y, x)
}
