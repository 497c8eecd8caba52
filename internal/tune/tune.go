// Package tune searches for the settings that are worth setting for a workload on a driver.
// It decides which settings are measured next, in how many rounds, and what the samples say
// of them. It measures nothing itself.
//
// The search is an iterated race (López-Ibáñez and others 2016): candidates near the best
// ones known are measured in the same rounds, and the worse half of them is left out whenever
// the rounds have doubled (successive halving; Karnin, Koren, Somekh 2013). What it finds is
// measured again, in trials that it did not choose by. docs/methodology.md says more.
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

// Search looks for settings.
type Search struct {
	Time   time.Duration // in all, without building workers
	Margin float64       // 0.02: a setting that gains less than 2 % is not worth setting
	Phase  string        // the only one that counts; "": all

	// Loss returns how bad the worst loss is that settings risk, from 0 for none.
	Loss func(driver.Settings) int

	// Most is the worst loss that may be risked. Today's risks are allowed in any case.
	Most int

	// Space returns the settings to try, and those that are left out. It is called after
	// today's settings were read back.
	Space func(Situation) ([]Setting, []Skipped)

	// Measure measures the candidates of a plan in one run. The run's cases are those of the
	// first candidate, then those of the second, and so on.
	Measure func(context.Context, Plan) (*stats.Analysis, error)

	// Needs, if not nil, is called when it is known how long trials take, if there is something
	// to try.
	Needs func(Need)

	Now func() time.Time

	// The following fields are set during a search.

	found    *Finding
	deadline time.Time
	first    time.Duration     // the first trial of a candidate takes so long, with loading
	later    time.Duration     // each other trial takes so long
	forces   []driver.Settings // in force today, one for each phase of each workload
	space    []Setting
	tried    map[string]bool         // values that were in any candidate
	alone    map[string]*Tried       // each value by itself
	best     map[int]driver.Settings // the best candidate, by loss
}

// Plan is a race that is to be measured.
type Plan struct {
	What     string
	Confirms bool // the search chooses nothing by its trials

	// Candidates are changes of the workloads' own settings. The first one is empty.
	Candidates []driver.Settings

	// The run ends after some rounds, or when Settled, which may be nil, returns all of its
	// cases, as in [lab.Schedule].
	Rounds  int
	Settled func(*result.Run, int) ([]int, bool)
}

// Need says how long a search takes that tries each value by itself, gains together, and confirms
// the best.
type Need struct {
	Trial  time.Duration // of all workloads
	Values int
	Time   time.Duration // of the search, at least
}

// BaseError says that a workload has no figures with its own settings.
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

// probeRounds is how many rounds show what the workloads have today, and how long they take.
const probeRounds = 3

// mostNeighborRaces is how many races of neighbors there are at most. They end earlier if a race
// finds nothing better.
const mostNeighborRaces = 4

// Run searches. With an error it also returns the findings so far.
func (s *Search) Run(ctx context.Context) (*Finding, error) {
	s.found = &Finding{Most: s.Most, Margin: s.Margin, Phase: s.Phase}
	s.tried, s.alone, s.best = map[string]bool{}, map[string]*Tried{}, map[int]driver.Settings{}
	err := s.search(ctx)
	if len(s.found.Races) > 0 {
		s.found.Took = s.Now().Sub(s.found.Races[0].Analysis.Run.Started)
	}
	return s.found, err
}

// search measures today's settings, each value by itself, gains together, and neighbors of the
// best. The best is then confirmed.
func (s *Search) search(ctx context.Context) error {
	if err := s.probe(ctx); err != nil {
		return err
	}
	if len(s.space) == 0 {
		s.found.Steps = s.steps()
		return nil
	}
	if n := len(s.single()); n > 0 && s.Needs != nil {
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

// skip notes the values that no candidate has had, and why.
func (s *Search) skip() {
	for _, x := range s.space {
		for _, v := range x.Values {
			c := driver.Settings{x.Name: v}
			value := Skipped{words(c), "there was no time for it"}
			switch {
			case s.tried[value.Setting]:
				continue
			case !s.allowed(c):
				value.Why = "by itself it could lose more than is allowed"
			case len(s.normal(c)) == 0:
				value.Why = "it changes nothing without " + words(x.Needs)
			}
			s.found.Skipped = append(s.found.Skipped, value)
		}
	}
}

func (s *Search) probe(ctx context.Context) error {
	r, err := s.measure(ctx, Plan{What: "the settings of today", Candidates: []driver.Settings{{}}, Rounds: probeRounds, Confirms: true})
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
				s.forces = append(s.forces, inForce(o, p))
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

// inForce returns the settings in force in a phase of a case, also those that were not set.
func inForce(o *stats.Outcome, phase string) driver.Settings {
	asked := o.Case.SettingsIn(phase)
	if p := o.Proof(); p != nil && len(p.Connections) > 0 {
		return p.Connections[0].With(asked)
	}
	return asked
}
