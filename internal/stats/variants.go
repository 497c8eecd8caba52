package stats

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Variation is the value of a parameter or setting that differs between the groups of a workload.
// It can also be the scale, with the name "scale".
type Variation struct {
	Name  string
	Value string
	Unset bool // this group does not set the parameter or setting, but other groups do
}

func (v Variation) String() string {
	if v.Unset {
		return v.Name + " not set"
	}
	return v.Name + "=" + v.Value
}

// Variant returns g.Varied as text, such as "rows=100 journal_mode=wal". It is "" if the
// workload has only one group.
func (g *Group) Variant() string { return variant(g.Varied) }

func variant(varied []Variation) string {
	words := make([]string, len(varied))
	for i, v := range varied {
		words[i] = v.String()
	}
	return strings.Join(words, " ")
}

// own returns the variations that affect the driver of a case.
func own(c *result.Case, varied []Variation) []Variation {
	has := result.OwnSettings(c.Info.Kind, c.Settings)
	return slices.DeleteFunc(slices.Clone(varied), func(v Variation) bool {
		_, set := c.Settings[v.Name]
		_, ok := has[v.Name]
		return set && !ok
	})
}

// ownKey returns a key for a case. Two cases of a driver have the same key if they differ only
// in settings that do not apply to the driver.
func ownKey(c *result.Case) string { return c.Driver + " " + sharedKey(c, c.Info.Kind) }

// sharedKey returns a key for a case. Two cases with the same work have the same key if they
// differ only in settings that do not apply to drivers of the given kind.
func sharedKey(c *result.Case, kind driver.Kind) string {
	own := *c
	own.Settings = result.OwnSettings(kind, c.Settings)
	return groupKey(&own)
}

// shareOutcomes sets the field "shared" of each group to the outcomes of other groups that are also
// valid for this group. For example, two groups may differ only in settings that do not apply to a
// driver. In that case, the driver was measured in one of the groups, and its results would be the
// same in the other group.
func (a *Analysis) shareOutcomes() {
	sharing := map[string][]*Outcome{}
	for _, o := range a.Outcomes() {
		if kind := o.Case.Info.Kind; len(result.OwnSettings(kind, o.Case.Settings)) < len(o.Case.Settings) {
			key := sharedKey(o.Case, kind)
			sharing[key] = append(sharing[key], o)
		}
	}
	for _, g := range a.Groups {
		for _, o := range sharing[sharedKey(g.Outcomes[0].Case, "")] {
			if is := func(x *Outcome) bool { return x.Case.Driver == o.Case.Driver }; !slices.ContainsFunc(g.Outcomes, is) && !slices.ContainsFunc(g.shared, is) {
				g.shared = append(g.shared, o)
			}
		}
	}
}

// changes returns a text about group g. It has the workload parameters of g, and the settings in which g
// differs from the group "first" of the same workload. If g differs in no setting, the text ends with
// "as now".
func (g *Group) changes(first *Group) string {
	var words []string
	changed := false
	for i, v := range g.Varied {
		if _, parameter := g.Outcomes[0].Case.Parameters[v.Name]; parameter || v.Name == "scale" {
			words = append(words, v.String())
		} else if v != first.Varied[i] {
			words, changed = append(words, v.String()), true
		}
	}
	if !changed {
		words = append(words, "as now")
	}
	return strings.Join(words, " ")
}

// nameVariants sets the field Varied of each group.
func (a *Analysis) nameVariants() {
	byWorkload := map[string][]*Group{}
	for _, g := range a.Groups {
		byWorkload[g.Workload] = append(byWorkload[g.Workload], g)
	}
	for _, groups := range byWorkload {
		parameters, settings := map[string]int64{}, driver.Settings{} // all names; the values do not matter
		for _, g := range groups {
			maps.Copy(parameters, g.Outcomes[0].Case.Parameters)
			maps.Copy(settings, g.Outcomes[0].Case.Settings)
		}
		vary := func(of func(*result.Case) Variation) {
			list := make([]Variation, len(groups))
			for i, g := range groups {
				list[i] = of(g.Outcomes[0].Case)
			}
			if !slices.ContainsFunc(list, func(v Variation) bool { return v != list[0] }) {
				return
			}
			for i, g := range groups {
				g.Varied = append(g.Varied, list[i])
			}
		}
		vary(func(c *result.Case) Variation { return Variation{Name: "scale", Value: c.Scale} })
		for _, name := range slices.Sorted(maps.Keys(parameters)) {
			vary(func(c *result.Case) Variation { return variation(c.Parameters, name) })
		}
		for _, name := range SettingNames(settings) {
			vary(func(c *result.Case) Variation { return variation(c.Settings, name) })
		}
	}
}

func variation[V any](values map[string]V, name string) Variation {
	v, ok := values[name]
	if !ok {
		return Variation{Name: name, Unset: true}
	}
	return Variation{Name: name, Value: fmt.Sprint(v)}
}

// SettingNames returns the names of settings in the order of [driver.Vocabulary].
func SettingNames[V any](settings map[string]V) []string {
	return slices.SortedFunc(maps.Keys(settings), compareSettings)
}

// SettingWords formats settings as name=value, in the order of [driver.Vocabulary].
func SettingWords(settings driver.Settings) string {
	words := SettingNames(settings)
	for i, name := range words {
		words[i] = name + "=" + settings[name]
	}
	return strings.Join(words, " ")
}

func compareSettings(a, b string) int {
	place := func(name string) int {
		i := slices.IndexFunc(driver.Vocabulary, func(d driver.SettingDef) bool { return d.Name == name })
		if i < 0 {
			return len(driver.Vocabulary)
		}
		return i
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}
