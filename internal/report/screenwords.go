package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func facts(a *stats.Analysis, said *Answers, opts Options) (d document.Document) {
	run := a.Run
	add := func(label, t string, forms ...int) {
		s := document.Section{Rank: rankLast}
		for _, most := range forms {
			f := document.Form{Body: document.Document{document.List{{Label: label, Text: t, Most: most}}}}
			if most == 0 {
				f = document.Form{}
			}
			s.Forms = append(s.Forms, f)
		}
		if t != "" {
			d = append(d, s)
		}
	}
	add("how sure", HowSure(a, said, opts), 2, 1)
	add("settings", inForceInRun(a), 2, 1)
	words := []string{fmt.Sprint(run.ID), run.Started.UTC().Format("2006-01-02 15:04 MST")}
	if !run.Ended.IsZero() {
		words = append(words, document.Elapsed(run.Ended.Sub(run.Started)))
	}
	if opts.Study == nil && run.Scale != "" {
		words = append(words, "scale "+run.Scale)
	}
	if m := run.Machine; m.Cores > 0 {
		words = append(words, fmt.Sprintf("%d × %s", m.Cores, m.CPU))
	}
	add("run", strings.Join(words, " · "), 1, 0)
	return d
}

// HowSure says how many rounds the verdicts of a run rest on, and how often verdicts may be wrong.
func HowSure(a *stats.Analysis, said *Answers, opts Options) string {
	sure := []string{document.Counted(int64(rounds(a)), "round")}
	if a.Run.Compares != nil && opts.Study == nil {
		sure = append(sure, document.Share(1-stats.Doubt)+" intervals")
		said = &Answers{} // empty, because the tables of a comparing run are not shown
	}
	if n := said.leastRounds(); n > 0 && n < rounds(a) {
		sure[0] = fmt.Sprintf("%d–%s", n, sure[0])
	}
	if slices.ContainsFunc(said.Tables, func(r Ranking) bool { return r.certain() }) {
		sure = append(sure, document.Percent(a.Confidence)+" intervals")
	}
	if r := a.Reliability; r.Telling > 0 && opts.Study == nil && a.Run.Compares == nil {
		sure = append(sure, fmt.Sprintf("at most %g%% of tables tell equal drivers apart", 100*stats.Alpha))
	}
	return strings.Join(sure, ", ")
}

// leastRounds returns the smallest number of rounds of any ranking, or 0 if nothing is ranked.
// Rankings differ because a case ends when its figures are precise enough.
func (s *Answers) leastRounds() (least int) {
	rankings := s.Tables
	if s.Overall != nil {
		rankings = append(slices.Clone(rankings), *s.Overall)
	}
	for _, r := range rankings {
		if r.Rounds > 0 && (least == 0 || r.Rounds < least) {
			least = r.Rounds
		}
	}
	return least
}

func (r *Ranking) certain() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool {
		return row.Median != nil && row.Median.Interval != nil || row.Ratio != nil && row.Ratio.Interval != nil
	})
}

// inForceInRun lists the settings that have the same value in all workloads, and names the settings
// whose values differ.
func inForceInRun(a *stats.Analysis) string {
	count, where := map[string]int{}, []string{}
	for _, g := range a.Groups {
		for _, word := range conditions.Settings(g.Outcomes[0].Case) {
			if count[word]++; count[word] == 1 {
				where = append(where, word)
			}
		}
	}
	var all, names []string
	for _, word := range where {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case count[word] == len(a.Groups):
			all = append(all, word)
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	switch {
	case names == nil:
		return strings.Join(all, " ")
	case all == nil:
		return "they differ by phase: " + strings.Join(names, ", ")
	}
	return strings.Join(all, " ") + "; differ by phase: " + strings.Join(names, ", ")
}

// Labels has the labels of caveats by code. Caveats that are neither here nor in [Noises] are
// labeled as warnings.
var Labels = map[string]string{
	CaveatEnded: "cut short", CaveatFewRounds: "not ranked", CaveatUnranked: "not ranked", CaveatErrors: "errors", CaveatTooShort: "too short",
	CaveatUnset: "defaults", CaveatAdded: ownCost + " own cost", CaveatRisk: "risk", CaveatDefect: "known defect", CaveatUnsettled: "precision", CaveatSummary: "left out", CaveatLeftOut: "left out", CaveatUnsupported: CaveatUnsupported,
	result.WarningUnverified: "unverified", result.WarningSync: "databases", string(result.Wrong): string(result.Wrong),
	string(result.Refused): string(result.Refused), string(result.Failed): string(result.Failed),
	string(result.Unavailable): string(result.Unavailable), string(stats.NotMeasured): string(stats.NotMeasured),
}

// Noises has a few words for each warning about a noisy machine, by code. All such warnings share
// one line.
var Noises = map[string]func(n int) string{
	result.WarningCalibration: func(n int) string { return "speed changed in " + document.Counted(int64(n), "round") },
	result.WarningSteal:       func(int) string { return "CPU time was stolen" },
	result.WarningLoad:        func(int) string { return "other processes ran" },
	result.WarningRobbed:      func(int) string { return "trials were robbed" },
	result.WarningFsync:       func(int) string { return "the disk's speed changed" },
	result.WarningGovernor:    func(int) string { return "clock rate not fixed" },
	result.WarningVirtual:     func(int) string { return "virtual machine" },
}

// AddNoise appends the words for a caveat about a noisy machine to said, which has the words for
// the noise caveats before it.
func (c *Caveat) AddNoise(said string) string {
	if said == "" {
		said = "times are doubtful: "
	} else {
		said += ", "
	}
	return said + Noises[c.Code](c.Count)
}

// caveatItems returns an item for each caveat, and one for all caveats about a noisy machine.
// marked says whether rows can be marked with [ownCost].
func caveatItems(list []Caveat, marked bool) (items document.List) {
	noise := -1 // index in items of the item about a noisy machine
	for _, c := range list {
		if _, ok := Noises[c.Code]; ok {
			if noise < 0 {
				noise = len(items)
				items = append(items, document.Item{Label: "noise", Alarm: true})
			}
			items[noise].Text = c.AddNoise(items[noise].Text)
			continue
		}
		it := document.Item{Label: cmp.Or(Labels[c.Code], "warning"), Text: c.Text, Alarm: c.Code != CaveatLeftOut && c.Code != CaveatUnsupported}
		if !marked {
			it.Label = strings.TrimPrefix(it.Label, ownCost+" ")
		}
		if c.Code == CaveatRisk {
			it.Most = -1 // never cut, because a part of a risk could be misread
		}
		items = append(items, it)
	}
	slices.SortStableFunc(items, func(x, y document.Item) int { // the item about precision is the least important, so it comes last
		return cmp.Compare(btoi(x.Label == Labels[CaveatUnsettled]), btoi(y.Label == Labels[CaveatUnsettled]))
	})
	return items
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
