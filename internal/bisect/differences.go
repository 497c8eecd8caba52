package bisect

import (
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Differences lists how the two releases of a step differ, apart from the driver's library: in the
// version of SQLite that their workers reported, in its compile options, and in the versions of the
// other linked modules. It returns nil if nothing was measured.
func Differences(s *Step) []Difference {
	if s.Analysis == nil {
		return nil
	}
	var list []Difference
	add := func(what, a, b string) {
		if a != b {
			list = append(list, Difference{What: what, Before: a, After: b})
		}
	}
	sides := s.Analysis.Run.Compares
	before, after := s.Analysis.Proof(sides.First), s.Analysis.Proof(sides.Second)
	if before != nil && after != nil {
		add("SQLite", before.SQLiteVersion, after.SQLiteVersion)
		if before.SQLiteVersion == after.SQLiteVersion {
			add("SQLite source", before.SQLiteSourceID, after.SQLiteSourceID)
		}
		a, b := optionValues(before.CompileOptions), optionValues(after.CompileOptions)
		for _, name := range names(a, b) {
			add("compile option", a[name], b[name])
		}
	}
	first, second := caseOf(s.Analysis.Run, sides.First), caseOf(s.Analysis.Run, sides.Second)
	for _, path := range names(first.Linked, second.Linked) {
		if path != first.Info.Module {
			add(path, first.Linked[path], second.Linked[path])
		}
	}
	return list
}

// caseOf returns the first case of a driver. All cases of a driver have the same worker.
func caseOf(run *result.Run, driver string) *result.Case {
	return &run.Cases[slices.IndexFunc(run.Cases, func(c result.Case) bool { return c.Driver == driver })]
}

// optionValues returns compile options by name. The name of THREADSAFE=1 is THREADSAFE.
func optionValues(options []string) map[string]string {
	m := map[string]string{}
	for _, o := range options {
		name, _, _ := strings.Cut(o, "=")
		m[name] = o
	}
	return m
}

// names returns the keys of both maps, sorted and without duplicates.
func names(a, b map[string]string) []string {
	list := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(list)
	return slices.Compact(list)
}
