// Package tune searches for the settings that are worth setting for a workload on a driver. It
// decides which settings are measured next and in how many rounds, and what the samples show. It
// measures nothing itself.
//
// The search is an iterated race (López-Ibáñez and others 2016): candidates near the best ones so
// far are measured in the same rounds, and the worse half of them is left out whenever the number
// of rounds has doubled (successive halving; Karnin, Koren, Somekh 2013). The settings that the
// race finds are measured again, in trials that did not influence the choice. docs/methodology.md
// says more.
//
// In this package, "today's settings" and "the present settings" are the settings in force if the
// search changes nothing.
package tune

import (
	"context"
	"fmt"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Search looks for settings that are worth setting.
type Search struct {
	Time   time.Duration // time limit of the entire search, without building workers
	Margin float64       // least gain that makes a setting worth setting, as a fraction of the time, such as 0.02
	Phase  string        // name of the only phase whose time counts; "" if all phases count

	// Loss returns, as a number, the worst loss of data that settings risk. 0 means that nothing can be
	// lost.
	Loss func(driver.Settings) int

	// Most is the worst loss of data that the search may risk. Losses that today's settings risk are
	// always allowed.
	Most int

	// Space returns the settings to try, and the settings that are left out. It is called after
	// today's settings have been read back.
	Space func(Situation) ([]Setting, []Skipped)

	// Measure measures the candidates of a plan in one run. The cases of the first candidate come
	// first in the run, then the cases of the second, and so on.
	Measure func(context.Context, Plan) (*stats.Analysis, error)

	// Needs, if not nil, is called with the time that a complete search needs, as soon as the time
	// of a trial has been measured. It is not called if there are no values to try.
	Needs func(Need)

	Now func() time.Time

	// The following fields are set during a search.

	found    *Finding
	deadline time.Time
	first    time.Duration     // time of a candidate's first trial, including the loading of the database
	later    time.Duration     // time of each later trial
	forces   []driver.Settings // settings in force today, one element for each phase of each workload
	space    []Setting
	tried    map[string]bool         // values that some candidate has had so far, as name=value
	alone    map[string]*Tried       // the first result of each value, by name=value
	best     map[int]driver.Settings // for each loss of data that may be risked, the best of the candidates that risk no greater loss
}

// Plan describes a race (a comparison of candidates) that is to be measured.
type Plan struct {
	What     string
	Confirms bool // true if the race confirms steps; the search then does not use the race to choose candidates

	// Candidates are changes of the workloads' own settings. The first candidate is empty.
	Candidates []driver.Settings

	// The run ends after Rounds rounds, or as soon as Settled returns the IDs of all cases of the
	// run, as in [lab.Schedule]. Settled may be nil.
	Rounds  int
	Settled func(*result.Run, int) ([]int, bool)
}

// Need says how long a search must be to try each value by itself, try the faster values
// together, and confirm the best settings.
type Need struct {
	Trial  time.Duration // time of one trial of each workload
	Values int
	Time   time.Duration // least time of the search
}

// BaseError says that a workload has no figures even with its own settings.
type BaseError struct {
	Workload string
	Status   result.Status
	Reason   *protocol.Reason
}

func (e *BaseError) Error() string {
	where := e.Workload
	if e.Reason.Phase != "" {
		where += " " + e.Reason.Phase
	}
	return fmt.Sprintf("%s is %s with its own settings already: %s", where, e.Status, e.Reason.Message)
}

// probeRounds is the number of rounds for finding out which settings are in force today, and how
// long trials take.
const probeRounds = 3

// mostNeighborRaces is the greatest number of races among neighbors (candidates that differ from
// the best ones in one setting). If a race finds no better candidate, no further race follows.
const mostNeighborRaces = 4

// Run searches for settings. If the search fails, Run returns the findings so far with the error.
func (s *Search) Run(ctx context.Context) (*Finding, error) {
	s.found = &Finding{Most: s.Most, Margin: s.Margin, Phase: s.Phase}
	s.tried, s.alone, s.best = map[string]bool{}, map[string]*Tried{}, map[int]driver.Settings{}
	err := s.search(ctx)
	if len(s.found.Races) > 0 {
		s.found.Took = s.Now().Sub(s.found.Races[0].Analysis.Run.Started)
	}
	return s.found, err
}

// search measures today's settings, each value by itself, the faster values together, and neighbors
// of the best candidates. Then it confirms the best.
func (s *Search) search(ctx context.Context) error {
	if err := s.probe(ctx); err != nil {
		return err
	}
	if len(s.space) == 0 {
		s.found.Steps = s.steps()
		return nil
	}
	if n := len(s.untried(nil)); n > 0 && s.Needs != nil {
		s.Needs(Need{s.later, n, s.least(s.spent() + s.takes(n+1, short) + s.takes(n/2+1, short))})
	}
	if err := s.singles(ctx); err != nil {
		return err
	}
	more, err := s.stacks(ctx)
	for range mostNeighborRaces {
		if more && err == nil {
			more, err = s.neighbors(ctx)
		}
	}
	if err != nil {
		return err
	}
	s.skip()
	return s.confirm(ctx)
}

// skip adds to s.found.Skipped the values that no candidate has had, with the reason.
func (s *Search) skip() {
	for _, x := range s.space {
		for _, v := range x.Values {
			c := driver.Settings{x.Name: v}
			value := Skipped{stats.SettingWords(c), "there was no time for it"}
			switch {
			case s.tried[value.Setting]:
				continue
			case !s.allowed(c):
				value.Why = "by itself it could lose more than is allowed"
			case len(s.normal(c)) == 0:
				value.Why = "it changes nothing without " + stats.SettingWords(x.Needs)
			}
			s.found.Skipped = append(s.found.Skipped, value)
		}
	}
}

func (s *Search) probe(ctx context.Context) error {
	r, err := s.measure(ctx, Plan{What: "the present settings", Candidates: []driver.Settings{{}}, Rounds: probeRounds, Confirms: true})
	if err != nil {
		return err
	}
	a := stats.AlternativesOf(r.Analysis.Run, 1, s.Phase)
	if status, reason := a.Bad(0); status != result.OK {
		return &BaseError{a.Outcomes(0)[0].Case.Workload, status, reason}
	}
	var later time.Duration
	for _, t := range r.Analysis.Run.Trials {
		if t.Round > 1 {
			later += time.Duration(t.TookNS)
		}
	}
	s.deadline = r.Analysis.Run.Started.Add(s.Time)
	s.later = max(later/(probeRounds-1), time.Millisecond)
	s.first = max(r.took-later, s.later)
	for _, o := range a.Outcomes(0) {
		for _, p := range o.Case.Phases {
			if s.Phase == "" || p == s.Phase {
				s.forces = append(s.forces, o.InForce(o.Case.SettingsIn(p)))
			}
		}
	}
	s.found.Base, s.found.Loss = s.forces[0], s.loss(nil)
	at := Situation{InForce: s.forces[0], DatabaseBytes: a.DatabaseBytes(0), Most: s.Most}
	s.space, s.found.Skipped = s.Space(at)
	s.best[s.found.Loss] = driver.Settings{}
	s.found.Grid = s.grid()
	return nil
}
