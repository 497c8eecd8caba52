package tune

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Tuning is what a search for settings has found.
type Tuning struct {
	*Finding
	Driver string
	Flag   string // with which a setting is given, before name=value; "" if there is none

	// Spelled says how the driver is given the settings of the best choice, and then those at
	// the greatest risk, if these are others. What could not be found out is left out.
	Spelled []Spelled
}

// Spelled is how a driver is given settings.
type Spelled struct {
	Settings driver.Settings `json:"settings"`
	Call     string          `json:"call,omitempty"` // by which its users open a database

	// EachConnection says where they run statements on each new connection.
	EachConnection string `json:"each_connection,omitempty"`

	// Spelling has been opened, and the settings read back; nil if the driver is given no data
	// source name.
	Spelling *dsn.Spelling `json:"spelling,omitempty"`

	// Calls is what no data source name can say, in words.
	Calls []string `json:"calls,omitempty"`
}

// Spell says how a driver is given settings, from what its worker has told of the data source
// name that asks for them. told is nil if the driver is given none.
func Spell(info driver.Info, set driver.Settings, told *dsn.Told) Spelled {
	_, rest := dsn.Of("", set)
	s := Spelled{Settings: set}
	if told != nil {
		s.Call, s.EachConnection, s.Spelling = told.Call, told.EachConnection, told.Spelling
	}
	if s.Spelling == nil {
		for _, p := range set.Pragmas() {
			s.Calls = append(s.Calls, p+" on each new connection")
		}
		if v := set["txlock"]; v != "" {
			s.Calls = append(s.Calls, "begin transactions that write with "+set.Begin())
		}
	}
	if n := rest["pool_size"]; n != "" {
		call := "open at most " + n + " connections"
		if info.Interface == driver.DatabaseSQL {
			call = "db.SetMaxOpenConns(" + n + ")"
		}
		s.Calls = append(s.Calls, call)
	}
	if n := rest["pool_readers"]; n != "" {
		s.Calls = append(s.Calls, "a second pool of "+n+" connections for what only reads")
	}
	return s
}

// String says in words how the driver is given the settings.
func (s *Spelled) String() string {
	var list []string
	if x := s.Spelling; x != nil {
		if s.Call != "" {
			list = append(list, s.Call+" with "+x.DSN)
		} else {
			list = append(list, x.DSN)
		}
		if len(x.Init) > 0 {
			list = append(list, fmt.Sprintf("on each new connection (%s) %s", cmp.Or(s.EachConnection, "in code"), strings.Join(x.Init, ", ")))
		}
		if x.Begin != "" {
			list = append(list, "begin transactions that write with "+x.Begin)
		}
		if len(x.LeftOut) > 0 {
			list = append(list, "no such option there: "+strings.Join(x.LeftOut, ", "))
		}
		for _, m := range x.Missing {
			list = append(list, fmt.Sprintf("%s stays %s", m.Setting, m.Got))
		}
		if x.Failed != "" {
			list = append(list, "it cannot be opened so: "+x.Failed)
		}
	}
	return document.Line(strings.Join(append(list, s.Calls...), "; "))
}

// spelled returns how the driver is given settings, in words, or "".
func (t Tuning) spelled(set driver.Settings) string {
	i := slices.IndexFunc(t.Spelled, func(s Spelled) bool { return maps.Equal(s.Settings, set) })
	if i < 0 {
		return ""
	}
	return t.Spelled[i].String()
}

// Offered lists the settings that the answer names: those of the best choice, and those at the
// greatest risk, if these are others. What changes nothing is left out.
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

// Formats are those of a search for settings.
var Formats = document.FormatsOf[Tuning, document.Options]{What: "search", List: []document.Format[Tuning, document.Options]{
	{Name: "table", To: func(w io.Writer, t Tuning, o document.Options) error {
		return document.RenderPart(w, tuning(t), nil, o)
	}},
	{Name: "markdown", To: func(w io.Writer, t Tuning, _ document.Options) error { return document.RenderMarkdown(w, tuning(t)) }},
	{Name: "html", To: func(w io.Writer, t Tuning, o document.Options) error {
		return document.RenderHTML(w, append(tuning(t), document.Methodology("Settings searched")), "Settings", o)
	}},
	{Name: "json", To: writeTuningJSON},
}}

// lossWords say what can be lost, by [Severity].
var lossWords = []string{"nothing", "the last commits", "the database, very rarely", "the database"}

// Answer says which settings are worth setting, what they gain, and what they risk.
func (t Tuning) Answer() string {
	if len(t.Steps) == 0 {
		return "The search was not finished: nothing has been confirmed."
	}
	switch {
	case len(t.Steps) > 1 || len(t.Tried) > 0:
	case t.Early:
		text := "Nothing was tried beside the settings of today: after these were measured, the time left was too short to try one value and confirm it."
		if t.Enough > 0 {
			const step = 10 * time.Second // what is estimated is not told to the second
			text += fmt.Sprintf(" That takes a search of about %s, or a smaller scale.", document.Elapsed((t.Enough + step - 1).Truncate(step)))
		}
		return text
	default:
		return "Nothing could be tried here, so there is nothing to set."
	}
	var sentences []string
	at := t.Choice(t.Loss)
	if at > 0 {
		safe := "no commit is lost that is safe today"
		switch {
		case t.Steps[at].Loss < t.Loss:
			safe = "and less can be lost than today"
		case t.Loss > conditions.NothingLost:
			safe = "no more can be lost than today"
		}
		sentences = append(sentences, fmt.Sprintf("Set %s: %s as fast %s, %s.", assigned(t.Steps[at].Changes), speed(t.Steps[at].Ratio), speedInterval(t.Steps[at].Ratio), safe))
	}
	for i := at + 1; i < len(t.Steps); i++ {
		s := t.Steps[i]
		if s.Safer || s.Before != at || !s.Worth {
			continue
		}
		words := fmt.Sprintf("%s would be %s as fast %s", added(s.Added), speed(s.Gain), speedInterval(s.Gain))
		if at > 0 {
			words = fmt.Sprintf("%s would make it %s as fast again %s", added(s.Added), speed(s.Gain), speedInterval(s.Gain))
		}
		if risk := t.risk(s); s.Loss > t.Steps[at].Loss && risk != "" {
			words += ", but " + risk
		}
		sentences = append(sentences, words+".")
		at = i
	}
	if maybe := t.promising(at); maybe != nil {
		sentences = append(sentences, fmt.Sprintf("It cannot be told yet whether %s is faster: %s as fast %s in these trials; more time, or a quieter machine, may tell.", added(maybe.Added), speed(maybe.Gain), speedInterval(maybe.Gain)))
	}
	switch {
	case len(sentences) > 0:
	case t.Confirmed == nil:
		sentences = append(sentences, fmt.Sprintf("No setting looked more than %s faster than what there is today, so nothing was confirmed: these are races, in few trials, and a small gain may have been missed.", document.Share(t.Margin)))
	default:
		sentences = append(sentences, fmt.Sprintf("Nothing that was tried is worth setting: no setting is told apart as more than %s faster than what there is today.", document.Share(t.Margin)))
	}
	for _, s := range t.Steps {
		if s.Safer {
			sentences = append(sentences, fmt.Sprintf("Today %s can be lost; with %s %s can: %s as fast as today %s.", lossWords[t.Loss], assigned(s.Changes), lossWords[s.Loss], speed(s.Ratio), speedInterval(s.Ratio)))
		}
	}
	return strings.Join(sentences, " ")
}

// promising returns the step that looks best of those that are not told apart from the last
// step that is worth it. It returns nil if none looks better.
func (t Tuning) promising(last int) (best *Step) {
	for _, s := range t.Steps[1:] {
		if !s.Safer && !s.Worth && !s.MoreFailed && s.Before == last && s.Gain.N > 0 && s.Gain.Median <= 1-t.Margin && (best == nil || s.Gain.Median < best.Gain.Median) {
			best = s
		}
	}
	return best
}

// risk says when what can be lost with a step is lost. It returns "" if nothing is known to
// be.
func (t Tuning) risk(s *Step) string {
	list := conditions.Risks(t.Base.With(s.Changes))
	for _, r := range list {
		if r.CanLose == conditions.Losses[conditions.Worst(list)].Loss && conditions.Severity(t.Base.With(s.Changes)) == s.Loss {
			return r.Text
		}
	}
	if s.Loss > conditions.NothingLost {
		return lossWords[s.Loss] + " can be lost"
	}
	return ""
}

// assigned joins settings as name=value.
func assigned(s driver.Settings) string {
	var words []string
	for _, name := range stats.SettingNames(s) {
		words = append(words, name+"="+s[name])
	}
	return document.And(words)
}

// added joins what a step adds. A value of "" is that of the workload.
func added(s driver.Settings) string {
	var words []string
	for _, name := range stats.SettingNames(s) {
		if s[name] == "" {
			words = append(words, name+" as it is today")
		} else {
			words = append(words, name+"="+s[name])
		}
	}
	return document.And(words)
}

// speed formats the ratio of times as one of speeds.
func speed(s stats.Summary) string {
	if s.N == 0 {
		return document.Absent
	}
	return document.Times(s.Inverse().Median)
}

func speedInterval(s stats.Summary) string {
	if s.N == 0 {
		return ""
	}
	return document.Interval(s.Inverse().Interval)
}

// tuning describes what a search has found: the answer, what to do and how sure it is, the steps,
// and then what else was tried.
func tuning(t Tuning) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: t.Answer()}, t.todo()}
	if len(t.Steps) > 1 {
		d = append(d, document.Heading{Level: 2, Text: "The steps"}, t.grid())
	}
	if t.Confirmed != nil {
		d = append(d, document.Paragraph{Text: fmt.Sprintf("speed: how many times as fast as today, with the time of the checkpoint that follows a phase; the geometric mean of %s. gain: by the last step before that is worth it. Intervals, at %.3g%%, are corrected for %s, which can be confirmed twice. A step is worth it if it is told apart from that one, and gains more than %s.",
			t.phases(), 100*(1-stats.Alpha/float64(t.Tests)), document.Counted(int64(len(t.Steps)-1), "step"), document.Share(t.Margin)), Quiet: true})
	}
	d = append(d, document.Heading{Level: 2, Text: "What was tried"}, t.triedItems())
	if slices.ContainsFunc(t.Tried, func(x *Tried) bool { return x.Ratio.Interval != nil }) {
		d = append(d, document.Paragraph{Text: fmt.Sprintf("In brackets after a value: how many times as fast as without it in the races, which only choose what to measure next, with an interval of %.3g%% that is not corrected. Values without it were measured in fewer than %d rounds.",
			100*stats.Confidence, stats.MinSamples), Quiet: true})
	}
	if t.Confirmed != nil {
		l := conditions.MachineItems(t.Confirmed.Run.Machine)
		d = append(d, document.Heading{Level: 2, Text: "Where the figures are from"}, append(l, conditions.Warnings(t.Confirmed.Warnings, nil)...))
	}
	return d
}

// todo says how to set the best settings, what they make slower, how sure that is, and what the
// search has not decided.
func (t Tuning) todo() (l document.List) {
	if len(t.Steps) > 0 {
		best := t.Steps[t.best()]
		if t.Flag != "" {
			l.Note(document.Item{Label: "to set", Text: t.toSet(best.Changes)})
			l.Note(document.Item{Label: "on " + t.Driver, Text: t.spelled(best.Changes)})
		}
		for _, p := range best.Phases {
			if i := p.Ratio.Interval; len(best.Phases) > 1 && i != nil && i.Low > 1 {
				l.Note(document.Item{Label: "slower", Text: fmt.Sprintf("%s: %s as fast with these settings %s", p.TableName, speed(p.Ratio), speedInterval(p.Ratio)), Alarm: true})
			}
		}
		if i := t.Choice(len(lossWords)); i != t.best() && t.Flag != "" {
			l.Note(document.Item{Label: "at that risk", Text: t.toSet(t.Steps[i].Changes)})
			l.Note(document.Item{Label: "on " + t.Driver, Text: t.spelled(t.Steps[i].Changes)})
		}
	}
	if t.Confirmed != nil {
		l.Note(document.Item{Label: "how sure", Text: fmt.Sprintf("each step was measured again in %s, in the same rounds as the others (run %d); the search chose nothing by these trials but which steps are worth it, and gains are given as smaller for that, the more so the less clear they are", document.Counted(int64(t.Rounds), "new trial"), t.Confirmed.Run.ID)})
	}
	l.Note(document.Item{Label: "not decided", Text: t.undecided()})
	if t.Early {
		l.Note(document.Item{Label: "ended early", Text: "the time was up before everything had been tried: more time may find more", Alarm: true})
	}
	return l
}

// undecided lists the steps of which it cannot be told whether they are faster or slower.
func (t Tuning) undecided() string {
	var words []string
	for i, s := range t.Steps {
		if i > 0 && verdictOf(s) == tie && s.Gain.N > 0 {
			words = append(words, strings.TrimSpace(fmt.Sprintf("%s: %s as fast %s", added(s.Added), speed(s.Gain), speedInterval(s.Gain))))
		}
	}
	if words == nil {
		return ""
	}
	return "faster or slower? " + strings.Join(words, ", ")
}

// triedItems lists what is not among the settings to set, and what was not tried.
func (t Tuning) triedItems() (l document.List) {
	l.Note(document.Item{Label: "today", Text: t.today()})
	worthless, beside, slow, out := t.tried()
	l.Note(document.Item{Label: "no gain seen", Text: strings.Join(worthless, ", ")})
	l.Note(document.Item{Label: "looked slower", Text: strings.Join(slow, ", ")})
	l.Note(document.Item{Label: "gains alone", Text: gainsAlone(beside)})
	for _, words := range out {
		l.Note(document.Item{Label: "out", Text: words, Alarm: true})
	}
	for _, s := range t.Skipped {
		l.Note(document.Item{Label: "not tried", Text: s.Setting + ": " + s.Why})
	}
	l.Note(document.Item{Label: "searched", Text: t.searched()})
	return l
}

// best returns the index of the choice that the answer names first.
func (t Tuning) best() int { return t.Choice(t.Loss) }

// toSet says how settings are given to this program, and to SQLite.
func (t Tuning) toSet(s driver.Settings) string {
	if len(s) == 0 {
		return ""
	}
	var flags []string
	for _, name := range stats.SettingNames(s) {
		flags = append(flags, t.Flag+" "+name+"="+s[name])
	}
	words := strings.Join(flags, " ")
	if pragmas := s.Pragmas(); pragmas != nil {
		words += "; in SQL " + strings.Join(pragmas, "; ")
	}
	return words
}

// today lists what the settings that were searched are today.
func (t Tuning) today() string {
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

// phases says what the ratios are of.
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

// tried says what the values that are not in any step worth setting were worth by themselves.
func (t Tuning) tried() (worthless, beside, slow, out []string) {
	chosen := map[string]bool{}
	for _, s := range t.Steps {
		if s.Worth || s.Safer {
			for name, v := range s.Changes {
				chosen[name+"="+v] = true
			}
		}
	}
	list := slices.Clone(t.Tried)
	slices.SortStableFunc(list, func(a, b *Tried) int { return compareNames(a.Name, b.Name) })
	for _, x := range list {
		words := x.String()
		if x.Ratio.Interval != nil {
			words += fmt.Sprintf(" (%s %s)", speed(x.Ratio), speedInterval(x.Ratio))
		}
		if len(x.With) > 0 {
			words += " beside " + assigned(x.With)
		}
		switch low, high := 1-t.Margin, 1+t.Margin; {
		case x.Status != result.OK:
			out = append(out, fmt.Sprintf("%s: %s: %s", x, document.States[x.Status], document.Line(x.Reason.Message)))
		case x.MoreFailed:
			out = append(out, fmt.Sprintf("%s: more operations failed with it in each round of its race", x))
		case chosen[x.String()]:
		case x.Ratio.N == 0:
		case x.Ratio.Median > high:
			slow = append(slow, words)
		case x.Ratio.Median < low:
			beside = append(beside, words)
		default:
			worthless = append(worthless, words)
		}
	}
	return worthless, beside, slow, out
}

func gainsAlone(list []string) string {
	if list == nil {
		return ""
	}
	return strings.Join(list, ", ") + ": not beside the others, or not confirmed"
}

// compareNames orders settings as they are searched.
func compareNames(a, b string) int { return slices.Index(Names, a) - slices.Index(Names, b) }

// searched says what the search took.
func (t Tuning) searched() string {
	settings := map[string]bool{}
	for _, x := range t.Tried {
		settings[x.Name] = true
	}
	runs := make([]string, len(t.Races))
	for i, r := range t.Races {
		if runs[i] = fmt.Sprint(r.Run); r.Run == 0 {
			runs[i] = document.Absent
		}
	}
	return fmt.Sprintf("%s on %s, %s, %s (runs %s) in %s; a grid has %s", document.Counted(int64(len(settings)), "setting"), t.Driver,
		document.Counted(int64(len(t.Tried)), "value"), document.Counted(int64(t.Trials()), "trial"), strings.Join(runs, ", "), document.Elapsed(t.Took), document.Counted(int64(t.Grid), "combination"))
}

// grid has a row for each step.
func (t Tuning) grid() document.Grid {
	memory := false
	for _, s := range t.Steps {
		memory = memory || s.Memory > 0
	}
	var step, set, speeds, before, lose, peak, verdicts []string
	for i, s := range t.Steps {
		step = append(step, fmt.Sprint(i))
		lose = append(lose, lossWords[s.Loss])
		figure := document.Absent
		if s.Memory > 0 {
			figure = document.BytesOf(s.Memory)
		}
		peak = append(peak, figure)
		if i == 0 {
			set, speeds, before, verdicts = append(set, "as today"), append(speeds, "1"), append(before, ""), append(verdicts, "")
			continue
		}
		words := "+ " + added(s.Added)
		switch s.Before {
		case i - 1:
		case 0:
			words = added(s.Added)
		default:
			words = fmt.Sprintf("step %d + %s", s.Before, added(s.Added))
		}
		set = append(set, words)
		speeds = append(speeds, speed(s.Ratio)+" "+speedInterval(s.Ratio))
		before = append(before, speed(s.Gain)+" "+speedInterval(s.Gain))
		verdicts = append(verdicts, verdictOf(s))
	}
	var g document.Grid
	g.Add(document.Column{Title: "step", Right: true}, step)
	g.Add(document.Column{Title: "setting"}, set)
	g.Add(document.Column{Title: "speed", Whole: true}, speeds)
	g.Add(document.Column{Title: "gain", Whole: true}, before)
	g.Add(document.Column{Title: "can lose"}, lose)
	if memory {
		g.Add(document.Column{Title: "memory", Right: true}, peak)
	}
	g.Add(document.Column{Title: "verdict"}, verdicts)
	return g
}

// tie is the verdict of a step that is not told apart from the one before.
const tie = "a tie"

// verdictOf says what a step is worth, in a word or two.
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

// TuningVersion is the version of the JSON form of a search for settings. Fields may be added
// without changing it.
const TuningVersion = 1

// JSONTuning is the JSON form of a search for settings.
type JSONTuning struct {
	Version int              `json:"version"`
	Answer  string           `json:"answer"`
	Driver  string           `json:"driver"`
	Today   driver.Settings  `json:"today"`    // what is in force with the workloads' own settings
	CanLose string           `json:"can_lose"` // today
	Margin  float64          `json:"margin"`
	Spelled []Spelled        `json:"spelled,omitempty"` // how the driver is given them, and those at the greatest risk
	Set     driver.Settings  `json:"set"`               // the best that loses no more than today's settings; empty: nothing is worth it
	Steps   []JSONTuningStep `json:"steps"`
	Tried   []JSONTried      `json:"tried"`
	Skipped []Skipped        `json:"skipped,omitempty"`
	Races   []JSONRace       `json:"races"`
	Trials  int              `json:"trials"`
	Seconds float64          `json:"seconds"`
	Grid    int              `json:"grid"`
	Early   bool             `json:"early,omitempty"`
	Run     int64            `json:"run,omitempty"` // that confirms the steps
}

// JSONTuningStep is a step of a search for settings.
type JSONTuningStep struct {
	Changes driver.Settings   `json:"changes"`
	Added   driver.Settings   `json:"added,omitempty"` // to those of the step before
	Before  int               `json:"before"`          // index of the step before
	CanLose string            `json:"can_lose"`
	Verdict string            `json:"verdict,omitempty"`
	Worth   bool              `json:"worth"`
	Ratio   *stats.Summary    `json:"ratio,omitempty"` // of its times to those of the first step
	Gain    *stats.Summary    `json:"gain,omitempty"`  // of its times to those of the step before
	PeakRSS float64           `json:"peak_rss_bytes,omitempty"`
	Phases  []JSONTuningPhase `json:"phases,omitempty"`
}

// JSONTuningPhase is the ratio of a step's times to those of the first step in a phase.
type JSONTuningPhase struct {
	stats.TableName
	Ratio stats.Summary `json:"ratio"`
}

// JSONTried is a value of a setting as it was measured in a race.
type JSONTried struct {
	Setting    string          `json:"setting"`
	Value      string          `json:"value"`
	With       driver.Settings `json:"with,omitempty"` // what else was changed on both sides of the ratio
	Ratio      *stats.Summary  `json:"ratio,omitempty"`
	Status     result.Status   `json:"status"`
	Why        string          `json:"why,omitempty"`
	MoreFailed bool            `json:"more_failed,omitempty"`
}

// JSONRace is a run of a search for settings.
type JSONRace struct {
	What       string  `json:"what"`
	Run        int64   `json:"run"`
	Candidates int     `json:"candidates"`
	Trials     int     `json:"trials"`
	Seconds    float64 `json:"seconds"`
}

func writeTuningJSON(w io.Writer, t Tuning, _ document.Options) error {
	out := JSONTuning{Version: TuningVersion, Answer: t.Answer(), Driver: t.Driver, Today: t.Base, CanLose: lossWords[t.Loss], Margin: t.Margin,
		Set: driver.Settings{}, Steps: []JSONTuningStep{}, Tried: []JSONTried{}, Skipped: t.Skipped, Races: []JSONRace{}, Trials: t.Trials(), Spelled: t.Spelled, Seconds: t.Took.Seconds(), Grid: t.Grid, Early: t.Early}
	if out.Today == nil {
		out.Today = driver.Settings{}
	}
	if len(t.Steps) > 0 {
		maps.Copy(out.Set, t.Steps[t.best()].Changes)
	}
	if t.Confirmed != nil {
		out.Run = t.Confirmed.Run.ID
	}
	for i, s := range t.Steps {
		j := JSONTuningStep{Changes: s.Changes, Added: s.Added, Before: s.Before, CanLose: lossWords[s.Loss], Worth: s.Worth, PeakRSS: s.Memory}
		if i > 0 {
			j.Verdict, j.Ratio, j.Gain = verdictOf(s), &s.Ratio, &s.Gain
		}
		for _, p := range s.Phases {
			j.Phases = append(j.Phases, JSONTuningPhase{p.TableName, p.Ratio})
		}
		out.Steps = append(out.Steps, j)
	}
	for _, x := range t.Tried {
		j := JSONTried{Setting: x.Name, Value: x.Value, With: x.With, Status: x.Status, MoreFailed: x.MoreFailed}
		if x.Ratio.N > 0 {
			j.Ratio = &x.Ratio
		}
		if x.Reason != nil {
			j.Why = x.Reason.Message
		}
		out.Tried = append(out.Tried, j)
	}
	for _, r := range t.Races {
		out.Races = append(out.Races, JSONRace{r.What, r.Run, r.Candidates, r.Trials, r.Took.Seconds()})
	}
	return document.Encode(w, out)
}
