package stats

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Verdict is what samples say of the second side of a comparison, measured by the first.
type Verdict string

// The verdicts, in the order in which cells are listed. All but Unclear settle a cell.
const (
	Bad       Verdict = "bad"          // a side has no figures; Compared.Why says which, and why
	Differing Verdict = "differing"    // the answers of the sides differ
	FailsMore Verdict = "more failed"  // a larger share of the second side's operations failed
	FailsLess Verdict = "fewer failed" // a smaller share of the second side's operations failed
	Slower    Verdict = "slower"
	Unclear   Verdict = "unclear" // not enough rounds yet
	Faster    Verdict = "faster"
	Same      Verdict = "same" // the intervals of the ratio, of the ratio of means and of the failures are within the margin
)

var verdictOrder = []Verdict{Bad, Differing, FailsMore, FailsLess, Slower, Unclear, Faster, Same}

// Doubt is the greatest probability that a comparison of two equal sides calls any cell
// slower or faster, or says that more operations of one side failed. It is less than [Alpha],
// because users act on comparisons.
const Doubt = 0.01

// Metric is a figure of a phase by which two sides are compared: [Time], or the name of one of
// [result.Metrics]. Less is better in each.
type Metric string

// Time is what a phase is judged by: its time, or at a fixed rate the latency.
const Time Metric = "time"

// Metrics are all metrics.
var Metrics = compared()

func compared() []Metric {
	list := []Metric{Time}
	for _, m := range result.Metrics {
		if m.Compared {
			list = append(list, Metric(m.Name))
		}
	}
	return list
}

// Cost returns the metric of samples; nil for [Time].
func (m Metric) Cost() *result.Metric {
	i := slices.IndexFunc(result.Metrics, func(x result.Metric) bool { return x.Name == string(m) })
	if i < 0 {
		return nil
	}
	return &result.Metrics[i]
}

// of returns a sample's value of a metric other than [Time], or 0 if it is unknown.
func (m Metric) of(s *result.Sample) float64 {
	v, _ := m.Cost().Value(s)
	return v
}

// Comparison says whether the second of two sides is slower than the first, or needs more
// of another metric, cell by cell.
type Comparison struct {
	Metric        Metric
	First, Second string
	Margin        float64 // 0.02: a difference of less than 2 % does not matter

	// Interleaved: both sides were measured in the same rounds. Otherwise whatever
	// changed on the machine in between is part of each ratio.
	Interleaved bool

	// Pairs is of how many pairs of drivers of the run this is one: p-values are corrected for
	// all of their cells, because it may have been chosen for its results.
	Pairs int

	Cells []*Compared // by verdict, in the order of the verdicts
	Alone []string    // cells that only one side has
	Mean  *Summary    // geometric mean, by round, of the ratios of the cells that Averaged counts; nil if not interleaved
}

// Compared is a cell of a comparison: the same phase of the same work on both sides.
type Compared struct {
	TableName
	Metric        Metric
	First, Second *Cell
	Verdict       Verdict
	Why           string   // of Bad and Differing, and of what is said of operations that failed
	Failing       *Failing // nil if no operation of either side failed

	// Ratio is the second side's time, or other metric, divided by the first's. Its
	// interval is one of 99 %, corrected for the number of looks.
	Ratio Summary
	PerOp bool // times are per operation, because the sides did different numbers of operations

	// Means is the second side's mean divided by the first's, with an interval of the same
	// confidence by Student's t. Ratio is that of typical trials: trials that are slow now
	// and then hardly change it, but they do change the mean.
	Means Summary

	// Typical says that the whole interval of Ratio is within the margin.
	Typical bool

	// FailAlike says that the whole interval of the difference of the shares of operations that
	// failed is within the margin, or that none failed.
	FailAlike bool

	P        float64 // of the two-sided test, corrected for the number of looks
	Adjusted float64 // corrected for the number of cells as well

	// Rounds is an estimate of how many more rounds an Unclear cell takes, and Time of
	// how long these take. They are 0 for other cells.
	Rounds int
	Time   time.Duration

	interleaved bool // both sides were measured in the same rounds

	looks float64 // P was multiplied by this factor, because the run was judged repeatedly
	least float64 // the smallest possible P with this number of rounds
	tests int     // comparisons that P is corrected for, of all pairs
}

// Settled returns the IDs of the cases of which no cell needs further rounds, as long as
// the others go on.
func (c *Comparison) Settled() []int { return c.SettledBy((*Compared).Settled) }

// SettledBy is Settled for those who decide in their own way whether a cell is.
func (c *Comparison) SettledBy(settled func(*Compared) bool) []int {
	open := map[int]bool{}
	for _, x := range c.Cells {
		if !settled(x) {
			open[x.First.Case.ID], open[x.Second.Case.ID] = true, true
		}
	}
	var ids []int
	for _, x := range c.Cells {
		for _, id := range []int{x.First.Case.ID, x.Second.Case.ID} {
			if !open[id] && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Measured reports whether a cell has a ratio.
func (x *Compared) Measured() bool {
	return x.Verdict != Bad && x.Verdict != Differing && !x.FailuresTold()
}

// FailuresTold reports whether the cell's verdict is on the operations that failed.
func (x *Compared) FailuresTold() bool { return x.Verdict == FailsMore || x.Verdict == FailsLess }

// FailuresOpen reports whether the cell has no verdict because of the operations that failed.
func (x *Compared) FailuresOpen() bool { return x.Verdict == Unclear && x.Why != "" }

// Settled reports whether a cell keeps its verdict whatever becomes of the others.
func (x *Compared) Settled() bool {
	switch x.Verdict {
	case Slower, Faster:
		return x.P*float64(x.tests) < Doubt // Holm's correction is at most that
	case FailsMore, FailsLess:
		return x.Failing.P*float64(x.tests) < Doubt
	}
	return x.Verdict != Unclear
}

// Measured returns how many cells have a ratio.
func (c *Comparison) Measured() int { return countIf(c.Cells, (*Compared).Measured) }

// Averaged returns how many cells Mean is of: those that have a ratio, without phases that
// are too short to judge drivers by.
func (c *Comparison) Averaged() int {
	return countIf(c.Cells, func(x *Compared) bool { return x.Measured() && !x.TooShort() })
}

// Count returns how many cells have the verdict.
func (c *Comparison) Count(v Verdict) int {
	return countIf(c.Cells, func(x *Compared) bool { return x.Verdict == v })
}

func countIf[T any](list []T, is func(T) bool) (n int) {
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

// AnswersDiffer reports whether the sides have different answers in any cell.
func (c *Comparison) AnswersDiffer() bool { return c.Count(Differing) > 0 }

// CompareRun compares the two sides of a run that was made to compare them, as its
// Compares says. It returns nil if the run compares nothing.
func CompareRun(a *Analysis) *Comparison { return CompareRunBy(a, Time) }

// CompareRunBy is [CompareRun] by another metric. Cells in which it is not known are left
// out.
func CompareRunBy(a *Analysis, metric Metric) *Comparison {
	by := a.Run.Compares
	if by == nil {
		return nil
	}
	c := &Comparison{Metric: metric, First: by.Side(by.First), Second: by.Side(by.Second), Margin: by.Margin, Interleaved: true, Pairs: 1}
	c.pair(a.cells(by.First, by), a.cells(by.Second, by), true)
	c.judge(looked(by), true)
	return c
}

// CompareDrivers compares two drivers of a run that measured others as well, by time. A
// margin of 0.02 is 2 %.
func CompareDrivers(a *Analysis, first, second string, margin float64) *Comparison {
	var drivers []string
	for _, c := range a.Run.Cases {
		if !slices.Contains(drivers, c.Driver) {
			drivers = append(drivers, c.Driver)
		}
	}
	by := &result.Compares{Factor: result.FactorDriver, First: first, Second: second}
	c := &Comparison{Metric: Time, First: first, Second: second, Margin: margin, Interleaved: true, Pairs: len(drivers) * (len(drivers) - 1) / 2}
	c.pair(a.cells(first, by), a.cells(second, by), true)
	looks := looked(a.Run.Compares)
	if factor := looking(a.Confidence); factor > 1 { // it was decided after each round what is settled
		looks = func(int) float64 { return factor }
	}
	c.judge(looks, true)
	return c
}

// CompareRuns compares what two runs, with the given names, have in common. A margin of
// 0.02 is 2 %. If the runs have one driver each, these are compared even if they differ.
func CompareRuns(names [2]string, first, second *Analysis, margin float64) *Comparison {
	return Across{Metric: Time, Names: names, Margin: margin}.Compare(first, second)
}

// Across says how two runs are compared.
type Across struct {
	Metric  Metric // cells in which it is not known are left out
	Names   [2]string
	Margin  float64
	Looks   bool // the second run was to end when the answer was clear
	Changed bool // workloads are compared by name, even if one has been changed
}

// Compare is [CompareRuns] in the given way.
func (how Across) Compare(first, second *Analysis) *Comparison {
	c := &Comparison{Metric: how.Metric, First: how.Names[0], Second: how.Names[1], Margin: how.Margin, Pairs: 1}
	var by *result.Compares
	if a, b := soleDriver(first), soleDriver(second); a != "" && b != "" && a != b {
		by = &result.Compares{Factor: result.FactorDriver}
		c.First, c.Second = driverIn(c.First, a), driverIn(c.Second, b)
	}
	sides := [2][]keyed{first.cells("", by), second.cells("", by)}
	if how.Changed {
		for _, side := range sides {
			for i := range side {
				_, side[i].key, _ = strings.Cut(side[i].key, " ")
			}
		}
	}
	c.pair(sides[0], sides[1], first.Run.Seed == second.Run.Seed)
	c.judge(looked(&result.Compares{Looks: how.Looks}), false)
	return c
}

func driverIn(run, driver string) string {
	if driver == run {
		return driver
	}
	return driver + " in " + run
}

func soleDriver(a *Analysis) string {
	name := ""
	for _, c := range a.Run.Cases {
		if name != "" && c.Driver != name {
			return ""
		}
		name = c.Driver
	}
	return name
}

// looked returns the factor by which looks up to some rounds multiply the p-values of a run.
func looked(by *result.Compares) func(rounds int) float64 {
	if by != nil && by.Looks {
		return spent
	}
	return func(int) float64 { return 1 }
}

// judge compares the cells that can be compared. looks is the factor by which deciding, up to
// some rounds, whether to go on has multiplied p-values.
func (c *Comparison) judge(looks func(rounds int) float64, interleaved bool) {
	var tests []*Compared
	var family []*float64 // p-values, which are corrected together
	for _, x := range c.Cells {
		if x.Verdict != "" {
			continue
		}
		x.measure(looks, interleaved)
		x.Adjusted = x.P
		tests, family = append(tests, x), append(family, &x.Adjusted)
		if x.Failing = x.compareFailures(interleaved); x.Failing != nil {
			family = append(family, &x.Failing.Adjusted)
		}
	}
	holm(family, c.Pairs)
	for _, x := range tests {
		x.tests = len(family) * c.Pairs
		x.decide(c)
	}
	if interleaved {
		c.Mean = mean(slices.DeleteFunc(tests, func(x *Compared) bool { return x.TooShort() || !x.Measured() }), looks)
	}
	slices.SortStableFunc(c.Cells, func(a, b *Compared) int {
		return cmp.Or(
			cmp.Compare(slices.Index(verdictOrder, a.Verdict), slices.Index(verdictOrder, b.Verdict)),
			cmp.Compare(math.Abs(math.Log(cmp.Or(b.Ratio.Median, 1))), math.Abs(math.Log(cmp.Or(a.Ratio.Median, 1)))),
		)
	})
}

func (x *Compared) known() bool {
	known := func(c *Cell) bool {
		return !slices.ContainsFunc(c.Samples, func(s Sample) bool { return x.Metric.of(s.Sample) <= 0 })
	}
	return x.Metric == Time || known(x.First) && known(x.Second)
}

// Points returns the values of both sides: seconds, seconds per operation, bytes, or
// objects.
func (x *Compared) Points() (first, second []Point) {
	if x.Metric != Time {
		return x.First.points(x.Metric.of), x.Second.points(x.Metric.of)
	}
	a, b := x.First.Samples[0], x.Second.Samples[0]
	value := (*result.Sample).Value
	if x.PerOp = a.Metric == result.MetricTime && a.Operations != b.Operations; x.PerOp {
		value = valuePerOp
	}
	return x.First.points(value), x.Second.points(value)
}

// Medians returns the medians of the values of [Compared.Points].
func (x *Compared) Medians() (first, second float64) {
	a, b := x.Points()
	return Summarize(Values(a)).Median, Summarize(Values(b)).Median
}

func (x *Compared) measure(looks func(rounds int) float64, interleaved bool) {
	first, second := x.Points()
	x.interleaved = interleaved
	if !interleaved {
		x.looks = looks(len(second))
		var p float64
		x.Ratio, p, x.least = unpairedRatio(Values(second), Values(first), 1-Doubt/x.looks)
		x.P, x.least = min(1, p*x.looks), x.least*x.looks
		x.Means = x.means(1 - Doubt/x.looks)
		return
	}
	ratios, _ := Ratios(second, first)
	x.looks = looks(len(ratios))
	x.least = 2 * signedRankNull(len(ratios))(0) * x.looks
	values := Values(ratios)
	p, _ := signedRank(logs(values))
	x.P = min(1, p*x.looks)
	x.Ratio = SummarizeRatiosAt(values, 1-Doubt/x.looks)
	x.Means = x.means(1 - Doubt/x.looks)
}

func (x *Compared) means(confidence float64) Summary {
	first, second := x.Points()
	if !x.interleaved {
		return unpairedMeans(Values(second), Values(first), confidence)
	}
	return pairedMeans(second, first, confidence)
}

// holm corrects p-values for their number (Holm 1979, Scandinavian Journal of Statistics 6(2)) and for the number of pairs of which
// each has as many (Bonferroni), so that the probability of any false verdict among all of
// them is at most [Doubt].
func holm(family []*float64, pairs int) {
	order := slices.Clone(family)
	slices.SortStableFunc(order, func(a, b *float64) int { return cmp.Compare(*a, *b) })
	most := 0.0
	for i, p := range order {
		most = max(most, min(1, *p*float64((len(order)-i)*pairs)))
		*p = most
	}
}

// Tests returns how many comparisons the p-value is corrected for: cells and, of those in which
// operations failed, also their shares.
func (x *Compared) Tests() int { return x.tests }

// mean returns the geometric mean of the cells' ratios over the rounds that all of them
// have. It returns nil if there is none. looks is that of judge: if the run was judged
// while it was under way, these rounds ended when the first cell was settled.
func mean(cells []*Compared, looks func(rounds int) float64) *Summary {
	var sets [][]Point
	for _, x := range cells {
		first, second := x.Points()
		ratios, _ := Ratios(second, first)
		sets = append(sets, ratios)
	}
	means := geoMeans(sets)
	if len(means) == 0 {
		return nil
	}
	s := SummarizeRatiosAt(Values(means), 1-Doubt/looks(len(means)))
	return &s
}
