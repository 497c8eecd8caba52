package stats

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// Met says whether an expectation of a workload is met.
type Met string

// The verdicts on an expectation.
const (
	IsMet     Met = "met"         // the whole interval of the figure is within the bound
	NotMet    Met = "not met"     // the whole interval of the figure is beyond the bound
	Undecided Met = "not decided" // the bound is inside the interval of the figure, or the figure has no interval
)

// Expected is an expectation that a workload has of one case, with its verdict.
type Expected struct {
	Case    *result.Case
	Variant string // the settings and parameters by which the case differs from others of its workload
	result.Expectation
	Met     Met
	Summary Summary
}

// Counted reports whether the figure is counted only on request, and the case requested it. Such
// figures, for example the number of syncs, are counted only with the setting [result.CountSyncs].
func (x Expected) Counted() bool {
	return result.IsAsked(x.Figure) && x.Case.Settings[result.CountSyncs] == "on"
}

// Open reports whether more rounds may decide the expectation.
func (x Expected) Open() bool { return x.Met == Undecided && x.Summary.N > 0 }

// unusable reports whether the expectation has no figure by which it could be judged.
func (x Expected) unusable() bool { return x.Met == Undecided && x.Summary.N == 0 }

// Expectations are the expectations of several cases.
type Expectations []Expected

// Any reports whether any expectation has the verdict in the parameter "met".
func (list Expectations) Any(met Met) bool {
	return slices.ContainsFunc(list, func(x Expected) bool { return x.Met == met })
}

// Expectations judges the expectations that workloads have of their phases, for each case of the run.
func (a *Analysis) Expectations() (list Expectations) {
	for g, o := range a.OutcomesByGroup() {
		for _, e := range o.Case.Expects {
			if slices.Contains(result.ExpectedFigures(), e.Figure) { // a run from another source may expect unknown figures
				x := o.expected(e)
				x.Variant = g.Variant()
				list = append(list, x)
			}
		}
	}
	return list
}

// ExpectationsOfSecond is like [Analysis.Expectations], but leaves out the first side of a comparison.
func (a *Analysis) ExpectationsOfSecond() Expectations {
	by := a.Run.Compares
	return slices.DeleteFunc(a.Expectations(), func(x Expected) bool { return by != nil && by.Value(x.Case) != by.Second })
}

func (o *Outcome) expected(e result.Expectation) Expected {
	x := Expected{Case: o.Case, Expectation: e, Met: Undecided}
	if o.Status != result.OK {
		return x
	}
	var values []float64
	var failed int64
	for _, s := range o.samples(e.Phase) {
		if v, known := figureOf(e.Figure, s.Sample); known || x.Counted() { // if syncs and writes were counted, 0 is a measured value too
			values = append(values, v)
		}
		failed += FailedOf(s.Sample)
	}
	if x.Summary = Summarize(values); len(values) == 0 {
		return x
	}
	i := x.Summary.Interval
	switch {
	case e.Figure == result.FigureErrors && e.Bound == 0: // a count is exact, so it needs no interval
		if x.Met = IsMet; failed > 0 {
			x.Met = NotMet
		}
	case i == nil:
	case e.AtLeast && i.Low >= e.Bound, !e.AtLeast && i.High <= e.Bound:
		x.Met = IsMet
	case e.AtLeast && i.High < e.Bound, !e.AtLeast && i.Low > e.Bound:
		x.Met = NotMet
	}
	return x
}

// figureOf returns a figure of a sample, in the units of [result.Expectation].
func figureOf(figure string, s *result.Sample) (v float64, known bool) {
	worst := func(of func(*latency.Summary) int64) (float64, bool) {
		return float64(s.WorstLatency(of)) / 1e9, len(s.Latency) > 0
	}
	operations := float64(max(s.Operations, 1))
	switch figure {
	case result.FigureTime:
		return float64(s.WallNS) / 1e9 / operations, true
	case result.FigureP50:
		return worst(func(l *latency.Summary) int64 { return l.P50NS })
	case result.FigureP90:
		return worst(func(l *latency.Summary) int64 { return l.P90NS })
	case result.FigureP99:
		return worst(func(l *latency.Summary) int64 { return l.P99NS })
	case result.FigureMax:
		return worst(func(l *latency.Summary) int64 { return l.MaxNS })
	case result.FigureThroughput:
		return float64(s.Operations) * 1e9 / float64(max(s.WallNS, 1)), true
	case result.FigureErrors:
		return float64(FailedOf(s)) / operations, true
	}
	m := result.MetricNamed(figure)
	if m == nil {
		return 0, false
	}
	if v, known = m.Value(s); figure == "checkpoint" {
		v /= 1e9
	}
	return v, known
}
