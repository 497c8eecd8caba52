package stats

import (
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Alternatives are several ways of doing the same work that a run has measured in the same
// rounds, such as with other settings. Each has the same number of cases, one for each
// workload with its parameters.
type Alternatives struct {
	ways [][]*Outcome // by alternative
	work []workCell   // that ratios are of, in each way
}

type workCell struct {
	place int // of the case, within its alternative
	phase string
}

// AlternativesOf returns the n alternatives of a run. The run's cases are those of the first
// one, then those of the second, and so on. Only the given phase counts; "" means all of
// them. Phases that are too short to judge by don't count unless there are no others.
func AlternativesOf(run *result.Run, n int, phase string) *Alternatives {
	outcomes := (&Analysis{Run: run}).outcomes()
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

// Outcomes returns how the cases of an alternative ended.
func (a *Alternatives) Outcomes(i int) []*Outcome { return a.ways[i] }

// Bad returns the status of an alternative that has no figures, and the reason. It is OK if
// there are figures.
func (a *Alternatives) Bad(i int) (result.Status, *protocol.Reason) {
	for _, o := range a.ways[i] {
		if o.Status != result.OK {
			return o.Status, o.Reason
		}
	}
	return result.OK, nil
}

// shares returns the share of an alternative's operations that failed, by round: the mean over
// the phases.
func (a *Alternatives) shares(i int) []Point {
	var sets [][]Point
	for _, w := range a.work {
		sets = append(sets, a.cell(i, w).shares())
	}
	return acrossSets(sets, arithmeticMean)
}

// MoreFailed compares the failed operations of an alternative with those of the first one, as
// one of several comparisons. told says that more failed, and seems that they did in each of at
// least four rounds.
func (a *Alternatives) MoreFailed(i, tests int) (told, seems bool) {
	t := compareShares(within(a.shares(i), a.shares(0)))
	return t.sign > 0 && t.P*float64(tests) < Alpha, t.Delta == 1 && t.N >= 4
}

// Succeeded returns the share of an alternative's operations that did not fail.
func (a *Alternatives) Succeeded(i int) float64 {
	shares := Values(a.shares(i))
	if len(shares) == 0 {
		return 1
	}
	return 1 - Mean(shares)
}

// Ratios returns the times of alternative i divided by those of alternative j, round by
// round: the geometric mean over the phases.
func (a *Alternatives) Ratios(i, j int) []Point {
	var sets [][]Point
	for _, w := range a.work {
		sets = append(sets, costRatios(a.cell(i, w), a.cell(j, w)))
	}
	return geoMeans(sets)
}

// PhaseRatio is the ratio of two alternatives in one phase.
type PhaseRatio struct {
	TableName
	Ratio Summary `json:"ratio"`
}

// Phases returns the ratio of alternative i to alternative j in each phase that counts, with
// intervals that hold all together with at least the given level.
func (a *Alternatives) Phases(i, j int, confidence float64) (list []PhaseRatio) {
	confidence = 1 - (1-confidence)/float64(max(len(a.work), 1))
	for _, w := range a.work {
		x, y := a.cell(i, w), a.cell(j, w)
		name := TableName{Workload: x.Case.Workload, Phase: w.phase}
		list = append(list, PhaseRatio{name, SummarizeRatiosAt(Values(costRatios(x, y)), confidence)})
	}
	return list
}

// Memory returns the peak resident set of an alternative in bytes: the median over its
// trials, of the case for which that is greatest. It is 0 if it is not known.
func (a *Alternatives) Memory(i int) float64 {
	return a.greatest(i, func(s *result.Sample) int64 { return s.PeakRSSBytes })
}

// DatabaseBytes returns the size of the largest database of an alternative after any phase,
// as the median over its trials.
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

// costs returns the times of a cell with those of the checkpoints that empty the WAL after
// it. Otherwise a setting that puts checkpoints off would seem to save them. A latency is
// what it is.
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
