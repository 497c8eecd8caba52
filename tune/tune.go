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
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Search looks for settings.
type Search struct {
	Time   time.Duration // in all, without building workers
	Margin float64       // 0.02: a setting that gains less than 2 % is not worth setting
	Phase  string        // the only one that counts; "": all

	// Loss returns how bad the worst is that settings can lose: 0 if that is nothing, and the
	// more the worse.
	Loss func(driver.Settings) int

	// Most is the worst that may be lost. What can be lost today may be lost in any case.
	Most int

	// Space returns the settings to try, and what is left out. It is called when it is known
	// what is in force today.
	Space func(Situation) ([]Setting, []Skipped)

	// Measure measures the candidates of a plan in one run. The run's cases are those of the
	// first candidate, then those of the second, and so on.
	Measure func(context.Context, Plan) (*stats.Analysis, error)

	Now func() time.Time

	f        *Finding
	deadline time.Time
	first    time.Duration     // that the first trial of a candidate takes, with loading
	later    time.Duration     // that each other trial takes
	forces   []driver.Settings // what is in force today, in each phase of each workload
	space    []Setting
	tried    map[string]bool         // values that were part of any candidate
	alone    map[string]*Tried       // by value: what it is worth by itself
	best     map[int]driver.Settings // by what may be lost
}

// Plan is a race that is to be measured.
type Plan struct {
	What     string
	Confirms bool // the search chooses nothing by its trials

	// Candidates are what is changed of the workloads' own settings. The first one is empty.
	Candidates []driver.Settings

	// The run ends after some rounds, or when Settled, which may be nil, returns all of its
	// cases, as in [lab.Schedule].
	Rounds  int
	Settled func(*result.Run, int) ([]int, bool)
}

// Race is a run of a search.
type Race struct {
	What       string
	Candidates int
	Trials     int
	Analysis   *stats.Analysis
	Took       time.Duration
}

// Tried is a change of one setting, measured in a race.
type Tried struct {
	Name, Value string
	With        driver.Settings // what else was changed, in both of the sides that Ratio is of
	Ratio       stats.Summary   // of the times with it to those without
	Memory      float64         // peak resident set with it, divided by that without; 0: not known
	Status      result.Status
	Reason      *protocol.Reason // unless Status is OK
	MoreFailed  bool             // more operations failed with it
}

// String returns the setting as name=value.
func (t *Tried) String() string { return t.Name + "=" + t.Value }

// Step is a choice that the search offers.
type Step struct {
	Changes driver.Settings // of the workloads' own settings; none in the first step
	Added   driver.Settings // what differs from the step before; the value is "" if that of the workload is back
	Before  int             // index of the last step before that is worth it, with which it is compared
	Loss    int             // the worst that can be lost
	Level   int             // up to which loss the step is the choice, or on the way to it

	Ratio stats.Summary // of its times to those of the first step
	Gain  stats.Summary // of its times to those of the step before

	// Worth says that it is told apart as faster than the step before, and by more than the
	// margin. Without it, the choice ends with a step before.
	Worth bool

	MoreFailed bool // more operations failed than in the first step
	Memory     float64
	Phases     []stats.PhaseRatio // of the ratio to the first step

	Safer bool // less can be lost than today
}

// Finding is what a search found.
type Finding struct {
	Base    driver.Settings // what is in force today, in the first phase that is timed
	Loss    int             // the worst that can be lost today
	Most    int
	Margin  float64
	Steps   []*Step // confirmed in one run, Confirmed; the first one changes nothing
	Tried   []*Tried
	Skipped []Skipped
	Races   []*Race

	Confirmed *stats.Analysis
	Tests     int           // that intervals are corrected for: the steps, in at most two confirmations
	Rounds    int           // of the confirming run
	Took      time.Duration // in all
	Grid      int           // combinations of all values that may be lost
	Early     bool          // the time was over before the search had come to an end
}

// Trials returns how many trials the search took.
func (f *Finding) Trials() (n int) {
	for _, r := range f.Races {
		n += r.Trials
	}
	return n
}

// Choice returns the index of the last step on the way to a level that is worth it, as all
// steps before it are. It is 0 if nothing is worth setting.
func (f *Finding) Choice(level int) int {
	best := 0
	for i, s := range f.Steps {
		if i > 0 && !s.Safer && s.Level <= level && s.Worth && s.Before == best {
			best = i
		}
	}
	return best
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

// looks are the rounds of a race after which the worse half is left out, and last is when it
// ends. The short form is for workloads whose trials take long.
var (
	long  = schedule{[]int{2, 4}, 8}
	short = schedule{[]int{1, 2}, 4}
)

type schedule struct {
	looks []int
	last  int
}

// Run searches. With an error it also returns what was found until then.
func (s *Search) Run(ctx context.Context) (*Finding, error) {
	s.f = &Finding{Most: s.Most, Margin: s.Margin}
	s.tried, s.alone, s.best = map[string]bool{}, map[string]*Tried{}, map[int]driver.Settings{}
	err := s.search(ctx)
	if len(s.f.Races) > 0 {
		s.f.Took = s.Now().Sub(s.f.Races[0].Analysis.Run.Started)
	}
	return s.f, err
}

func (s *Search) search(ctx context.Context) error {
	if err := s.probe(ctx); err != nil {
		return err
	}
	if len(s.space) == 0 {
		s.f.Steps = s.steps()
		return nil
	}
	if err := s.singles(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) (bool, error){s.stacks, s.neighbors, s.neighbors, s.neighbors, s.neighbors} {
		if more, err := step(ctx); err != nil {
			return err
		} else if !more {
			break
		}
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
			s.f.Skipped = append(s.f.Skipped, value)
		}
	}
}

// probe measures the workloads as they are.
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
	s.first = max(r.Took-later, s.later)
	for _, o := range a.Outcomes(0) {
		for _, p := range o.Case.Phases {
			if s.Phase == "" || p == s.Phase {
				s.forces = append(s.forces, inForce(o, p))
			}
		}
	}
	s.f.Base, s.f.Loss = s.forces[0], s.loss(nil)
	at := Situation{InForce: s.forces[0], DatabaseBytes: a.DatabaseBytes(0), Most: s.Most}
	s.space, s.f.Skipped = s.Space(at)
	s.best[s.f.Loss] = driver.Settings{}
	s.f.Grid = s.grid()
	return nil
}

// inForce returns what a case had in force in a phase, also what nobody set.
func inForce(o *stats.Outcome, phase string) driver.Settings {
	asked := o.Case.SettingsIn(phase)
	if p := o.Proof(); p != nil && len(p.Connections) > 0 {
		return p.Connections[0].With(asked)
	}
	return asked
}

// loss returns the worst that can be lost with some changes.
func (s *Search) loss(changes driver.Settings) (worst int) {
	for _, f := range s.forces {
		worst = max(worst, s.Loss(f.With(changes)))
	}
	return worst
}

// allowed reports whether changes lose no more than may be lost.
func (s *Search) allowed(changes driver.Settings) bool {
	return !slices.ContainsFunc(s.forces, func(f driver.Settings) bool {
		return s.Loss(f.With(changes)) > max(s.Most, s.Loss(f))
	})
}

// grid returns how many combinations of all values there are that lose no more than may be
// lost.
func (s *Search) grid() int {
	all := []driver.Settings{{}}
	for _, x := range s.space {
		for _, c := range all {
			for _, v := range x.Values {
				all = append(all, c.With(driver.Settings{x.Name: v}))
			}
		}
		if len(all) > 1<<16 {
			return len(all) // more than anybody would measure
		}
	}
	return len(slices.DeleteFunc(all, func(c driver.Settings) bool { return !s.allowed(c) || len(s.normal(c)) < len(c) }))
}

// normal returns changes without those that change nothing: what is in force anyway, and
// what needs another setting.
func (s *Search) normal(changes driver.Settings) driver.Settings {
	c := driver.Settings{}.With(changes)
	for name, v := range changes {
		if !slices.ContainsFunc(s.forces, func(f driver.Settings) bool { return f[name] != v }) {
			delete(c, name)
		}
	}
	for _, x := range s.space {
		for name, v := range x.Needs {
			if slices.ContainsFunc(s.forces, func(f driver.Settings) bool { return f.With(c)[name] != v }) {
				delete(c, x.Name)
			}
		}
	}
	return c
}

// words returns changes as name=value, in the order of the vocabulary.
func words(changes driver.Settings) string {
	var list []string
	for _, name := range stats.SettingNames(changes) {
		list = append(list, name+"="+changes[name])
	}
	return strings.Join(list, " ")
}

// measure measures candidates, and notes what that took.
func (s *Search) measure(ctx context.Context, p Plan) (*Race, error) {
	for _, c := range p.Candidates {
		for name, v := range c {
			s.tried[name+"="+v] = true
		}
	}
	a, err := s.Measure(ctx, p)
	if a == nil {
		return nil, err
	}
	r := &Race{What: p.What, Candidates: len(p.Candidates), Trials: len(a.Run.Trials), Analysis: a, Took: s.Now().Sub(a.Run.Started)}
	s.f.Races = append(s.f.Races, r)
	return r, err
}

// takes estimates how long a race of n candidates takes.
func (s *Search) takes(n int, how schedule) time.Duration {
	d := time.Duration(n) * s.first
	round := 1
	for _, look := range how.looks {
		d += time.Duration((look-round)*n) * s.later
		round, n = look, n/2+1
	}
	return d + time.Duration((how.last-round)*n)*s.later
}

// left returns how much time there is until the confirmation must begin, which takes at least
// a third of the time and at most a half. One more step may still be found.
func (s *Search) left() time.Duration {
	n := len(s.steps()) + 1
	least := time.Duration(n) * (s.first + time.Duration(leastRounds(mostConfirms*n)-1)*s.later)
	return s.deadline.Add(-min(max(least, s.Time/3), s.Time/2)).Sub(s.Now())
}

// field is a race that is over.
type field struct {
	list []driver.Settings
	a    *stats.Alternatives
	out  map[int]bool // left out before the end
}

// race measures candidates until few are left. The first of them changes nothing; it and the
// best ones so far stay to the end. It returns nil if there is nothing to measure, or no time.
// rest are candidates for which there was no time.
func (s *Search) race(ctx context.Context, what string, list []driver.Settings) (f *field, rest []driver.Settings, err error) {
	stay := map[string]bool{"": true}
	for _, c := range s.best {
		stay[words(c)] = true
	}
	seen := map[string]bool{}
	list = slices.DeleteFunc(list, func(c driver.Settings) bool {
		again := seen[words(c)]
		seen[words(c)] = true
		return again
	})
	if len(list) == len(stay) {
		return nil, nil, nil
	}
	how := long
	if s.takes(len(list), how) > s.left() {
		how = short
	}
	n := len(list)
	for n > len(stay) && s.takes(n, how) > s.left() {
		n--
	}
	if n == len(stay) {
		return nil, list, nil
	}
	list, rest = list[:n:n], list[n:]
	f = &field{list: list, out: map[int]bool{}}
	end := s.Now().Add(max(s.left(), 0))
	r, err := s.measure(ctx, Plan{What: what, Candidates: list, Rounds: how.last, Settled: func(run *result.Run, round int) ([]int, bool) {
		switch {
		case s.Now().After(end):
			return ids(run, len(list), func(int) bool { return true }), true
		case slices.Contains(how.looks, round):
			s.halve(f, stats.AlternativesOf(run, len(list), s.Phase), stay)
			return ids(run, len(list), func(i int) bool { return f.out[i] }), true
		}
		return nil, false
	}})
	if err != nil {
		return nil, rest, err
	}
	f.a = stats.AlternativesOf(r.Analysis.Run, len(list), s.Phase)
	return f, rest, nil
}

// ids returns the cases of some of n candidates.
func ids(run *result.Run, n int, which func(int) bool) (list []int) {
	each := len(run.Cases) / n
	for i := range run.Cases {
		if which(i / each) {
			list = append(list, run.Cases[i].ID)
		}
	}
	return list
}

// halve leaves out the worse half of the candidates with each loss.
func (s *Search) halve(f *field, a *stats.Alternatives, stay map[string]bool) {
	byLoss := map[int][]int{}
	f.a = a
	for i, c := range f.list {
		if status, _ := a.Bad(i); !stay[words(c)] && !f.out[i] && status == result.OK {
			byLoss[s.loss(c)] = append(byLoss[s.loss(c)], i)
		}
	}
	for _, list := range byLoss {
		slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(f.value(i), f.value(j)) })
		for _, i := range list[(len(list)+1)/2:] {
			f.out[i] = true
		}
	}
}

// to returns the ratio of the times of two candidates.
func (f *field) to(i, j int) stats.Summary {
	return stats.SummarizeRatios(stats.Values(f.a.Ratios(i, j)))
}

// value returns the ratio by which a candidate is judged. One that is out of the question has
// an infinite one.
func (f *field) value(i int) float64 {
	status, _ := f.a.Bad(i)
	ratio := f.to(i, 0)
	if status != result.OK || f.a.MoreFailed(i) || ratio.N == 0 {
		return math.Inf(1)
	}
	return ratio.Median
}

// note keeps what a candidate says of one value, compared with another one that lacks it.
func (s *Search) note(f *field, x, value string, i, without int) {
	t := &Tried{Name: x, Value: value, With: f.list[without], Ratio: f.to(i, without), MoreFailed: f.a.MoreFailed(i)}
	t.Status, t.Reason = f.a.Bad(i)
	if m, before := f.a.Memory(i), f.a.Memory(without); before > 0 {
		t.Memory = m / before
	}
	if s.alone[t.String()] == nil {
		s.f.Tried = append(s.f.Tried, t)
		s.alone[t.String()] = t
	}
}

// levels are the losses that candidates have, ascending.
func (s *Search) levels() (list []int) {
	for level := range s.best {
		list = append(list, level)
	}
	slices.Sort(list)
	return list
}

// update chooses the best candidate for each loss, and reports whether that changes any.
func (s *Search) update(f *field) bool {
	for _, c := range f.list {
		if _, known := s.best[s.loss(c)]; !known && s.allowed(c) {
			s.best[s.loss(c)] = nil
		}
	}
	changed := false
	for _, level := range s.levels() {
		best, least := -1, math.Inf(1)
		for i, c := range f.list {
			if v := f.value(i); !f.out[i] && s.loss(c) <= level && v < least {
				best, least = i, v
			}
		}
		if best < 0 {
			if s.best[level] == nil {
				delete(s.best, level)
			}
			continue
		}
		// Of those that are as good, the one that changes least, and then takes least memory.
		for i, c := range f.list {
			if !f.out[i] && s.loss(c) <= level && f.value(i) <= least*(1+s.Margin) &&
				cmp.Or(cmp.Compare(len(c), len(f.list[best])), cmp.Compare(f.a.Memory(i), f.a.Memory(best))) < 0 {
				best = i
			}
		}
		if now := f.list[best]; s.best[level] == nil || words(now) != words(s.best[level]) {
			s.best[level], changed = now, true
		}
	}
	return changed
}

// singles measures each value by itself.
func (s *Search) singles(ctx context.Context) error {
	list := []driver.Settings{{}}
	for _, x := range s.space {
		for _, v := range x.Values {
			if c := s.normal(driver.Settings{x.Name: v}); len(c) > 0 && s.allowed(c) {
				list = append(list, c)
			}
		}
	}
	f, rest, err := s.race(ctx, "each setting by itself", list)
	if err != nil {
		return err
	}
	s.f.Early = len(rest) > 0
	if f == nil {
		return nil
	}
	for i, c := range f.list {
		for name, v := range c {
			s.note(f, name, v, i, 0)
		}
	}
	s.update(f)
	return nil
}

// gains returns the values that gain something by themselves, one for each setting, the
// greatest gain first.
func (s *Search) gains() (list []*Tried) {
	for _, t := range s.f.Tried {
		if t.Status != result.OK || t.MoreFailed || !(t.Ratio.Median < 1-s.Margin/2) || t.Ratio.N == 0 {
			continue
		}
		i := slices.IndexFunc(list, func(o *Tried) bool { return o.Name == t.Name })
		switch {
		case i < 0:
			list = append(list, t)
		case t.Ratio.Median < list[i].Ratio.Median:
			list[i] = t
		}
	}
	slices.SortStableFunc(list, func(a, b *Tried) int { return cmp.Compare(a.Ratio.Median, b.Ratio.Median) })
	return list
}

// stacks measures the gains together: the greatest, the greatest two, and so on; and with
// all of them what could not be tried before.
func (s *Search) stacks(ctx context.Context) (more bool, err error) {
	list := append([]driver.Settings{{}}, s.incumbents()...)
	for _, level := range s.possible() {
		c := driver.Settings{}
		if level < s.f.Loss && s.best[level] != nil {
			c = s.best[level]
		}
		for _, t := range s.gains() {
			if next := s.normal(c.With(driver.Settings{t.Name: t.Value})); s.allowed(next) && s.loss(next) <= level && len(next) > len(c) {
				list, c = append(list, next), next
			}
		}
		list = append(list, s.untried(c)...)
	}
	return s.further(ctx, "those that gain, together", list)
}

// possible returns the losses that there can be, ascending.
func (s *Search) possible() (list []int) {
	for level := range worst + 1 {
		if level <= max(s.Most, s.f.Loss) {
			list = append(list, level)
		}
	}
	return list
}

// untried returns candidates with each value that no candidate has had so far.
func (s *Search) untried(c driver.Settings) (list []driver.Settings) {
	for _, x := range s.space {
		for _, v := range x.Values {
			next := s.normal(c.With(driver.Settings{x.Name: v}))
			if !s.tried[x.Name+"="+v] && next[x.Name] == v && s.allowed(next) {
				list = append(list, next)
			}
		}
	}
	return list
}

// incumbents returns the best candidates so far.
func (s *Search) incumbents() (list []driver.Settings) {
	for _, level := range s.levels() {
		list = append(list, s.best[level])
	}
	return list
}

// hopeless is the ratio from which on a value is not tried again with others.
const hopeless = 1.1

// mostNeighbors is how many candidates a race has at most after the first one. More would
// take the time from those that follow.
const mostNeighbors = 24

// neighbors measures what differs from the best candidates in one setting.
func (s *Search) neighbors(ctx context.Context) (more bool, err error) {
	list := append([]driver.Settings{{}}, s.incumbents()...)
	var exchanged []exchange
	for _, c := range s.incumbents() {
		list = append(list, s.untried(c)...)
		for _, name := range stats.SettingNames(c) {
			next := driver.Settings{}.With(c)
			delete(next, name)
			if next = s.normal(next); s.allowed(next) {
				list = append(list, next)
			}
		}
		for _, x := range s.space {
			for _, v := range x.Values {
				next := s.normal(c.With(driver.Settings{x.Name: v}))
				t := s.alone[x.Name+"="+v]
				if next[x.Name] == v && s.allowed(next) && t != nil && t.Status == result.OK && !(t.Ratio.Median > hopeless) {
					exchanged = append(exchanged, exchange{next, t.Ratio.Median})
				}
			}
		}
	}
	slices.SortStableFunc(exchanged, func(a, b exchange) int { return cmp.Compare(a.ratio, b.ratio) })
	for _, x := range exchanged {
		if len(list) < mostNeighbors {
			list = append(list, x.to)
		}
	}
	return s.further(ctx, "what differs from the best in one setting", list)
}

// exchange is a candidate in which one value is another one, and what that is worth by
// itself.
type exchange struct {
	to    driver.Settings
	ratio float64
}

// further measures candidates and updates the best ones. It reports whether it is worth going
// on.
func (s *Search) further(ctx context.Context, what string, list []driver.Settings) (more bool, err error) {
	fresh := s.before()
	f, rest, err := s.race(ctx, what, list)
	if err != nil {
		return false, err
	}
	if s.f.Early = len(rest) > 0; f == nil {
		return len(rest) == 0, nil
	}
	for i, c := range f.list {
		for j, without := range f.list {
			if name := s.oneMore(without, c); name != "" && fresh[name+"="+c[name]] {
				s.note(f, name, c[name], i, j)
			}
		}
	}
	return s.update(f) || len(rest) > 0, nil
}

// before returns the values of which nothing is known yet.
func (s *Search) before() map[string]bool {
	fresh := map[string]bool{}
	for _, x := range s.space {
		for _, v := range x.Values {
			fresh[x.Name+"="+v] = s.alone[x.Name+"="+v] == nil
		}
	}
	return fresh
}

// oneMore returns the name of the only setting that one candidate changes and the other does
// not, if they agree in all others; "" otherwise.
func (s *Search) oneMore(without, c driver.Settings) (name string) {
	if len(c) != len(without)+1 {
		return ""
	}
	for n, v := range c {
		switch old, there := without[n]; {
		case there && old != v, !there && name != "":
			return ""
		case !there:
			name = n
		}
	}
	return name
}
