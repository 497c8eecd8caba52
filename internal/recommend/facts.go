// Package recommend decides which driver to take, from the facts about the candidates of a run, and
// says so in a few sentences. These sentences are the beginning of a run's report, of its page, of
// the explorer's view of the run, and of what the command `sqlite3perf advise` prints.
package recommend

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Facts are everything that [Decide] needs to know about the candidates.
type Facts struct {
	Candidates []Candidate       `json:"candidates"` // the fastest first; candidates without figures last
	Pairs      []Pair            `json:"pairs"`      // comparisons of two candidates, which are given by index
	Cells      []stats.TableName `json:"cells"`      // cells (phases of workloads, with their settings) by which speed is judged
	TooShort   bool              `json:"too_short"`  // Cells is empty, because all phases are too short or lack figures
	Rounds     int               `json:"rounds"`
	Use        defects.Use       `json:"-"`
	Leads      []Lead            `json:"leads,omitempty"` // cells in which a candidate is significantly faster than all others
	Failures   []MoreFailed      `json:"failures,omitempty"`

	lessMemory map[[2]string]bool // whether the peak memory of two drivers differs significantly; the keys are names in the order of Candidates
}

// MoreFailed says that more operations failed with the candidate More than with the candidate Than.
type MoreFailed struct {
	More string `json:"more"`
	Than string `json:"than"`

	// Further is how many more rounds would decide the comparison. It is 0 if the difference is
	// significant.
	Further int `json:"further_rounds,omitempty"`
}

// Candidate is a driver that could be recommended.
type Candidate struct {
	Name     string           `json:"name"`
	Info     driver.Info      `json:"info"`
	Version  string           `json:"version,omitempty"`
	SQLite   string           `json:"sqlite,omitempty"`
	Status   result.Status    `json:"status" jsonschema:"enum=not measured"` // worst status of the driver's cases
	Reason   *protocol.Reason `json:"reason,omitempty"`
	Where    string           `json:"where,omitempty"` // workload in which Reason occurred
	Measured bool             `json:"measured"`        // the driver has figures for speed in all of Facts.Cells

	Operations int64 `json:"operations,omitempty"` // number of operations in mixes, http phases and replays
	Failed     int64 `json:"failed,omitempty"`     // number of failed operations in mixes, http phases and replays

	// Replayed is how many of the failed operations were replayed events that violated a
	// constraint. The cause is the replay, not the driver: the database does not have the same
	// rows as when the events were recorded.
	Replayed int64 `json:"failed_in_replay,omitempty"`

	Errors []protocol.ErrorCount `json:"errors,omitempty"`

	MemoryBytes int64 `json:"memory_bytes,omitempty"` // peak memory of the process tree: the greatest of the phases' medians

	// Memory is the peak memory for each combination of settings or parameters, if there are
	// several.
	Memory []MemoryOf `json:"memory,omitempty"`

	Harmful  []defects.Defect `json:"harmful_defects,omitempty"`  // known defects that may do harm in the measured workloads
	Harmless []defects.Defect `json:"harmless_defects,omitempty"` // known defects that do no harm in the measured workloads

	Footprint *result.Footprint `json:"footprint,omitempty"`
}

// MemoryOf is the peak memory in one combination of settings and parameters of a workload.
type MemoryOf struct {
	Workload string `json:"workload"`
	Variant  string `json:"variant"` // combination, such as "pool_size=8 cache_size=-2000"
	Bytes    int64  `json:"bytes"`
}

// WithoutC reports whether the driver needs no C compiler.
func (c *Candidate) WithoutC() bool { return c.Info.Kind.WithoutC() }

// named returns the candidate with the given name. It panics if there is none.
func (f *Facts) named(name string) *Candidate { return &f.Candidates[f.index(name)] }

// Only returns the facts about the candidates for which the function "keep" returns true.
func (f *Facts) Only(keep func(*Candidate) bool) *Facts {
	next := *f
	next.Candidates, next.Pairs = []Candidate{}, []Pair{}
	to := map[int]int{} // indexes in next.Candidates, by index in f.Candidates
	for i := range f.Candidates {
		if keep(&f.Candidates[i]) {
			to[i] = len(next.Candidates)
			next.Candidates = append(next.Candidates, f.Candidates[i])
		}
	}
	for _, p := range f.Pairs {
		first, ok := to[p.First]
		second, both := to[p.Second]
		if ok && both {
			p.First, p.Second = first, second
			next.Pairs = append(next.Pairs, p)
		}
	}
	next.Failures = slices.DeleteFunc(slices.Clone(f.Failures), func(m MoreFailed) bool { return next.index(m.More) < 0 || next.index(m.Than) < 0 })
	next.Leads = slices.DeleteFunc(slices.Clone(f.Leads), func(l Lead) bool { return next.index(l.Name) < 0 })
	return &next
}

// Falsifying lists the candidate's known defects that can lose, damage or falsify data.
func (c *Candidate) Falsifying() (list []defects.Defect) {
	for _, d := range c.Harmful {
		if d.Effect.Falsifies() {
			list = append(list, d)
		}
	}
	return list
}

// Pair compares the candidates with the indexes First and Second.
type Pair struct {
	First  int           `json:"first"`
	Second int           `json:"second"`
	Time   stats.Summary `json:"time"` // time of the second candidate divided by the time of the first
	Told   bool          `json:"told"` // the times of the two candidates differ significantly

	// Further estimates how many more rounds are needed until the difference is significant, or certainly too
	// small to matter. If it is [stats.MaxRounds], at least that many rounds are needed.
	Further int `json:"further_rounds,omitempty"`

	Tail *stats.Summary `json:"tail,omitempty"` // ratio of the 99th percentiles, second to first; nil if no phase has percentiles

	tailTold bool // the 99th percentiles differ significantly, after a correction for the number of pairs
}

// settled reports whether the difference of the two candidates is clear, or certainly too small to
// matter.
func (p *Pair) settled() bool {
	i := p.Time.Interval
	return p.Told || i != nil && i.Low >= 1/(1+Matters) && i.High <= 1+Matters
}

// Lead is a cell (a phase of a workload with its settings) in which a candidate is significantly
// faster than all others.
type Lead struct {
	Cell  stats.TableName `json:"cell"`
	Name  string          `json:"name"`
	Ratio stats.Summary   `json:"ratio"` // time of the second-fastest candidate divided by the time of the candidate Name
}

// FactsOf gathers the facts about the drivers of a run. If there are other drivers, it leaves out the driver
// a.Floor, which is only measured for comparison. The keys of the map "footprints" are names of drivers.
func FactsOf(a *stats.Analysis, footprints map[string]*result.Footprint) *Facts {
	f := &Facts{Candidates: []Candidate{}, Pairs: []Pair{}, Cells: []stats.TableName{}, Rounds: a.Run.Rounds, Use: conditions.UseOf(a)}
	var outcomes conditions.Groups[string, *stats.Outcome] // by name of the driver
	for _, o := range a.Outcomes() {
		outcomes.Add(o.Case.Driver, o)
	}
	names := outcomes.Keys
	if others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return result.BaseDriver(n) == a.Floor }); len(others) > 0 {
		names = others
	}
	s := speedOf(a)
	f.Cells, f.TooShort = append(f.Cells, s.cells...), s.short
	slices.SortStableFunc(names, func(x, y string) int { // sort drivers without figures last
		return cmp.Or(cmp.Compare(min(1, len(s.points[y])), min(1, len(s.points[x]))), cmp.Compare(s.medians[x], s.medians[y]))
	})
	for _, n := range names {
		c := candidate(n, outcomes.Of[n], f.Use)
		c.Measured = len(s.points[n]) > 0
		c.Footprint = footprints[n]
		for g, o := range a.OutcomesByGroup() {
			if v := g.Variant(); v != "" && o.Case.Driver == n {
				var own Candidate
				for _, phase := range o.Case.Phases {
					own.addPhase(o, phase)
				}
				c.Memory = append(c.Memory, MemoryOf{g.Workload, v, own.MemoryBytes})
			}
		}
		f.Candidates = append(f.Candidates, c)
	}
	tails, memories := tailsOf(a, names), memoriesOf(a, names)
	told := toldApart(a, names, tails, memories)
	f.lessMemory = told[1]
	for i := range f.Candidates {
		for j := i + 1; j < len(f.Candidates); j++ {
			x, y := names[i], names[j]
			ratios, _ := stats.Ratios(s.points[y], s.points[x])
			if len(ratios) == 0 {
				continue
			}
			p := Pair{First: i, Second: j, Time: stats.SummarizeRatiosAt(stats.Values(ratios), a.Confidence)}
			test, compared := s.against(x, y)
			p.Told = compared && test.Significant()
			switch {
			case p.settled():
			case compared:
				p.Further = test.Further(p.Time, Matters, a.Confidence)
			default:
				p.Further = max(stats.Telling(len(names))-len(ratios), 1)
			}
			if tail, _ := stats.Ratios(tails[y], tails[x]); len(tail) > 0 {
				summary := stats.SummarizeRatiosAt(stats.Values(tail), a.Confidence)
				p.Tail, p.tailTold = &summary, told[0][[2]string{x, y}]
			}
			f.Pairs = append(f.Pairs, p)
		}
	}
	f.Leads = leads(a, names)
	f.Failures = failuresOf(a, f.Candidates)
	return f
}

// failuresOf lists the pairs of candidates in which more operations failed with one candidate than
// with the other, if the difference is significant or would be significant after more rounds.
func failuresOf(a *stats.Analysis, candidates []Candidate) (list []MoreFailed) {
	var names []string
	for _, c := range candidates {
		if c.Status == result.OK {
			names = append(names, c.Name)
		}
	}
	for _, p := range a.DriverFailures(names) {
		m := MoreFailed{More: names[p.First], Than: names[p.Second]}
		if p.Sign() < 0 {
			m.More, m.Than = m.Than, m.More
		}
		if enough, seems := p.Seems(); seems {
			m.Further = enough - p.N
		}
		if p.Significant() || m.Further > 0 {
			list = append(list, m)
		}
	}
	return list
}

// candidate gathers the facts about the driver with the given name from its outcomes.
func candidate(name string, outcomes []*stats.Outcome, use defects.Use) Candidate {
	c := Candidate{Name: name, Info: outcomes[0].Case.Info, Status: result.OK}
	worst := []result.Status{result.Wrong, result.Refused, result.Failed, result.Unavailable, stats.NotMeasured}
	l := defects.Library{Module: c.Info.Module}
	for _, o := range outcomes {
		at, old := slices.Index(worst, o.Status), slices.Index(worst, c.Status)
		if at >= 0 && (old < 0 || at < old) {
			c.Status, c.Reason, c.Where = o.Status, o.Reason, o.Case.Workload
		}
		if p := o.Proof(); p != nil && l.SQLite == "" {
			l = conditions.LibraryOf(o.Case, p)
			c.Version, c.SQLite = p.ModuleVersion, p.SQLiteVersion
		}
		for _, phase := range o.Case.Phases {
			c.addPhase(o, phase)
		}
	}
	for _, d := range defects.Known(l) {
		if d.Needs.Unmet(use) == nil {
			c.Harmful = append(c.Harmful, d)
		} else {
			c.Harmless = append(c.Harmless, d)
		}
	}
	return c
}

func (c *Candidate) addPhase(o *stats.Outcome, phase string) {
	var memory []float64
	for _, t := range o.Trials {
		if t.Repeated {
			continue
		}
		for i := range t.Samples {
			s := &t.Samples[i]
			if s.Phase != phase {
				continue
			}
			memory = append(memory, float64(s.PeakRSSBytes))
			if s.Metric == result.MetricTime {
				continue
			}
			c.Operations, c.Failed = c.Operations+s.Operations, c.Failed+s.Failed
			c.Replayed += s.Failed - stats.FailedOf(s)
			for _, e := range s.Errors {
				at := slices.IndexFunc(c.Errors, func(x protocol.ErrorCount) bool { return x.Code == e.Code && x.Name == e.Name })
				if at < 0 {
					c.Errors = append(c.Errors, e)
				} else {
					c.Errors[at].Count += e.Count
					c.Errors[at].WaitNS += e.WaitNS
				}
			}
		}
	}
	c.MemoryBytes = max(c.MemoryBytes, int64(stats.Summarize(memory).Median))
}

// speed has the figures by which the speed of drivers is judged. The keys of the maps "points" and "medians"
// are names of drivers. A driver has one point for each round: its figure over all tables of the run. If the
// run has no such figures and only one table (the figures of one phase), the points are the driver's times in
// this table.
type speed struct {
	cells   []stats.TableName
	points  map[string][]stats.Point
	medians map[string]float64
	against func(x, y string) (stats.Test, bool)
	short   bool // cells is empty, because no cell is long enough and has enough candidates to judge speed by
}

func speedOf(a *stats.Analysis) speed {
	s := speed{points: map[string][]stats.Point{}, medians: map[string]float64{}, against: func(_, _ string) (t stats.Test, ok bool) { return t, false }}
	var pairs []stats.Pair
	var order []string
	add := func(name string, points []stats.Point, median float64) {
		order = append(order, name)
		s.points[name], s.medians[name] = points, median
	}
	if o := a.Overall; len(o.Drivers) > 1 {
		s.cells, pairs = o.Tables, o.Pairs
		for _, d := range o.Drivers {
			add(d.Case.Driver, d.Points, d.Ratio.Median)
		}
	} else {
		var only *stats.Table
		for g, t := range a.Tables() {
			if len(t.Measured()) > 0 {
				s.cells, only = append(s.cells, g.Named(t)), t
			}
		}
		s.short = len(s.cells) > 1 || only != nil && slices.ContainsFunc(only.Measured(), (*stats.Cell).TooShort)
		if s.short || only == nil {
			s.cells = nil
			return s
		}
		pairs = only.Pairs
		for _, c := range only.Measured() {
			add(c.Case.Driver, c.Points(), c.Summary.Median)
		}
	}
	s.against = func(x, y string) (stats.Test, bool) {
		return stats.Against(pairs, slices.Index(order, x), slices.Index(order, y))
	}
	return s
}

// tailsOf returns the geometric mean of the 99th percentiles of all operations of mixes, http
// phases and replays, by driver and round. A driver that lacks an operation in a round has no mean
// for this round.
func tailsOf(a *stats.Analysis, names []string) map[string][]stats.Point {
	logs := map[string]map[int]float64{} // logarithms, by driver and round
	count := map[string]map[int]int{}
	most := 0
	for _, n := range names {
		logs[n], count[n] = map[int]float64{}, map[int]int{}
	}
	for _, t := range a.Tables() {
		for _, c := range t.Measured() {
			n := c.Case.Driver
			if logs[n] == nil {
				continue
			}
			for _, s := range c.Samples {
				for _, l := range s.Latency {
					if l.P99NS > 0 {
						logs[n][s.Round] += math.Log(float64(l.P99NS))
						count[n][s.Round]++
						most = max(most, count[n][s.Round])
					}
				}
			}
		}
	}
	tails := map[string][]stats.Point{}
	for _, n := range names {
		for _, round := range slices.Sorted(maps.Keys(logs[n])) {
			if count[n][round] == most {
				tails[n] = append(tails[n], stats.Point{Round: round, Value: math.Exp(logs[n][round] / float64(most))})
			}
		}
	}
	return tails
}

func memoriesOf(a *stats.Analysis, names []string) map[string][]stats.Point {
	peaks := map[string][]stats.Point{}
	for _, n := range names {
		byRound := map[int]float64{}
		for _, o := range a.Outcomes() {
			for _, t := range o.Trials {
				if o.Case.Driver != n || t.Repeated || t.Status != result.OK {
					continue
				}
				for i := range t.Samples {
					byRound[t.Round] = max(byRound[t.Round], float64(t.Samples[i].PeakRSSBytes))
				}
			}
		}
		for _, round := range slices.Sorted(maps.Keys(byRound)) {
			if byRound[round] > 0 {
				peaks[n] = append(peaks[n], stats.Point{Round: round, Value: byRound[round]})
			}
		}
	}
	return peaks
}

// toldApart compares the figures of all pairs of drivers. For each element of "figures", it returns the
// pairs that differ significantly. The names of a pair are in the order of "names". The tests of all
// pairs and figures are corrected together for multiple comparisons, because any of them may show an
// advantage.
func toldApart(a *stats.Analysis, names []string, figures ...map[string][]stats.Point) []map[[2]string]bool {
	families, of := make([][][]stats.Point, len(figures)), make([][]int, len(figures))
	for k, figure := range figures {
		for i, n := range names {
			if len(figure[n]) > 0 {
				families[k], of[k] = append(families[k], figure[n]), append(of[k], i)
			}
		}
	}
	told := make([]map[[2]string]bool, len(figures))
	for k, pairs := range a.CompareFamilies(families...) {
		told[k] = map[[2]string]bool{}
		for _, p := range pairs {
			if i, j := of[k][p.First], of[k][p.Second]; p.Significant() {
				told[k][[2]string{names[min(i, j)], names[max(i, j)]}] = true
			}
		}
	}
	return told
}

// leads lists the phases in which a candidate is significantly faster than all others.
func leads(a *stats.Analysis, names []string) (list []Lead) {
	for g, t := range a.Tables() {
		var at []int // indexes of the candidates in t.Cells; later sorted by median
		for i, c := range t.Measured() {
			if slices.Contains(names, c.Case.Driver) && c.Unranked == "" {
				at = append(at, i)
			}
		}
		if len(at) < 2 {
			continue
		}
		slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(t.Cells[i].Summary.Median, t.Cells[j].Summary.Median) })
		alone := !slices.ContainsFunc(at[1:], func(j int) bool {
			test, ok := t.Against(at[0], j)
			return !ok || !test.Significant() || test.Sign() >= 0
		})
		if alone {
			list = append(list, Lead{g.Named(t), t.Cells[at[0]].Case.Driver, t.Ratio(stats.Pair{First: at[1], Second: at[0]})})
		}
	}
	return list
}
