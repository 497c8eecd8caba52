package stats

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Verdict says how the second side of a comparison compares with the first.
type Verdict string

// The verdicts, in the order in which cells are listed.
const (
	Bad       Verdict = "bad"          // a side has no figures; the Status and Reason of its cell say why
	Differing Verdict = "differing"    // the two sides read different values
	FailsMore Verdict = "more failed"  // a larger share of the second side's operations failed
	FailsLess Verdict = "fewer failed" // a smaller share of the second side's operations failed
	Slower    Verdict = "slower"
	Unclear   Verdict = "unclear" // no other verdict is certain yet
	Faster    Verdict = "faster"
	Same      Verdict = "same" // the intervals of the ratio, of the ratio of means and of the difference in failures are within the margin
)

var verdictOrder = []Verdict{Bad, Differing, FailsMore, FailsLess, Slower, Unclear, Faster, Same}

// Doubt is the level of significance of clear differences. If two sides are equal, it is the greatest
// probability that a comparison calls any cell slower or faster, or reports that more operations of
// one side failed. It is less than [Alpha], the level of probable differences, because users act on
// comparisons.
const Doubt = 0.01

// Metric is a figure of a phase by which two sides are compared: [Time], or the name of one of
// [result.Metrics]. For each metric, less is better.
type Metric string

// Time is the metric that phases are judged by: the time of the phase or, at a fixed rate, its
// latency.
const Time Metric = "time"

// Metrics has [Time] and the names of the entries of [result.Metrics] that can be compared.
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

// Cost returns the entry of [result.Metrics] with the name m. It returns nil for [Time].
func (m Metric) Cost() *result.Metric { return result.MetricNamed(string(m)) }

// of returns a sample's value of the metric, or 0 if the value is unknown. No ratio can be formed
// with a value of 0. So a value that is known to be 0 is replaced by 1 divided by the number of
// operations. The metric must not be [Time].
func (m Metric) of(s *result.Sample) float64 {
	v, known := m.Cost().Value(s)
	if known && v == 0 {
		return 1 / float64(max(s.Operations, 1))
	}
	return v
}

// UsualMargin is the margin of a [Comparison] of two drivers or runs if the user gives no margin.
const UsualMargin = 0.02

// Comparison says for each cell whether the second of two sides is slower than the first, or needs
// more of another metric, such as memory.
type Comparison struct {
	Metric        Metric
	First, Second string
	Margin        float64 // 0.02: a difference of less than 2 % does not matter

	// Interleaved says that both sides were measured in the same rounds. Otherwise each ratio also
	// includes the effect of any change of the machine between the measurements of the two sides.
	Interleaved bool

	// Pairs is the number of pairs of drivers in the run. P-values are corrected for the cells
	// of all pairs, because this pair may have been chosen for its results.
	Pairs int

	Cells  []*Compared // sorted by verdict, in the order of the constants of type Verdict
	Alone  []string    // names of the cells that only one side has
	Unlike []Unlike    // workloads in which the two sides have cells of the same name that do different work
	Mean   *Summary    // geometric mean, by round, of the ratios of the cells that [Comparison.Averaged] counts; nil if not interleaved

	// MeanInRun is Mean with the interval that the run's own report shows. It is nil if InRun is nil
	// for any of the cells that count in Mean.
	MeanInRun *Summary
}

// Compared is a cell of a comparison: the same phase of the same work on both sides.
type Compared struct {
	TableName
	Metric        Metric
	First, Second *Cell
	Verdict       Verdict
	Why           string   // explains the verdict Differing, and verdicts about operations that failed; "" for other verdicts
	Failing       *Failing // nil if no operation of either side failed

	// Ratio is the second side's time, or other metric, divided by the first side's. Its interval
	// has a confidence of 99 %, corrected for judging the run repeatedly (see [Look]).
	Ratio Summary
	PerOp bool // times are per operation, because the sides did different numbers of operations

	// Means is the second side's mean divided by the first side's. Its interval, by Student's t,
	// has the same confidence as the interval of Ratio. Occasional slow trials change the mean, but
	// hardly change Ratio, which compares typical trials.
	Means Summary

	// Typical says that the whole interval of Ratio is within the margin.
	Typical bool

	// FailAlike is true if no operation failed, or if the interval of the difference between the
	// shares of failed operations is entirely within the margin.
	FailAlike bool

	P        float64 // p-value of the two-sided test, corrected for judging the run repeatedly (see [Look])
	Adjusted float64 // P, also corrected for the number of cells

	// InRun is what the report of a run says about the two drivers in this cell. It is set only if the sides
	// are two drivers of a run that compares all of its drivers. Otherwise it is nil.
	InRun *InRun

	// Rounds estimates how many more rounds an Unclear cell needs, and Time how long these
	// rounds take. Both are 0 for other cells.
	Rounds int
	Time   time.Duration

	interleaved bool // both sides were measured in the same rounds

	// Tests is the number of comparisons, over all Pairs, for which P is corrected: one for each
	// cell, and one more for each cell in which operations failed.
	Tests int

	looks float64 // factor by which P was multiplied, because the run was judged repeatedly
	least float64 // the smallest P that is possible with this number of rounds
}

// By compares the same cells by another metric. It keeps cells with the verdict Bad or Differing. It leaves
// out all other cells whose samples lack the metric.
func (c *Comparison) By(m Metric) *Comparison {
	out := &Comparison{Metric: m, First: c.First, Second: c.Second, Margin: c.Margin, Interleaved: c.Interleaved, Pairs: c.Pairs}
	looks := 1.0
	for _, x := range c.Cells {
		y := &Compared{TableName: x.TableName, First: x.First, Second: x.Second, Metric: m, P: 1, Adjusted: 1}
		if x.Verdict == Bad || x.Verdict == Differing {
			y.Verdict, y.Why = x.Verdict, x.Why
		}
		if y.Verdict != "" || y.known() {
			out.Cells = append(out.Cells, y)
		}
		looks = max(looks, x.looks)
	}
	out.judge(func(int) float64 { return looks })
	return out
}

// Settled returns the IDs of the cases that need no further rounds, because [Compared.Settled] is
// true for all of their cells.
func (c *Comparison) Settled() []int { return c.SettledBy((*Compared).Settled) }

// SettledBy is like [Comparison.Settled], but the given function decides whether a cell needs no
// further rounds.
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

// FailuresTold reports whether the verdict is that more operations of one side failed.
func (x *Compared) FailuresTold() bool { return x.Verdict == FailsMore || x.Verdict == FailsLess }

// FailuresOpen reports whether the verdict is unclear because of operations that failed.
func (x *Compared) FailuresOpen() bool { return x.Verdict == Unclear && x.Why != "" }

// Settled reports whether the cell has a final verdict: a verdict other than Unclear that further
// rounds of the other cells cannot change.
func (x *Compared) Settled() bool {
	switch x.Verdict {
	case Slower, Faster:
		return x.P*float64(x.Tests) < Doubt // Holm's correction multiplies P by at most the number of tests
	case FailsMore, FailsLess:
		return x.Failing.P*float64(x.Tests) < Doubt
	}
	return x.Verdict != Unclear
}

// Measured returns the number of cells that have a ratio.
func (c *Comparison) Measured() int { return countIf(c.Cells, (*Compared).Measured) }

// Averaged returns the number of cells that count in the field Mean. These are the cells that have
// a ratio and whose phases are not too short to judge drivers by.
func (c *Comparison) Averaged() int { return len(c.averaged()) }

func (c *Comparison) averaged() (list []*Compared) {
	for _, x := range c.Cells {
		if x.Measured() && !x.TooShort() {
			list = append(list, x)
		}
	}
	return list
}

// Count returns the number of cells with verdict v.
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

// CompareRun compares the times of the two sides of a run that was made to compare two sides. It
// returns nil if the run was made for another purpose. In that case, the run's field Compares is nil.
func CompareRun(a *Analysis) *Comparison { return CompareRunBy(a, Time) }

// CompareRunBy is [CompareRun] by any metric. It leaves out cells whose samples lack the metric.
func CompareRunBy(a *Analysis, metric Metric) *Comparison {
	by := a.Run.Compares
	if by == nil {
		return nil
	}
	c := &Comparison{Metric: metric, First: by.Side(by.First), Second: by.Side(by.Second), Margin: by.Margin, Interleaved: true, Pairs: 1}
	c.pair(a.cells(by.First, by), a.cells(by.Second, by), true)
	c.judge(looked(by))
	return c
}

// CompareDrivers compares the times of two drivers of a run. The run may have measured other drivers
// as well. A margin of 0.02 is 2 %.
func CompareDrivers(a *Analysis, first, second string, margin float64) *Comparison {
	drivers := len(a.Run.Drivers())
	by := &result.Compares{Factor: result.FactorDriver, First: first, Second: second}
	c := &Comparison{Metric: Time, First: first, Second: second, Margin: margin, Interleaved: true, Pairs: drivers * (drivers - 1) / 2}
	c.pair(a.cells(first, by), a.cells(second, by), true)
	looks := looked(a.Run.Compares)
	if factor := looksFactor(a.Confidence); factor > 1 { // the run was judged repeatedly, to decide which figures were precise enough
		looks = func(int) float64 { return factor }
	}
	if a.Run.Compares == nil && a.Run.Search == nil { // comparisons and searches may be judged repeatedly, but their reports do not correct p-values for that
		c.findInRun(a)
	}
	c.judge(looks)
	if averaged := c.averaged(); len(averaged) > 0 && !slices.ContainsFunc(averaged, func(x *Compared) bool { return x.InRun == nil }) {
		c.MeanInRun = mean(averaged, func(int) float64 { return a.Confidence })
	}
	return c
}

// CompareRuns compares the times of the cells that two runs have in common. The parameter "names" has
// the names of the two runs. A margin of 0.02 is 2 %. If each run has only one driver, the two
// drivers are compared, even if they differ.
func CompareRuns(names [2]string, first, second *Analysis, margin float64) *Comparison {
	return Across{Metric: Time, Names: names, Margin: margin}.Compare(first, second)
}

// Across says how two runs are compared.
type Across struct {
	Metric  Metric // cells whose samples lack the metric are left out
	Names   [2]string
	Margin  float64
	Looks   bool // true if the second run had to end when the verdicts were clear, so it was judged repeatedly
	Changed bool // workloads with the same name are compared even if their contents differ
}

// Compare is like [CompareRuns], but with options.
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
	c.judge(looked(&result.Compares{Looks: how.Looks}))
	return c
}

func driverIn(run, driver string) string {
	if driver == run {
		return driver
	}
	return driver + " in " + run
}

func soleDriver(a *Analysis) string {
	if names := a.Run.Drivers(); len(names) == 1 {
		return names[0]
	}
	return ""
}

// looked returns a function for runs that are judged repeatedly. The function takes the number of rounds so
// far, and returns the factor that corrects p-values for the repeated judging. The factor is always 1 if the
// parameter "by" is nil or its field Looks is false.
func looked(by *result.Compares) func(rounds int) float64 {
	if by != nil && by.Looks {
		return spent
	}
	return func(int) float64 { return 1 }
}

// judge compares the cells that have no verdict yet. The function "looks" comes from [looked].
func (c *Comparison) judge(looks func(rounds int) float64) {
	var tests []*Compared
	var family []*float64 // p-values that are corrected together
	for _, x := range c.Cells {
		if x.Verdict != "" {
			continue
		}
		x.measure(looks, c.Interleaved)
		tests, family = append(tests, x), append(family, &x.Adjusted)
		if x.Failing = x.compareFailures(); x.Failing != nil {
			family = append(family, &x.Failing.Adjusted)
		}
	}
	holm(family, c.Pairs)
	for _, x := range tests {
		x.Tests = len(family) * c.Pairs
		x.decide(c)
	}
	if c.Interleaved {
		c.Mean = mean(c.averaged(), func(rounds int) float64 { return 1 - Doubt/looks(rounds) })
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

// Points returns each side's values of x.Metric by round. For [Time] they are seconds or, if the sides'
// numbers of operations differ, seconds per operation; x.PerOp is set accordingly. For any other metric, the
// unit is in its entry of [result.Metrics].
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

// Medians returns the medians of the two sets of values that [Compared.Points] returns. But a value
// that is known to be 0 stays 0 here, whereas Points replaces it.
func (x *Compared) Medians() (first, second float64) {
	a, b := x.Points()
	if cost := x.Metric.Cost(); cost != nil {
		value := func(s *result.Sample) float64 { v, _ := cost.Value(s); return v }
		a, b = x.First.points(value), x.Second.points(value)
	}
	return Summarize(Values(a)).Median, Summarize(Values(b)).Median
}

func (x *Compared) measure(looks func(rounds int) float64, interleaved bool) {
	first, second := x.Points()
	x.interleaved = interleaved
	var p float64
	if interleaved {
		ratios, _ := Ratios(second, first)
		x.looks = looks(len(ratios))
		p, _ = signedRank(logs(Values(ratios)))
		x.Ratio, x.least = SummarizeRatiosAt(Values(ratios), 1-Doubt/x.looks), 2*signedRankNull(len(ratios))(0)
	} else {
		x.looks = looks(len(second))
		x.Ratio, p, x.least = unpairedRatio(Values(second), Values(first), 1-Doubt/x.looks)
	}
	x.least *= x.looks
	x.P = min(1, p*x.looks)
	x.Adjusted = x.P
	x.Means = x.means(1 - Doubt/x.looks)
}

func (x *Compared) means(confidence float64) Summary {
	first, second := x.Points()
	if !x.interleaved {
		return unpairedMeans(Values(second), Values(first), confidence)
	}
	return pairedMeans(second, first, confidence)
}

// holm corrects p-values for the size of their family (Holm 1979, Scandinavian Journal of Statistics 6(2)).
// The parameter "pairs" is the number of pairs of drivers. Each pair has a family of the same size, so holm
// also corrects for the number of pairs (Bonferroni). After these corrections, the probability of any false
// verdict, over all families, is at most [Doubt].
func holm(family []*float64, pairs int) {
	order := slices.Clone(family)
	slices.SortStableFunc(order, func(a, b *float64) int { return cmp.Compare(*a, *b) })
	most := 0.0
	for i, p := range order {
		most = max(most, min(1, *p*float64((len(order)-i)*pairs)))
		*p = most
	}
}

// mean returns the geometric mean of the ratios of all cells, over the rounds that all cells have. It returns
// nil if there is no such round. The function "confidence" returns the confidence of the interval for a
// number of rounds. A run may stop measuring cells whose verdicts are final. In such a run, mean uses only the
// rounds before the first cell got its final verdict.
func mean(cells []*Compared, confidence func(rounds int) float64) *Summary {
	var sets [][]Point
	for _, x := range cells {
		first, second := x.Points()
		ratios, _ := Ratios(second, first)
		sets = append(sets, ratios)
	}
	means := GeoMeans(sets)
	if len(means) == 0 {
		return nil
	}
	s := SummarizeRatiosAt(Values(means), confidence(len(means)))
	return &s
}
