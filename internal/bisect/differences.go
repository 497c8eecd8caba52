package bisect

import (
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Differences lists how two releases differ: in the version of SQLite that their workers reported,
// in its compile options, and in the versions of linked modules.
func Differences(before, after *protocol.Proof, linkedBefore, linkedAfter map[string]string) []Difference {
	var list []Difference
	add := func(what, a, b string) {
		if a != b {
			list = append(list, Difference{What: what, Before: a, After: b})
		}
	}
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
	for _, path := range names(linkedBefore, linkedAfter) {
		add(path, linkedBefore[path], linkedAfter[path])
	}
	return list
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
