package locks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Formats are the output formats of an explanation of locks.
var Formats = document.Question[*Locks]{Name: "explanation", Document: locks, Title: "Locks", Page: locksPage, Fits: true, Short: onScreen,
	JSON: func(l *Locks) any { return JSONLocks{LocksVersion, LocksAnswer(l), l.Analysis.Run.ID, l.Mixes} }}.Formats()

// LocksVersion is the version of the JSON form of an explanation of locks. Adding fields does not
// change the version.
const LocksVersion = 1

// JSONLocks is the JSON form of an explanation of locks.
type JSONLocks struct {
	Version int          `json:"version"`
	Answer  string       `json:"answer"`
	Run     int64        `json:"run"` // ID of the run in which the mixes were measured
	Mixes   []*LockedMix `json:"mixes"`
}

// LocksAnswer says in a few sentences whether operations failed because of locks, and which change ends these
// errors. It does so for each mix.
func LocksAnswer(l *Locks) string {
	var words []string
	for _, m := range l.Mixes {
		if s := mixAnswer(m); len(l.Mixes) > 1 {
			words = append(words, m.String()+": "+s)
		} else {
			words = append(words, document.Upper(s))
		}
	}
	if words == nil {
		return "Neither a mix nor a replay was measured, so nothing is known about lock errors."
	}
	return strings.Join(words, " ")
}

// mixAnswer returns the answer about one mix. The answer begins with a lower-case letter.
func mixAnswer(m *LockedMix) string {
	measured, failing, endless := 0, 0, 0
	for _, c := range m.Cells {
		if c.Endless || c.Rate.N > 0 {
			measured++
		}
		if c.Endless {
			endless++
		} else if c.Rate.N > 0 && c.Locked > 0 {
			failing++
		}
	}
	cases := document.Counted(int64(measured), "case")
	switch {
	case measured == 0:
		return "no combination of settings has a result."
	case failing+endless == 0:
		return fmt.Sprintf("no operation failed because of a lock, in %s.", cases) + unlocked(m)
	case endless == 0:
		return fmt.Sprintf("operations failed because of locks in %d of %s.", failing, cases) + asToday(m) + ended(m)
	case failing == 0:
		return fmt.Sprintf("operations waited forever in %d of %s.", endless, cases) + asToday(m) + ended(m)
	}
	return fmt.Sprintf("operations failed because of locks in %d and waited forever in %d of %s.", failing, endless, cases) + asToday(m) + ended(m)
}

// asToday says whether operations fail because of locks with the workload's own settings. It returns "" if
// these settings have no figures. It is called only if operations failed with some settings.
func asToday(m *LockedMix) string {
	if m.Today == nil {
		return ""
	}
	var bad, good []string
	for _, d := range m.Drivers() {
		switch c := m.Cell(d, *m.Today); {
		case c == nil:
		case c.Trouble():
			bad = append(bad, d)
		case c.Clean():
			good = append(good, d)
		}
	}
	did := "cause this"
	switch {
	case bad != nil && good != nil:
		did = fmt.Sprintf("cause this with %s, but not with %s", firstOf(bad), firstOf(good))
	case bad == nil && good != nil:
		did = "don't cause this"
	case bad == nil:
		return ""
	}
	return fmt.Sprintf(" Your settings (%s) %s.", choiceShort(*m.Today), did)
}

// ended says what to set so that no operation fails because of a lock. It is called only if operations
// failed with some settings. Of equally fast settings, it names those with the fewest changes.
func ended(m *LockedMix) string {
	if m.Best == nil {
		return " No measured setting ends this on all drivers."
	}
	named := *cmp.Or(m.Nearest, m.Best)
	set := choiceWords(named)
	if m.Nearest != nil {
		set = cmp.Or(changesWords(m.Today.Changes(named)), "what you have")
	}
	s := " Set " + set + ", which ends it"
	if len(m.Equal) == 0 {
		s += " and is the fastest that does"
	}
	s += " (" + ratesOf(m, named) + ")."
	if n := len(m.Equal); n > 0 {
		s += fmt.Sprintf(" %s %s", document.Counted(n, "other choice"), document.Verb(n, "ends it and is as fast", "end it and are as fast"))
		if named != *m.Best {
			s += fmt.Sprintf(", such as %s (%s)", choiceShort(*m.Best), ratesOf(m, *m.Best))
		}
		s += "."
	}
	return s
}

// tiedChoices lists the choices of settings that are as fast as the choice that the answer names.
func tiedChoices(m *LockedMix) []LockChoice {
	if m.Nearest == nil || *m.Nearest == *m.Best {
		return m.Equal
	}
	return append([]LockChoice{*m.Best}, slices.DeleteFunc(slices.Clone(m.Equal), func(c LockChoice) bool { return c == *m.Nearest })...)
}

// unlocked says which choice is the fastest, and with which choice operations wait least. It returns "" if
// fewer than two choices have figures. It is called only if no operation failed because of a lock.
func unlocked(m *LockedMix) string {
	if m.Best == nil || m.Calm == nil || m.Choices() < 2 {
		return ""
	}
	fastest := " The fastest is " + choiceShort(*m.Best) + " (" + ratesOf(m, *m.Best) + ")" + m.amongOthers(*m.Best, m.Equal, thanToday(m, m.Gain, m.Paced, ratesOf))
	return fastest + ". Operations wait least with " + calmest(m) + "."
}

func calmest(m *LockedMix) string {
	return choiceShort(*m.Calm) + " (" + tailsOf(m, *m.Calm) + ")" +
		m.amongOthers(*m.Calm, m.EquallyCalm, thanToday(m, m.Calmer, true, tailsOf))
}

// amongOthers says how many choices are as good as the choice in the parameter "best", and how this
// choice compares with the workload's own settings. If these settings are worse, the result ends
// with the text in the parameter "than".
func (m *LockedMix) amongOthers(best LockChoice, equal []LockChoice, than string) string {
	s := ""
	switch n := len(equal); {
	case n > 0 && n+1 == m.Choices():
		return ", but there is no clear difference between all choices"
	case n > 0:
		s = ", without a clear difference from " + document.Counted(int64(n), "other choice")
	}
	switch {
	case m.Today == nil:
		return s
	case best == *m.Today:
		return s + ", which you have now"
	case slices.Contains(equal, *m.Today):
		return s + "; your settings (" + choiceShort(*m.Today) + ") are one of them"
	}
	return s + than
}

// thanToday says how a choice compares with the workload's own settings: by latency if the parameter
// "latency" is true, otherwise by rate. The parameter "gain" is how many times as good the choice is. If
// "gain" is nil, thanToday returns "".
func thanToday(m *LockedMix, gain *stats.Summary, latency bool, figures func(*LockedMix, LockChoice) string) string {
	if gain == nil {
		return ""
	}
	r := gain.Inverse()
	by, within := document.SlowerBy(r), document.SlowerRange(r.Interval)
	if latency {
		by, within = document.MoreBy(r), document.MoreRange(r.Interval)
	}
	return fmt.Sprintf(", %s (%s; %s: %s)", document.Than(by, "with your settings"), within, choiceShort(*m.Today), figures(m, *m.Today))
}

func ratesOf(m *LockedMix, choice LockChoice) string {
	return figuresWith(m, choice, func(c *LockCell) string {
		if m.Paced {
			return "p99 " + document.Nanoseconds(c.P99)
		}
		return document.Human(c.Rate.Median) + "/s"
	})
}

func tailsOf(m *LockedMix, choice LockChoice) string {
	return figuresWith(m, choice, func(c *LockCell) string {
		s := "p99.9 " + document.Nanoseconds(c.P999)
		if c.Fairness > 0 {
			s += fmt.Sprintf(" with fairness %.2f", c.Fairness)
		}
		return s
	})
}

func figuresWith(m *LockedMix, choice LockChoice, of func(*LockCell) string) string {
	var words []string
	for _, d := range m.Drivers() {
		if c := m.Cell(d, choice); c != nil && c.Clean() {
			words = append(words, d+" "+of(c))
		}
	}
	return firstOf(words)
}

func choiceWords(c LockChoice) string {
	var words []string
	for _, p := range c.parts() {
		switch {
		case p[0] == changedPool:
			words = append(words, "and "+p[1])
		case p[1] != "":
			words = append(words, p[0]+"="+p[1])
		}
	}
	return strings.Join(words, " ")
}

func choiceShort(c LockChoice) string {
	var words []string
	for _, p := range c.parts() {
		if p[0] == "cache" && p[1] != "" {
			p[1] = "cache=" + p[1]
		}
		if p[1] != "" {
			words = append(words, p[1])
		}
	}
	return strings.Join(words, " ")
}

func choicesShort(list []LockChoice) string { return document.Join(list, "; ", choiceShort) }

func changesWords(changes []LockChange) string {
	return document.Join(changes, ", ", func(c LockChange) string {
		if c.What == changedPool {
			return c.To
		}
		return c.What + "=" + c.To
	})
}

func inCommon(cells []*LockCell) string {
	var words []string
	for i := range (LockChoice{}).parts() {
		var values []string
		for _, c := range cells {
			switch p := c.Choice.parts()[i]; {
			case p[1] == "":
			case p[0] == "cache" || p[0] == "busy_timeout":
				values = distinct.Append(values, p[0]+"="+p[1])
			default:
				values = distinct.Append(values, p[1])
			}
		}
		if values != nil {
			words = append(words, strings.Join(values, " or "))
		}
	}
	return firstOf(driversOf(cells)) + " with " + strings.Join(words, "; ")
}

func firstOf(words []string) string { return document.FirstOf(words, 4, ", ") }

func locks(l *Locks, o document.Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: LocksAnswer(l)}}
	for _, m := range l.Mixes {
		if len(l.Mixes) > 1 {
			d = append(d, document.Heading{Level: 2, Text: m.String()})
		}
		failing := slices.ContainsFunc(m.Cells, (*LockCell).Trouble)
		why := append(causes(m), waits(m)...)
		why.Note(document.Item{Label: "failed", Text: failedBy(m)})
		why.Note(document.Item{Label: "not run", Text: skipped(m)})
		why.Note(document.Item{Label: "as fast", Text: choicesShort(tiedChoices(m))})
		if failing && m.Calm != nil {
			why.Note(document.Item{Label: "waits least", Text: calmest(m)})
		}
		why.Note(document.Item{Label: "waits as little", Text: choicesShort(m.EquallyCalm)})
		d = append(d, why)
		if failing {
			d = append(d, document.Space{}, remedies(m.Cells))
		}
		d = append(d, driverTables(m)...)
	}
	d = append(d, document.Space{}, origin(l))
	if len(o.Hints.More) > 0 {
		d = append(d, document.List(document.Map(o.Hints.More, func(h string) document.Item { return document.Item{Label: "more", Text: h} })))
	}
	legend := slices.Clone(lockLegend)
	if !slices.ContainsFunc(l.Mixes, func(m *LockedMix) bool { return m.Today != nil }) {
		legend = slices.DeleteFunc(legend, func(e document.Explained) bool { return e.Column == "connections" })
	}
	return append(d, document.Space{}, legend)
}

// measuredLabel is the label of the list item that names the run and its number of rounds.
const measuredLabel = "measured"

func origin(l *Locks) document.List {
	list := document.List{{Label: measuredLabel, Text: fmt.Sprintf("run %d, %s", l.Analysis.Run.ID, document.Counted(int64(l.Analysis.Run.Rounds), "round"))}}
	list = append(list, conditions.MachineItems(l.Analysis.Run.Machine)...)
	for _, g := range l.Analysis.Groups {
		for _, b := range conditions.Troubles(g, protocol.CodeEndless, result.WarningSkipped, result.WarningDifferent, result.WarningUnlocked) {
			t, _ := b.(document.List)
			for _, it := range t {
				if it.Label != string(result.OK) {
					list = distinct.Append(list, it)
				}
			}
		}
	}
	return append(list, conditions.RunWarnings(l.Analysis)...)
}

// locksPage returns the explanation as a page. It has a section for each mix or, if there is only
// one mix, for each driver, and a section about how the figures were measured.
func locksPage(l *Locks, o document.Options) document.Document {
	d := locks(l, o).Explained()
	at := slices.IndexFunc(d, func(b document.Block) bool {
		t, ok := b.(document.List)
		return ok && len(t) > 0 && t[0].Label == measuredLabel
	})
	d = slices.Insert(d, at, document.Block(document.Heading{Level: 2, Text: "Where the figures are from"}))
	if len(l.Mixes) > 1 {
		return d
	}
	for i, b := range d {
		if h, ok := b.(document.Heading); ok {
			h.Level = min(h.Level, 2)
			d[i] = h
		}
	}
	return d
}
