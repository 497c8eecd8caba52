package stats

import (
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Alternatives are several ways of doing the same work, for example with different settings. A run
// has measured all of them in the same rounds. Each alternative has the same number of cases, one
// for each workload with its parameters.
type Alternatives struct {
	ways [][]*Outcome // the outcomes of each alternative's cases
	work []workCell   // phases whose ratios are computed; the same for each alternative
}

type workCell struct {
	place int // index of the case within its alternative
	phase string
}

// AlternativesOf returns the n alternatives of a run. The run must list the cases of the first
// alternative, then the cases of the second, and so on. Only the phase with the given name counts;
// "" means all phases. Phases that are too short to compare alternatives count only if all phases
// are too short.
func AlternativesOf(run *result.Run, n int, phase string) *Alternatives {
	outcomes := (&Analysis{Run: run}).judgeCases()
	each := len(outcomes) / n
	a := &Alternatives{}
	for i := range n {
		a.ways = append(a.ways, outcomes[i*each:(i+1)*each])
	}
	var short []workCell
	for place, o := range a.ways[0] {
		for _, p := range o.Case.Phases {
			if phase != "" && p != phase {
				continue
			}
			if c := a.cell(0, workCell{place, p}); c.TooShort() {
				short = append(short, workCell{place, p})
			} else {
				a.work = append(a.work, workCell{place, p})
			}
		}
	}
	if a.work == nil {
		a.work = short
	}
	return a
}

func (a *Alternatives) cell(i int, w workCell) *Cell {
	o := a.ways[i][w.place]
	return &Cell{Outcome: o, Status: o.Status, Samples: o.samples(w.phase)}
}

// Outcomes returns how the cases of alternative i ended.
func (a *Alternatives) Outcomes(i int) []*Outcome { return a.ways[i] }

// Bad returns the status and the reason of the first case of alternative i that is not OK. It returns OK and
// nil if all cases are OK.
func (a *Alternatives) Bad(i int) (result.Status, *protocol.Reason) {
	for _, o := range a.ways[i] {
		if o.Status != result.OK {
			return o.Status, o.Reason
		}
	}
	return result.OK, nil
}

// shares returns, for each round, the share of operations that failed in alternative i. It is the
// mean of the shares of all phases.
func (a *Alternatives) shares(i int) []Point {
	var sets [][]Point
	for _, w := range a.work {
		sets = append(sets, a.cell(i, w).shares())
	}
	return AcrossSets(sets, Mean)
}

// MoreFailed compares the shares of operations that failed in alternative i and in the first
// alternative. The p-value is corrected for the number of such comparisons, which is the parameter
// "tests". The result "told" is true if significantly more operations of alternative i failed. The
// result "seems" is true if there are at least four rounds, and more operations of alternative i
// failed in each of them. Differences of at most [FailureMargin] do not count.
func (a *Alternatives) MoreFailed(i, tests int) (told, seems bool) {
	t := compareShares(within(a.shares(i), a.shares(0)))
	return t.sign > 0 && t.P*float64(tests) < Alpha, t.Delta == 1 && t.N >= 4
}

// Succeeded returns the share of alternative i's operations that did not fail, from 0 to 1.
func (a *Alternatives) Succeeded(i int) float64 {
	shares := Values(a.shares(i))
	if len(shares) == 0 {
		return 1
	}
	return 1 - Mean(shares)
}

// Ratios returns, for each round, the time of alternative i divided by the time of alternative j.
// The ratio is the geometric mean of the phases' ratios.
func (a *Alternatives) Ratios(i, j int) []Point {
	var sets [][]Point
	for _, w := range a.work {
		sets = append(sets, costRatios(a.cell(i, w), a.cell(j, w)))
	}
	return GeoMeans(sets)
}

// PhaseRatio is the ratio of the times of two alternatives in one phase.
type PhaseRatio struct {
	TableName
	Ratio Summary `json:"ratio"`
}

// Phases returns, for each phase, the time of alternative i divided by the time of alternative j. It
// leaves out the phases that [AlternativesOf] leaves out. The intervals are wide enough that, with
// at least the given confidence, every interval contains its true ratio.
func (a *Alternatives) Phases(i, j int, confidence float64) (list []PhaseRatio) {
	confidence = 1 - (1-confidence)/float64(max(len(a.work), 1))
	for _, w := range a.work {
		x, y := a.cell(i, w), a.cell(j, w)
		name := TableName{Workload: x.Case.Workload, Phase: w.phase}
		list = append(list, PhaseRatio{name, SummarizeRatiosAt(Values(costRatios(x, y)), confidence)})
	}
	return list
}

// Memory returns the peak memory use (resident set) of alternative i in bytes, or 0 if it is
// unknown. For each case, Memory computes the median over its trials. It returns the greatest of
// these medians.
func (a *Alternatives) Memory(i int) float64 {
	return a.greatest(i, func(s *result.Sample) int64 { return s.PeakRSSBytes })
}

// DatabaseBytes returns the size in bytes of the database of alternative i. For each trial, it
// takes the greatest size at the end of any phase. For each case, it computes the median over the
// trials. It returns the greatest of these medians.
func (a *Alternatives) DatabaseBytes(i int) float64 {
	return a.greatest(i, func(s *result.Sample) int64 { return s.DatabaseBytes })
}

func (a *Alternatives) greatest(i int, of func(*result.Sample) int64) (most float64) {
	for _, o := range a.ways[i] {
		var each []float64
		for _, t := range o.Trials {
			value := int64(0)
			for k := range t.Samples {
				value = max(value, of(&t.Samples[k]))
			}
			if len(t.Samples) > 0 && !t.Repeated {
				each = append(each, float64(value))
			}
		}
		most = max(most, Summarize(each).Median)
	}
	return most
}

func costRatios(a, b *Cell) []Point {
	perOp := operationsDiffer([]*Cell{a, b})
	ratios, _ := Ratios(costs(a, perOp), costs(b, perOp))
	return ratios
}

// costs returns the times of a cell's samples in seconds. Each time includes the time of the
// checkpoint that empties the WAL after the phase, because otherwise a setting that postpones
// checkpoints would seem to save their time. Latencies do not include it.
func costs(c *Cell, perOp bool) []Point {
	return c.points(func(s *result.Sample) float64 {
		if s.Metric == result.MetricLatency {
			return s.Value()
		}
		cost := float64(s.WallNS+s.CheckpointNS) / 1e9
		if perOp || s.Metric == result.MetricTimePerOp {
			cost /= float64(max(s.Operations, 1))
		}
		return cost
	})
}
