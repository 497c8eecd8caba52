package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// facts says what was measured, and how sure verdicts are.
func (s *runScreen) facts(a *stats.Analysis, said *Answers, opts Options, short bool) {
	run, most := a.Run, 2
	if short {
		most = 1
	}
	s.Labeled("how sure", HowSure(a, said, opts), most, false)
	if in := inForceInRun(a); in != "" {
		s.Labeled("settings", in, most, false)
	}
	if short {
		return
	}
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
	s.Labeled("run", strings.Join(words, " · "), 1, false)
}

// HowSure says how many rounds verdicts are from, and how often they may be wrong.
func HowSure(a *stats.Analysis, said *Answers, opts Options) string {
	sure := []string{document.Counted(int64(rounds(a)), "round")}
	if a.Run.Compares != nil && opts.Study == nil {
		sure = append(sure, document.Share(1-stats.Doubt)+" intervals")
		said = &Answers{} // its tables are not shown
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

// leastRounds returns the fewest rounds behind what is shown: cases end when their figures
// are settled. It returns 0 if nothing is ranked.
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

// certain reports whether any row has an interval.
func (r *Ranking) certain() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool {
		return row.Median != nil && row.Median.Interval != nil || row.Ratio != nil && row.Ratio.Interval != nil
	})
}

// inForceInRun says which settings all workloads have, and in which they differ.
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

// Labels has the words for codes of caveats that are not of noise. The others are warnings.
var Labels = map[string]string{
	CaveatEnded: "cut short", CaveatFewRounds: "not ranked", CaveatUnranked: "not ranked", CaveatErrors: "errors", CaveatTooShort: "too short",
	CaveatUnset: "defaults", CaveatAdded: ownCost + " own cost", CaveatRisk: "risk", CaveatDefect: "known defect", CaveatUnsettled: "precision", CaveatSummary: "left out", CaveatLeftOut: "left out", CaveatUnsupported: CaveatUnsupported,
	result.WarningUnverified: "unverified", result.WarningSync: "databases", string(result.Wrong): string(result.Wrong),
	string(result.Refused): string(result.Refused), string(result.Failed): string(result.Failed),
	string(result.Unavailable): string(result.Unavailable), string(stats.NotMeasured): string(stats.NotMeasured),
}

// Noises has a few words for the warnings of a noisy machine, which share a line.
var Noises = map[string]func(n int) string{
	result.WarningCalibration: func(n int) string { return "speed changed in " + document.Counted(int64(n), "round") },
	result.WarningSteal:       func(int) string { return "CPU time was stolen" },
	result.WarningLoad:        func(int) string { return "other processes ran" },
	result.WarningRobbed:      func(int) string { return "trials were robbed" },
	result.WarningFsync:       func(int) string { return "the disk's speed changed" },
	result.WarningGovernor:    func(int) string { return "clock rate not fixed" },
	result.WarningVirtual:     func(int) string { return "virtual machine" },
}

// AddNoise adds a caveat of a noisy machine to what is said of others.
func (c *Caveat) AddNoise(said string) string {
	if said == "" {
		said = "times are doubtful: "
	} else {
		said += ", "
	}
	return said + Noises[c.Code](c.Count)
}

// caveats returns the lines of what to beware of: all of them shorter if there is not
// enough room, and then without the last.
func (s *runScreen) caveats(list []Caveat, room int) []string {
	var items []document.Item
	noise := -1 // its place in items
	for _, c := range list {
		if _, ok := Noises[c.Code]; ok {
			if noise < 0 {
				noise = len(items)
				items = append(items, document.Item{Label: "noise", Alarm: true})
			}
			items[noise].Text = c.AddNoise(items[noise].Text)
			continue
		}
		label := cmp.Or(Labels[c.Code], "warning")
		if !s.marked {
			label = strings.TrimPrefix(label, ownCost+" ")
		}
		items = append(items, document.Item{Label: label, Text: c.Text, Alarm: c.Code != CaveatLeftOut && c.Code != CaveatUnsupported})
	}
	// Why a case has no figures can be long. Risks are never cut.
	type most struct{ why, other int }
	write := func(it document.Item, m most) {
		n := m.other
		switch {
		case it.Label == Labels[CaveatRisk]:
			n = math.MaxInt
		case slices.Contains(noFigures, it.Label):
			n = m.why
		}
		s.Labeled(it.Label, it.Text, n, it.Alarm)
	}
	shorter := []most{{4, 4}, {4, 2}, {3, 1}, {2, 1}, {1, 1}}
	for _, m := range shorter {
		lines := s.Section(func() {
			for _, it := range items {
				write(it, m)
			}
		})
		if len(lines) <= room {
			return lines
		}
	}
	var lines []string
	left := 0
	// How precise figures are says least.
	last := func(it document.Item) bool { return it.Label == Labels[CaveatUnsettled] }
	items = append(slices.DeleteFunc(slices.Clone(items), last), slices.DeleteFunc(items, func(it document.Item) bool { return !last(it) })...)
	for _, it := range items {
		more := s.Section(func() { write(it, shorter[len(shorter)-1]) })
		if left > 0 || len(lines)+len(more) > room-1 {
			left++
			continue
		}
		lines = append(lines, more...)
	}
	return append(lines, s.Section(func() { s.Clipped(fmt.Sprintf("and %d more to beware of", left), "", "", 1, document.Alarm) })...)
}

// shortTie shortens what [tiedWith] says.
var shortTie = strings.NewReplacer("tied with ", "tied ", " and the floor", ", floor", "the floor", "floor")

// valuesOf returns the name of a row without those of settings: the driver and the values.
func valuesOf(name string) string {
	words := strings.Fields(name)
	for i, w := range words {
		if _, value, ok := strings.Cut(w, "="); ok {
			words[i] = value
		}
	}
	return strings.Join(words, " ")
}

// shownVersion returns the version, unless the name has it, or is of settings.
func (row *Row) shownVersion() string {
	if strings.ContainsAny(row.Name, "@= ") {
		return ""
	}
	return row.Version
}

// detail says how much a list of answers says of each: the spread of its figure, and of what
// is tied with the best the names, or in words how many there are.
type detail struct{ spreads, names, words bool }

// allDetails are what there may be room for, the most first.
var allDetails = []detail{{spreads: true, names: true}, {spreads: true, words: true}, {words: true}, {spreads: true}, {}}

// listed is the answer of a table in a few words: the table, the best and what is tied with
// it, and its ratio or time.
func (s *runScreen) listed(r *Ranking, d detail) (words [3]string) {
	words[0] = s.Plain(r.Table.String())
	if r.Best == nil {
		words[1] = "too few rounds"
		return words
	}
	words[1] = s.Plain(r.Best.Name) + r.mark()
	switch n := len(r.Tied); {
	case n > 0 && d.names:
		words[1] += s.Plain(", " + strings.Join(r.Tied, ", "))
	case n > 0 && d.words:
		words[1] += fmt.Sprintf(" and %d more", n)
	case n > 0:
		words[1] += fmt.Sprintf(" +%d", n)
	}
	row := r.Rows[slices.IndexFunc(r.Rows, func(row Row) bool { return row.Case == r.Best.Case })]
	switch {
	case r.Best.Ratio != nil && d.spreads:
		words[2] = s.Plain(document.Times(r.Best.Ratio.Median) + " " + document.Spread(*r.Best.Ratio))
	case r.Best.Ratio != nil:
		words[2] = document.Times(r.Best.Ratio.Median)
	case len(r.Choices()) < 2 && row.Median != nil:
		words[2] = s.Plain(document.Nanoseconds(int64(row.Median.Median*1e9)) + " " + document.Ends(*row.Median))
	}
	return words
}

// mark returns the mark of the best.
func (r *Ranking) mark() string {
	if r.Added {
		return ownCost
	}
	return ""
}

// claims returns the claims of a study with their verdicts: all of them shorter if there is
// not enough room, and then without the last.
func (s *runScreen) claims(r *Study) []string {
	for most := 3; most > 0; most-- {
		lines := s.Section(func() {
			for i := range r.Claims {
				s.claim(r, i, most)
			}
		})
		if len(lines) <= s.left {
			return lines
		}
	}
	return s.Section(func() {
		shown := max(1, s.left-1)
		for i := range shown {
			s.claim(r, i, 1)
		}
		s.Clipped("and "+document.Counted(int64(len(r.Claims)-shown), "more claim"), "", "", 1, document.Faint)
	})
}

// claim writes a claim with its verdict, in at most some lines.
func (s *runScreen) claim(r *Study, i, most int) {
	c := &r.Claims[i]
	var here []string
	for j := range c.Comparisons {
		if x := &c.Comparisons[j]; x.Summary != nil {
			here = append(here, strings.TrimSpace(claimBound(x.Median, x.Unit)+" "+x.Unit))
		}
	}
	t := fmt.Sprintf("%d. %s", i+1, c.Claim)
	if here != nil {
		t += ": here " + document.SomeOf(here, 2)
	}
	verdict := map[Verdict]string{Holds: "holds", DoesNotHold: "not so", CannotBeTold: "not told"}[c.Verdict]
	s.Labeled(verdict, t, most, c.Verdict == DoesNotHold)
}
