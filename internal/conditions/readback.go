package conditions

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// refusedFor returns the settings that connections read back during a trial, if the case was
// refused for them. It returns nil if the case was not refused, or was refused when its connections
// were opened.
func refusedFor(o *stats.Outcome) *result.ReadBack {
	for _, t := range o.Trials {
		if t.Status == result.Refused && t.ReadBack != nil {
			return t.ReadBack
		}
	}
	return nil
}

// alikeConnections groups the connections that read back the same values of the named settings. A
// group has the numbers of its connections, counted from 1. The key of a group has its values,
// separated by zero bytes. Callers split the key to put the values into a table.
func alikeConnections(r *result.ReadBack, names []string) (alike Groups[string, int]) {
	for i, got := range r.Connections {
		var words []string
		for _, n := range names {
			word := strings.ReplaceAll(cmp.Or(got[n], document.Absent), "\x00", " ")
			if want, ok := r.Wanted[n]; ok && got[n] != want {
				word = "✗ " + word
			}
			words = append(words, word)
		}
		alike.Add(strings.Join(words, "\x00"), i+1)
	}
	return alike
}

// ProvenSettings lists the settings that the connections of the given cases read back, with the
// changes that a phase made. The result "same" has the settings that are equal in all cases, as
// name=value. The result "differing" has the other settings, and says which drivers have which
// value. Settings that a workload or the user requested come first.
func ProvenSettings(outcomes []*stats.Outcome) (same, differing []string) {
	var values Groups[string, driver.Settings] // settings that connections read back, by driver
	asked, all := map[string]bool{}, driver.Settings{}
	for _, o := range outcomes {
		p := o.Proof()
		if p == nil {
			continue
		}
		got := readBack(p)
		for _, phase := range o.Case.Phases {
			for name, value := range o.Case.InForce[phase] {
				if last := got[name]; last != "" && last != value && !strings.HasSuffix(last, " then "+value) {
					got[name] = last + " then " + value
				}
			}
		}
		for name := range o.Case.Settings {
			asked[name] = true
		}
		values.Add(Label(o.Case), got)
		maps.Copy(all, got)
	}
	names := stats.SettingNames(all)
	slices.SortStableFunc(names, func(x, y string) int {
		return cmp.Compare(map[bool]int{true: 0, false: 1}[asked[x]], map[bool]int{true: 0, false: 1}[asked[y]])
	})
	for _, name := range names {
		var drivers Groups[string, string] // names of drivers, by the value of the setting
		for _, d := range values.Keys {
			for _, got := range values.Of[d] {
				drivers.Add(cmp.Or(got[name], "unknown"), d)
			}
		}
		if len(drivers.Keys) == 1 {
			same = append(same, name+"="+drivers.Keys[0])
			continue
		}
		slices.SortStableFunc(drivers.Keys, func(x, y string) int { return cmp.Compare(len(drivers.Of[x]), len(drivers.Of[y])) })
		most := drivers.Keys[len(drivers.Keys)-1]
		differing = append(differing, name+"="+document.Join(drivers.Keys, ", ", func(value string) string {
			if value == most && len(drivers.Of[most]) > 2 {
				return value + " with the others"
			}
			return value + " with " + document.AndOthers(drivers.Of[value])
		}))
	}
	return same, differing
}
