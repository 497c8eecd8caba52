package tune

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// keptVersion is the version of the JSON form of [kept].
//   - 1: there is no number for the loss of only the last commit
//   - 2: losses are numbered as in [Search.Loss]
const keptVersion = 2

// kept is the part of the answer that the last run of a search stores. It has no figures of the
// steps, because they are computed from the run that confirms the steps.
type kept struct {
	*Finding
	Driver    string     `json:"driver"`
	Steps     []keptStep `json:"steps"`
	Confirmed int        `json:"confirmed,omitempty"` // number of the confirming race, from 1; 0 if nothing was confirmed
	Races     []keptRace `json:"races"`
	Spelled   []Spelled  `json:"spelled"`
}

type keptStep struct {
	Changes driver.Settings `json:"changes"`
	Added   driver.Settings `json:"added,omitempty"`
	Loss    int             `json:"loss"`
	Level   int             `json:"level"`
	Safer   bool            `json:"safer,omitempty"`
}

type keptRace struct {
	What       string        `json:"what"`
	Candidates int           `json:"candidates"`
	Trials     int           `json:"trials"`
	TookNS     time.Duration `json:"took_ns"`
}

// Run returns the ID of the run that stores the answer, which is the run of the last race.
func (t Tuning) Run() int64 { return t.Races[len(t.Races)-1].Run }

// Keep returns t in the form in which the run of the last race stores it.
func (t Tuning) Keep() (*result.Answer, error) {
	k := kept{Finding: t.Finding, Driver: t.Driver, Spelled: t.Spelled}
	for _, s := range t.Steps {
		k.Steps = append(k.Steps, keptStep{s.Changes, s.Added, s.Loss, s.Level, s.Safer})
	}
	var runs []int64
	for i, r := range t.Races {
		k.Races = append(k.Races, keptRace{r.What, r.Candidates, r.Trials, r.took})
		if t.Confirmed != nil && r.Analysis == t.Confirmed {
			k.Confirmed = i + 1
		}
		if i < len(t.Races)-1 {
			runs = append(runs, r.Run)
		}
	}
	return result.NewAnswer(result.QuestionTune, keptVersion, k, runs...)
}

// Stored returns the answer that is stored with an analyzed run. The function "load" returns the
// analysis of another run of the same store.
func Stored(own *stats.Analysis, load func(run int64) (*stats.Analysis, error)) (Tuning, error) {
	k := kept{Finding: &Finding{}}
	answer := own.Run.Answer
	err := answer.Decode(result.QuestionTune, keptVersion, &k)
	if err == nil {
		err = k.check(len(answer.Runs))
	}
	if err != nil {
		return Tuning{}, err
	}
	f := k.Finding
	if answer.Version == 1 {
		k.renumber()
	}
	for _, s := range k.Steps {
		f.Steps = append(f.Steps, &Step{Changes: s.Changes, Added: s.Added, Loss: s.Loss, Level: s.Level, Safer: s.Safer})
	}
	for i, id := range append(slices.Clone(answer.Runs), own.Run.ID) {
		r := k.Races[i]
		f.Races = append(f.Races, &Race{Run: id, What: r.What, Candidates: r.Candidates, Trials: r.Trials, Seconds: r.TookNS.Seconds(), took: r.TookNS})
	}
	if k.Confirmed > 0 {
		a := own
		if k.Confirmed < len(k.Races) {
			if a, err = load(answer.Runs[k.Confirmed-1]); err != nil {
				return Tuning{}, fmt.Errorf("the run that confirms its answer: %w", err)
			}
		}
		if len(a.Run.Cases) == 0 || len(a.Run.Cases)%len(f.Steps) != 0 {
			return Tuning{}, fmt.Errorf("its answer has %d steps, which run %d with its %d cases does not confirm", len(f.Steps), a.Run.ID, len(a.Run.Cases))
		}
		f.judge(f.Steps, k.Tests, a)
	}
	return Tuning{Finding: f, Driver: k.Driver, Spelled: k.Spelled}, nil
}

// renumber converts the losses of an answer of version 1 to the numbers of version 2: every loss
// except "nothing" is greater by one.
func (k *kept) renumber() {
	raise := func(loss *int) {
		if *loss > conditions.NothingLost {
			*loss = min(*loss+1, conditions.DatabaseLost)
		}
	}
	raise(&k.Loss)
	for i := range k.Steps {
		raise(&k.Steps[i].Loss)
		raise(&k.Steps[i].Level)
	}
}

// check returns an error if a stored answer contradicts itself. Somebody else may have made the answer.
// The parameter "others" is the number of other runs that the answer names.
func (k *kept) check(others int) error {
	bad := func(format string, args ...any) error { return fmt.Errorf("its answer: "+format, args...) }
	switch {
	case len(k.Races) != others+1:
		return bad("it has %d races, and names %d runs", len(k.Races), others)
	case k.Confirmed < 0 || k.Confirmed > len(k.Races):
		return bad("it has no race %d", k.Confirmed)
	case k.Confirmed > 0 && (k.Tests < 1 || len(k.Steps) < 2) || k.Confirmed == 0 && len(k.Steps) > 1:
		return bad("it has %d steps and %d tests, confirmed by race %d", len(k.Steps), k.Tests, k.Confirmed)
	case k.Margin < 0 || k.Margin >= 1:
		return bad("its margin is %v", k.Margin)
	case k.Took < 0 || k.Enough < 0 || k.Grid < 0:
		return bad("a number is below 0")
	}
	loss := func(n int) bool { return n >= 0 && n < len(lossWords) }
	if !loss(k.Loss) {
		return bad("there is no loss %d", k.Loss)
	}
	var settings []driver.Settings
	for i, s := range k.Steps {
		if !loss(s.Loss) || !loss(s.Level) {
			return bad("step %d: there is no loss %d or %d", i, s.Loss, s.Level)
		}
		if i == 0 && (len(s.Changes) > 0 || s.Safer) {
			return bad("its first step changes something")
		}
		settings = append(settings, s.Changes, s.Added)
	}
	for _, x := range k.Tried {
		if x == nil {
			return bad("a value is missing")
		}
		if _, known := document.States[x.Status]; !known && x.Status != result.OK {
			return bad("%.40q: there is no status %.40q", x.Name, x.Status)
		}
		if err := checkRatio(x.Ratio); err != nil {
			return bad("%.40q: %w", x.Name, err)
		}
		settings = append(settings, x.With, driver.Settings{x.Name: x.Value})
	}
	for _, s := range k.Spelled {
		settings = append(settings, s.Settings)
	}
	for _, r := range k.Races {
		if r.Candidates < 0 || r.Trials < 0 || r.TookNS < 0 {
			return bad("a number of a race is below 0")
		}
	}
	for _, set := range settings {
		for name, value := range set {
			if canonical, err := driver.ParseSetting(name, value); value != "" && (err != nil || canonical != value) {
				return bad("%s=%s is not a setting", document.Line(name), document.Line(value))
			}
		}
	}
	return nil
}

func checkRatio(s stats.Summary) error {
	if s.N < 0 || s.Median < 0 || s.N > 0 && s.Median == 0 {
		return errors.New("its ratio is not one of times")
	}
	if i := s.Interval; i != nil && (i.Low <= 0 || i.High < i.Low) {
		return errors.New("its interval is not one of times")
	}
	return nil
}
