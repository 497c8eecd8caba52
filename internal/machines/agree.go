package machines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// firstOn says which driver is the fastest on one machine.
type firstOn struct {
	machine string
	names   []string // the fastest driver, followed by drivers that are not significantly slower
	ranked  []string // all drivers that the machine ranks
}

// whoIsFirst says which driver is the fastest on each machine: in the summary over all tables of the
// machine's report or, if the report has only one table, in that table. It returns "" if fewer than two
// machines rank drivers. Runs that compare only two drivers or settings do not rank drivers.
func whoIsFirst(all []OnMachine, m *stats.Machines) string {
	var list []firstOn
	for _, m := range all {
		if m.Analysis == nil || m.Analysis.Run.Compares != nil {
			continue
		}
		said := report.AnswersOf(m.Analysis, m.Options)
		r := said.Overall
		if r == nil && len(said.Tables) == 1 {
			r = &said.Tables[0]
		}
		if r == nil || r.Best == nil || len(r.Choices()) < 2 {
			continue
		}
		f := firstOn{machine: m.Name, names: append([]string{r.Best.Name}, r.Tied...)}
		for _, i := range r.Choices() {
			f.ranked = append(f.ranked, r.Rows[i].Name)
		}
		list = append(list, f)
	}
	if len(list) < 2 {
		return ""
	}
	var first conditions.Groups[string, string]
	for _, f := range list {
		first.Add(f.words(), f.machine)
	}
	if len(first.Keys) == 1 {
		return fmt.Sprintf("First on %s (%s): %s.", together(len(list)), strings.Join(first.Of[first.Keys[0]], ", "), first.Keys[0])
	}
	words := document.Join(first.Keys, "; ", func(who string) string { return fmt.Sprintf("%s: %s", strings.Join(first.Of[who], ", "), who) })
	switch {
	case turnsAround(list):
		return "Who comes first depends on the machine. " + words + "."
	case m.Count(stats.Reversed) == 0:
		words += "; no comparison turns around"
	}
	return "First on " + words + "."
}

func (f *firstOn) words() string {
	if len(f.names) == 1 {
		return f.names[0]
	}
	return document.Or(slices.Sorted(slices.Values(f.names))) + ", tied"
}

// turnsAround reports whether two machines contradict each other: on each of them, the fastest
// driver of the other machine is clearly slower than its own fastest driver.
func turnsAround(list []firstOn) bool {
	for i, f := range list {
		for _, g := range list[:i] {
			x, y := f.names[0], g.names[0]
			if slices.Contains(f.ranked, y) && !slices.Contains(f.names, y) && slices.Contains(g.ranked, x) && !slices.Contains(g.names, x) {
				return true
			}
		}
	}
	return false
}

// claimsOn says on how many machines the claims of a published study hold. It returns "" if no claim
// was measured.
func claimsOn(all []OnMachine) string {
	var verdicts []map[report.Verdict][]string // names of machines by verdict, for each claim
	study := ""
	for _, m := range all {
		if m.Analysis == nil || m.Options.Study == nil {
			continue
		}
		study = m.Options.Study.Name
		for i, c := range m.Options.Study.Claims {
			if i == len(verdicts) {
				verdicts = append(verdicts, map[report.Verdict][]string{})
			}
			verdicts[i][c.Verdict] = append(verdicts[i][c.Verdict], m.Name)
		}
	}
	if len(verdicts) == 0 {
		return ""
	}
	words := []string{"hold everywhere", "hold nowhere", "depend on the machine", "hold on some machines and are open on others",
		"do not hold on some machines and are open on others", "are open"}
	count := make([]int, len(words))
	for _, v := range verdicts {
		holds, not, open := len(v[report.Holds]) > 0, len(v[report.DoesNotHold]) > 0, len(v[report.CannotBeTold]) > 0
		switch {
		case holds && not:
			count[2]++
		case holds && !open:
			count[0]++
		case not && !open:
			count[1]++
		case holds:
			count[3]++
		case not:
			count[4]++
		default:
			count[5]++
		}
	}
	var parts []string
	for i, n := range count {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[i]))
		}
	}
	return fmt.Sprintf("Of %s of %s, %s.", document.Counted(int64(len(verdicts)), "claim"), study, strings.Join(parts, ", "))
}

func agreements(all []OnMachine, m *stats.Machines) string {
	n := len(m.Pairs)
	if n == 0 {
		return "Nothing was compared on more than one machine."
	}
	measured := slices.DeleteFunc(slices.Clone(all), func(x OnMachine) bool { return !x.Measured() })
	where := together(len(measured))
	same := map[stats.Verdict]int{} // for comparisons of two sides: number of cells with this verdict on all machines
	for _, p := range m.Pairs {
		if p.Agreement == stats.Everywhere {
			for _, s := range p.Said {
				if s.Verdict != "" {
					same[s.Verdict]++
					break
				}
			}
		}
	}
	var parts []string
	add := func(n int, words string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(words, n))
		}
	}
	if ofTwoSides(all) {
		add(same[stats.Slower], "slower on "+where+" in %d")
		add(same[stats.Faster], "faster on "+where+" in %d")
		add(same[stats.Same], "the same on "+where+" in %d")
		add(m.Count(stats.Reversed), "turned around in %d")
		add(m.Count(stats.Partly), "clear on some only in %d")
		add(m.Count(stats.Nowhere), "clear on none in %d")
		return fmt.Sprintf("%s against %s, in %s: %s.", m.Pairs[0].Second, m.Pairs[0].First, document.Counted(int64(n), "cell"), strings.Join(parts, ", "))
	}
	add(m.Count(stats.Everywhere), "%d the same on "+where)
	add(m.Count(stats.Reversed), "%d turned around")
	add(m.Count(stats.Partly), "%d clear on some only")
	add(m.Count(stats.Nowhere), "%d clear on none")
	return fmt.Sprintf("Of %s of two drivers, %s.", document.Counted(int64(n), "comparison"), strings.Join(parts, ", "))
}

// ofTwoSides reports whether one of the runs was made to compare two sides, for example two versions of
// a driver.
func ofTwoSides(all []OnMachine) bool {
	return slices.ContainsFunc(all, func(m OnMachine) bool { return m.Analysis != nil && m.Analysis.Run.Compares != nil })
}
