package tune

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Tuning is the result of a search for settings, as it is shown.
type Tuning struct {
	*Finding
	Driver string
	Flag   string // command-line flag that takes name=value; "" if there is none

	// Spelled says how the driver is given the settings that [Tuning.Offered] returns, as far as
	// that is known.
	Spelled []Spelled
}

// Offered lists the settings that the answer names: the settings of the best choice, and the settings of
// the choice with the greatest risk if that is a different choice. A choice without changes is left out.
func (t Tuning) Offered() (list []driver.Settings) {
	if len(t.Steps) == 0 {
		return nil
	}
	at := []int{t.best()}
	if risky := t.Choice(len(lossWords)); risky != at[0] {
		at = append(at, risky)
	}
	for _, i := range at {
		if set := t.Steps[i].Changes; len(set) > 0 {
			list = append(list, set)
		}
	}
	return list
}

// Formats are the output formats of a search for settings.
var Formats = document.Question[Tuning]{Name: "search", Document: tuning, Title: "Settings", Fits: true, JSON: jsonOf,
	Page: func(t Tuning, o document.Options) document.Document {
		return append(tuning(t, o), document.Methodology("Settings searched"))
	}}.Formats()

// lossWords describe which data can be lost. The index is a loss as in [Search.Loss].
var lossWords = []string{"nothing", "the last commit", "the last commits", "the database, very rarely", "the database"}

func tuning(t Tuning, _ document.Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: t.Answer()}, t.todo()}
	if len(t.Steps) > 1 {
		d = append(d, document.Heading{Level: 2, Text: "The steps"}, t.grid())
	}
	if t.Confirmed != nil {
		d = append(d, document.Paragraph{Text: fmt.Sprintf("time: divided by that with the present settings, including the checkpoint after a phase; the geometric mean of %s. after the last: divided by that of the last step that is worth it. Intervals, at %.3g%%, are corrected for %s, which can be confirmed twice. A step is worth it if it is clearly faster, by more than %s.",
			t.phases(), 100*(1-stats.Alpha/float64(t.Tests)), document.Counted(int64(len(t.Steps)-1), "step"), document.Share(t.Margin)), Quiet: true})
	}
	d = append(d, document.Heading{Level: 2, Text: "What was tried"}, t.triedItems())
	if slices.ContainsFunc(t.Tried, func(x *Tried) bool { return x.Ratio.Interval != nil }) {
		d = append(d, document.Paragraph{Text: fmt.Sprintf("In brackets: compared with the settings without it, in the few trials that choose what to measure next. Values without brackets were measured in fewer than %d rounds.",
			stats.MinSamples), Quiet: true})
	}
	if t.Confirmed != nil {
		l := conditions.MachineItems(t.Confirmed.Run.Machine)
		d = append(d, document.Heading{Level: 2, Text: "Where the figures are from"}, append(l, conditions.RunWarnings(t.Confirmed)...))
	}
	return d
}

// todo says how to set the best settings, which phases they make slower, how certain the gain
// is, and what is still undecided.
func (t Tuning) todo() (l document.List) {
	if len(t.Steps) > 0 {
		best := t.Steps[t.best()]
		if t.Flag != "" {
			l.Note(document.Item{Label: "to set", Text: t.toSet(best.Changes)})
			l.Note(document.Item{Label: "on " + t.Driver, Text: t.spelled(best.Changes)})
		}
		for _, p := range best.Phases {
			if i := p.Ratio.Interval; len(best.Phases) > 1 && i != nil && i.Low > 1 {
				l.Note(document.Item{Label: "slower", Text: fmt.Sprintf("%s: %s with these settings", p.TableName, slower(p.Ratio)), Alarm: true})
			}
		}
		if i := t.Choice(len(lossWords)); i != t.best() && t.Flag != "" {
			l.Note(document.Item{Label: "at that risk", Text: t.toSet(t.Steps[i].Changes)})
			l.Note(document.Item{Label: "on " + t.Driver, Text: t.spelled(t.Steps[i].Changes)})
		}
	}
	if t.Confirmed != nil {
		l.Note(document.Item{Label: "how sure", Text: fmt.Sprintf("each step was measured again in %s, in the same rounds as the others (run %d). Choosing the best of several exaggerates gains, so they are shown smaller, the more so the less clear they are", document.Counted(int64(t.Rounds), "new trial"), t.Confirmed.Run.ID)})
	}
	l.Note(document.Item{Label: "not known yet", Text: t.undecided()})
	if t.Early {
		l.Note(document.Item{Label: "ended early", Text: "the time was over before everything was tried; more time may find more", Alarm: true})
	}
	return l
}

// undecided lists the steps for which it is unclear whether they are faster or slower. It returns "" if
// there are no such steps.
func (t Tuning) undecided() string {
	var words []string
	for i, s := range t.Steps {
		if i > 0 && verdictOf(s) == tie && s.Gain.N > 0 {
			words = append(words, added(s.Added)+": "+slower(s.Gain))
		}
	}
	return strings.Join(words, "; ")
}

func (t Tuning) triedItems() (l document.List) {
	l.Note(document.Item{Label: "now", Text: t.now()})
	worthless, alone, slow, out := t.tried()
	l.Note(document.Item{Label: "no gain seen", Text: strings.Join(worthless, ", ")})
	l.Note(document.Item{Label: "looked slower", Text: strings.Join(slow, ", ")})
	if alone != nil {
		l.Note(document.Item{Label: "gains alone", Text: strings.Join(alone, ", ") + ": but not with the others, or not confirmed"})
	}
	for _, words := range out {
		l.Note(document.Item{Label: "out", Text: words, Alarm: true})
	}
	for _, s := range t.Skipped {
		l.Note(document.Item{Label: "not tried", Text: s.Setting + ": " + s.Why})
	}
	l.Note(document.Item{Label: "searched", Text: t.searched()})
	return l
}

func (t Tuning) best() int { return t.Choice(t.Loss) }

// toSet says how settings are passed to this program and to SQLite. It returns "" for no settings.
func (t Tuning) toSet(s driver.Settings) string {
	if len(s) == 0 {
		return ""
	}
	words := document.Join(stats.SettingNames(s), " ", func(name string) string { return t.Flag + " " + name + "=" + s[name] })
	if pragmas := s.Pragmas(); pragmas != nil {
		words += "; in SQL " + strings.Join(pragmas, "; ")
	}
	return words
}

func (t Tuning) now() string {
	if t.Base == nil {
		return ""
	}
	var words []string
	for _, name := range Names {
		if v, ok := t.Base[name]; ok {
			words = append(words, name+"="+v)
		}
	}
	words = append(words, "can lose: "+lossWords[t.Loss])
	return strings.Join(words, " ")
}

func (t Tuning) phases() string {
	for _, s := range t.Steps {
		if len(s.Phases) > 1 {
			return document.Counted(int64(len(s.Phases)), "phase")
		} else if len(s.Phases) == 1 {
			return s.Phases[0].String()
		}
	}
	return "all phases"
}

// tried returns the tried values that do not belong to a step that is worth setting, in four lists:
// values without a clear gain or loss, values that are faster by themselves, slower values, and values
// that failed or made more operations fail.
func (t Tuning) tried() (worthless, alone, slow, out []string) {
	chosen := map[string]bool{}
	for _, s := range t.Steps {
		if s.Worth || s.Safer {
			for name, v := range s.Changes {
				chosen[name+"="+v] = true
			}
		}
	}
	list := slices.Clone(t.Tried)
	slices.SortStableFunc(list, func(a, b *Tried) int { return slices.Index(Names, a.Name) - slices.Index(Names, b.Name) })
	for _, x := range list {
		words := x.String()
		if x.Ratio.Interval != nil {
			words += " (" + document.SlowerBy(x.Ratio) + ")"
		}
		if len(x.With) > 0 {
			words += " with " + assigned(x.With)
		}
		switch low, high := 1-t.Margin, 1+t.Margin; {
		case x.Status != result.OK:
			out = append(out, fmt.Sprintf("%s: %s: %s", x, document.States[x.Status], document.Line(x.Why)))
		case x.MoreFailed:
			out = append(out, fmt.Sprintf("%s: more operations failed with it in each round", x))
		case chosen[x.String()]:
		case x.Ratio.N == 0:
		case x.Ratio.Median > high:
			slow = append(slow, words)
		case x.Ratio.Median < low:
			alone = append(alone, words)
		default:
			worthless = append(worthless, words)
		}
	}
	return worthless, alone, slow, out
}

func (t Tuning) searched() string {
	settings := distinct.Append(nil, document.Map(t.Tried, func(x *Tried) string { return x.Name })...)
	runs := document.Join(t.Races, ", ", func(r *Race) string {
		if r.Run == 0 {
			return document.Absent
		}
		return fmt.Sprint(r.Run)
	})
	return fmt.Sprintf("%s on %s, %s, %s (runs %s) in %s. All combinations would be %s", document.Counted(int64(len(settings)), "setting"), t.Driver,
		document.Counted(int64(len(t.Tried)), "value"), document.Counted(int64(t.Trials()), "trial"), runs, document.Elapsed(t.Took), document.Thousands(int64(t.Grid)))
}

func (t Tuning) grid() document.Grid {
	type row struct {
		*Step
		at int
	}
	var rows []row
	for i, s := range t.Steps {
		rows = append(rows, row{s, i})
	}
	// later returns a column. In the first step, the cell has the text of the parameter "first". In all later
	// steps, the function "of" returns the text.
	later := func(title string, figure bool, first string, of func(row) string) document.ColumnOf[row] {
		return document.ColumnOf[row]{Column: document.Column{Title: title, Whole: figure}, Cell: func(r row) string {
			if r.at == 0 {
				return first
			}
			return of(r)
		}}
	}
	memory := document.Figures("memory", 0, func(r row) string {
		if r.Memory == 0 {
			return document.Absent
		}
		return document.BytesOf(r.Memory)
	})
	if !slices.ContainsFunc(t.Steps, func(s *Step) bool { return s.Memory > 0 }) {
		memory.Cell = nil
	}
	return document.GridOf(rows,
		document.Figures("step", 0, func(r row) string { return fmt.Sprint(r.at) }),
		later("setting", false, "as now", func(r row) string {
			switch r.Before {
			case r.at - 1:
				return "+ " + added(r.Added)
			case 0:
				return added(r.Added)
			}
			return fmt.Sprintf("step %d + %s", r.Before, added(r.Added))
		}),
		later("time", true, "1", func(r row) string { return times(r.Ratio) }),
		later("after the last", true, "", func(r row) string { return times(r.Gain) }),
		document.Words("can lose", func(r row) string { return lossWords[r.Loss] }),
		memory,
		later("verdict", false, "", func(r row) string { return verdictWords(r.Step) }))
}

// tie is the verdict on a step without a clear difference from the step with which it is compared.
const tie = "a tie"

// verdictWords returns the verdict on a step in words for people.
func verdictWords(s *Step) string {
	if v := verdictOf(s); v != tie {
		return v
	}
	return "no clear gain"
}

func verdictOf(s *Step) string {
	switch {
	case s.MoreFailed:
		return "more fails"
	case s.Safer:
		return "safer"
	case s.Worth:
		return "worth it"
	case s.Gain.Interval != nil && s.Gain.Interval.Low > 1:
		return "slower"
	case s.Gain.Interval != nil && s.Gain.Interval.High < 1:
		return "too little"
	}
	return tie
}

// Words says how long the search takes.
func (n Need) Words() string {
	return fmt.Sprintf("a trial takes about %s; trying %s, combining the faster ones and confirming the result takes at least %s",
		document.Roughly(n.Trial), document.Counted(n.Values, "value"), document.Roughly(n.Time))
}

// Words says what the race measures.
func (p Plan) Words() string {
	words := fmt.Sprintf("%s: %s, %s", p.What, document.Counted(len(p.Candidates), "choice"), document.Counted(p.Rounds, "round"))
	if p.Settled != nil {
		words += ", the slower ones in fewer"
	}
	return words
}
