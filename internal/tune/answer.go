package tune

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Answer says which settings are worth setting, how much time they save, and what they risk.
func (t Tuning) Answer() string {
	if len(t.Steps) == 0 {
		return "The search was not finished: nothing has been confirmed."
	}
	if len(t.Steps) == 1 && len(t.Tried) == 0 {
		return t.nothingTried()
	}
	var sentences []string
	at := t.Choice(t.Loss)
	if at > 0 {
		safe := "as durable as now"
		if t.Steps[at].Loss < t.Loss {
			safe = "and more durable than now"
		}
		sentences = append(sentences, fmt.Sprintf("Set %s: %s, %s.", assigned(t.Steps[at].Changes), slower(t.Steps[at].Ratio), safe))
	}
	for i := at + 1; i < len(t.Steps); i++ {
		s := t.Steps[i]
		if s.Safer || s.Before != at || !s.Worth {
			continue
		}
		words := added(s.Added) + " would be " + slower(s.Gain)
		if at > 0 {
			words = added(s.Added) + " would then make it " + slower(s.Gain)
		}
		if risk := t.risk(s); s.Loss > t.Steps[at].Loss && risk != "" {
			words += ", but " + risk
		}
		sentences = append(sentences, words+".")
		at = i
	}
	if maybe := t.promising(at); maybe != nil {
		sentences = append(sentences, fmt.Sprintf("%s looks %s. More time, or a quieter machine, may confirm it.", added(maybe.Added), slower(maybe.Gain)))
	}
	if len(sentences) == 0 {
		sentences = append(sentences, fmt.Sprintf("Nothing that was tried is worth setting: no setting is clearly more than %s faster than the present ones.", document.Share(t.Margin)))
		if t.Confirmed == nil {
			sentences[0] += " Each was tried in few trials, which may have missed a small gain."
		}
	}
	for _, s := range t.Steps {
		if s.Safer {
			left := lossWords[s.Loss]
			if s.Loss > conditions.NothingLost {
				left = "only " + left
			}
			sentences = append(sentences, fmt.Sprintf("Now you can lose %s; with %s, %s. That is %s.", lossWords[t.Loss], assigned(s.Changes), left, slower(s.Ratio)))
		}
	}
	return strings.Join(sentences, " ")
}

func (t Tuning) nothingTried() string {
	if !t.Early {
		return "Nothing could be tried here, so there is nothing to set."
	}
	text := "No value was tried: after the present settings were measured, the time left was too short to try one and confirm it."
	if t.Enough > 0 {
		const step = 10 * time.Second // t.Enough is rounded up to a multiple of this
		text += fmt.Sprintf(" That takes a search of about %s, or a smaller scale.", document.Elapsed((t.Enough + step - 1).Truncate(step)))
	}
	return text
}

// promising returns a step that looks faster than the last step worth setting, although the
// difference is unclear. If there are several, it returns the one that looks fastest. It returns
// nil if there is none.
func (t Tuning) promising(last int) (best *Step) {
	for _, s := range t.Steps[1:] {
		if !s.Safer && !s.Worth && !s.MoreFailed && s.Before == last && s.Gain.N > 0 && s.Gain.Median <= 1-t.Margin && (best == nil || s.Gain.Median < best.Gain.Median) {
			best = s
		}
	}
	return best
}

// risk describes when the settings of a step can lose data, as far as that is known. It returns "" if they
// can lose nothing.
func (t Tuning) risk(s *Step) string {
	list := conditions.Risks(t.Base.With(s.Changes))
	for _, r := range list {
		if r.CanLose == conditions.Losses[conditions.Worst(list)].Loss && conditions.Severity(t.Base.With(s.Changes)) == s.Loss {
			return r.Text
		}
	}
	if s.Loss > conditions.NothingLost {
		return "you can lose " + lossWords[s.Loss]
	}
	return ""
}

func assigned(s driver.Settings) string { return document.And(strings.Fields(stats.SettingWords(s))) }

// added returns a text with the settings that a step adds. A setting with the value "" returns to
// the workload's own value.
func added(s driver.Settings) string {
	return document.And(document.Map(stats.SettingNames(s), func(name string) string {
		if s[name] == "" {
			return name + " as it is now"
		}
		return name + "=" + s[name]
	}))
}

// slower formats a ratio of times in words.
func slower(s stats.Summary) string {
	if s.N == 0 {
		return "not measured"
	}
	return document.Slower(s)
}

// times formats a ratio of times with its interval, for a table.
func times(s stats.Summary) string {
	if s.N == 0 {
		return document.Absent
	}
	return document.Times(s.Median) + " " + document.Interval(s.Interval)
}

// TuningVersion is the version of the JSON form of a search for settings. Adding fields does not
// change the version.
const TuningVersion = 1

// JSONTuning is the JSON form of a search for settings.
type JSONTuning struct {
	Version int             `json:"version"`
	Answer  string          `json:"answer"`
	Driver  string          `json:"driver"`
	Today   driver.Settings `json:"today"`    // settings in force if the search changes nothing
	CanLose string          `json:"can_lose"` // what the workloads' own settings can lose, in words
	Margin  float64         `json:"margin"`
	Spelled []Spelled       `json:"spelled,omitempty"` // how to pass two choices of settings to the driver: the best settings, and the fastest settings at a greater risk
	Set     driver.Settings `json:"set"`               // the best settings that risk no more than today's settings; empty if no setting is worth setting
	Steps   []Step          `json:"steps"`
	Tried   []*Tried        `json:"tried"`
	Skipped []Skipped       `json:"skipped,omitempty"`
	Races   []*Race         `json:"races"`
	Trials  int             `json:"trials"`
	Seconds float64         `json:"seconds"`
	Grid    int             `json:"grid"`
	Early   bool            `json:"early,omitempty"`
	Run     int64           `json:"run,omitempty"` // ID of the run that confirms the steps
}

func jsonOf(t Tuning) any {
	out := JSONTuning{Version: TuningVersion, Answer: t.Answer(), Driver: t.Driver, Today: driver.Settings{}.With(t.Base), CanLose: lossWords[t.Loss], Margin: t.Margin,
		Spelled: t.Spelled, Set: driver.Settings{}, Steps: []Step{}, Tried: append([]*Tried{}, t.Tried...), Skipped: t.Skipped, Races: append([]*Race{}, t.Races...),
		Trials: t.Trials(), Seconds: t.Took.Seconds(), Grid: t.Grid, Early: t.Early}
	if len(t.Steps) > 0 {
		maps.Copy(out.Set, t.Steps[t.best()].Changes)
	}
	if t.Confirmed != nil {
		out.Run = t.Confirmed.Run.ID
	}
	for i, s := range t.Steps {
		j := *s
		if j.CanLose = lossWords[s.Loss]; i > 0 {
			j.Verdict = verdictOf(s)
		}
		out.Steps = append(out.Steps, j)
	}
	return out
}
