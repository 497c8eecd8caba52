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

// changes returns a text with the parameters of group g, and the settings in which g differs from
// another group of the same workload, the parameter "first". If g differs in no setting, the text
// ends with "as now".
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

func (a *Analysis) nameVariants() {
	byWorkload := map[string][]*Group{}
	for _, g := range a.Groups {
		byWorkload[g.Workload] = append(byWorkload[g.Workload], g)
	}
	for _, groups := range byWorkload {
		values := make([]map[string]string, len(groups)) // for each group: values of parameters and settings, by name
		var parameters, settings []string
		scales := map[string]bool{}
		for i, g := range groups {
			c := g.Outcomes[0].Case
			scales[g.Scale] = true
			values[i] = map[string]string{}
			for n, v := range c.Parameters {
				values[i]["p "+n] = fmt.Sprint(v)
				parameters = append(parameters, "p "+n)
			}
			for n, v := range c.Settings {
				values[i]["s "+n] = v
				settings = append(settings, "s "+n)
			}
		}
		slices.Sort(parameters)
		slices.SortFunc(settings, func(a, b string) int { return compareSettings(a[2:], b[2:]) })
		names := slices.Compact(append(parameters, settings...))
		for i, g := range groups {
			if len(scales) > 1 {
				g.Varied = append(g.Varied, Variation{Name: "scale", Value: g.Scale})
			}
			for _, n := range names {
				differs := slices.ContainsFunc(values, func(v map[string]string) bool {
					x, ok := v[n]
					y, ok2 := values[0][n]
					return x != y || ok != ok2
				})
				if differs {
					v, ok := values[i][n]
					g.Varied = append(g.Varied, Variation{Name: n[2:], Value: v, Unset: !ok})
				}
			}
		}
	}
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
