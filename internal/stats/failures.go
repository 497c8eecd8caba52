package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// This file judges failed operations, for every command. Each round gives a cell one time, and also
// one share of operations that failed. The shares of two cells are compared by their differences
// within rounds. The mean of these differences counts, not the median. If failures are rare, most
// differences are zero, so the median would be zero too.

// FailureMargin is a difference between two shares of failed operations. Differences of at most
// this size do not matter. It is 0.1 percentage points.
const FailureMargin = 0.001

// Failures returns the number of the cell's operations that failed, and the number of all its
// operations, over all trials.
func (c *Cell) Failures() (failed, operations int64) {
	for _, s := range c.Samples {
		failed += s.Failed
		operations += s.Operations
	}
	return failed, operations
}

// FailedOf returns how many of a sample's operations failed. In a phase that replays a recording, it
// does not count operations that violated a constraint. They failed because the replay's database
// differs from the recorded one, which is not the driver's fault.
func FailedOf(s *result.Sample) int64 {
	failed := s.Failed
	for _, e := range s.Errors {
		if s.Different > 0 && e.Code&0xff == driver.CodeConstraint { // Different is above 0 only in phases that replay
			failed -= e.Count
		}
	}
	return max(failed, 0)
}

func (c *Cell) shareFailed() float64 {
	failed, operations := int64(0), int64(0)
	for _, s := range c.Samples {
		failed, operations = failed+FailedOf(s.Sample), operations+s.Operations
	}
	return float64(failed) / float64(max(operations, 1))
}

func (c *Cell) shares() []Point {
	return c.points(func(s *result.Sample) float64 { return float64(FailedOf(s)) / float64(max(s.Operations, 1)) })
}

func anyFailed(shares ...[]Point) bool {
	return slices.ContainsFunc(shares, func(set []Point) bool {
		return slices.ContainsFunc(set, func(p Point) bool { return p.Value > 0 })
	})
}

// within returns the difference between the values of a and b (a - b) for each round in which both
// have a value.
func within(a, b []Point) (list []float64) {
	_, rows := byRound(a, b)
	for _, row := range rows {
		list = append(list, row[0]-row[1])
	}
	return list
}

// flipSteps is the number of steps into which [exceeds] divides the sum of the absolute differences.
// Each difference is rounded to whole steps. More steps would make p-values more exact, and take
// longer.
const flipSteps = 4096

// exceeds returns the p-value of the test that the mean of differences d is above a value. The
// p-value is the probability that their mean would be at least as great if each difference had a
// random sign relative to that value (Fisher's randomization test within pairs: The Design of
// Experiments, 1935, section 21). The test is exact for differences that are symmetric about the
// value. If they are symmetric about a smaller value, false results are rarer than the test's level
// allows. Rounding can only make the p-value greater.
//
// Changing the signs of a subset of the differences leaves the mean at least as great exactly if
// the sum of the subset is at most zero. So the p-value is the share of all subsets whose sum is
// at most zero.
func exceeds(d []float64, value float64) float64 {
	total := 0.0
	for _, v := range d {
		total += math.Abs(v - value)
	}
	if total == 0 {
		return 1
	}
	var less, more []int
	lowest := 0
	for _, v := range d {
		switch s := int(math.Floor((v - value) / total * flipSteps)); {
		case s < 0:
			less, lowest = append(less, -s), lowest-s
		case s > 0:
			more = append(more, s)
		}
	}
	count := make([]float64, lowest+1) // share of the subsets with each sum, from the lowest sum to 0
	count[lowest] = 1
	for _, s := range less {
		for t := range count {
			count[t] /= 2
			if t+s < len(count) {
				count[t] += count[t+s] / 2
			}
		}
	}
	for _, s := range more {
		for t := range slices.Backward(count) {
			count[t] /= 2
			if t >= s {
				count[t] += count[t-s] / 2
			}
		}
	}
	sum := 0.0
	for _, share := range count {
		sum += share
	}
	return min(1, sum)
}

// compareShares tests whether two cells' shares of failed operations differ by more than
// [FailureMargin]. The parameter d has the difference between the shares in each round. The test is
// two-sided.
func compareShares(d []float64) Test {
	t := Test{N: len(d), P: 1, Adjusted: 1, fine: 1, single: 1, logs: d}
	if t.N == 0 {
		return t
	}
	for _, v := range d {
		if math.Abs(v) > FailureMargin {
			t.Delta += float64(cmp.Compare(v, 0))
		}
	}
	t.Delta /= float64(t.N)
	mean := Mean(d)
	if t.sign = cmp.Compare(mean, 0); math.Abs(mean) <= FailureMargin {
		return t
	}
	beyond := make([]float64, len(d))
	for i, v := range d {
		beyond[i] = float64(t.sign)*v - FailureMargin
	}
	t.P = min(1, 2*exceeds(beyond, 0))
	t.Adjusted, t.fine = t.P, corrected(beyond, t.P)
	t.single = t.fine
	return t
}

// Seems reports whether shares of failed operations seem to differ, but in too few rounds to be
// significant. There are two conditions. The difference must have the same sign in all rounds, and
// a t test, corrected for all comparisons, must be significant. Without the t test, most short runs
// of ten equal drivers would report such a difference. The result "enough" is the number of rounds
// that would suffice.
func (t Test) Seems() (enough int, seems bool) {
	enough, few := t.TooFew()
	return enough, few && t.single*max(t.family, 1) < Alpha
}

// CompareFailures tests whether two cells differ in the share of operations that failed, by more than
// [FailureMargin]. If the shares seem to differ, the ratio of the cells' times has no meaning. The p-value is
// not corrected for other comparisons.
func CompareFailures(a, b *Cell) Test { return compareShares(within(a.shares(), b.shares())) }

// compareFailures compares the shares of failed operations of every two cells of each table. It
// corrects the p-values as for comparisons of times: over the pairs of a table, and over the tables
// of the run. It marks the cells that have no rank because more of their operations failed.
func (a *Analysis) compareFailures() {
	var tables []*Table
	var families [][]Pair
	a.eachTable(func(_ TableName, t *Table) {
		var sets [][]Point
		for _, c := range t.Measured() {
			sets = append(sets, c.shares())
		}
		if pairs := compareSharesOfAll(sets); pairs != nil {
			tables, families = append(tables, t), append(families, pairs)
		}
	})
	adjustRun(families, looksFactor(a.Confidence))
	for i, t := range tables {
		t.markFailures(families[i])
		t.order()
	}
}

// compareSharesOfAll compares every two sets of shares of failed operations, as [CompareAll]
// compares every two sets of times. It returns nil if no operation failed.
func compareSharesOfAll(sets [][]Point) []Pair {
	if !anyFailed(sets...) {
		return nil
	}
	raised := make([][]Point, len(sets)) // e to the power of each share, so that the logarithm of the ratio of two values is the difference of two shares
	for i, set := range sets {
		for _, p := range set {
			raised[i] = append(raised[i], Point{p.Round, math.Exp(p.Value)})
		}
	}
	return compareAll(raised, func(int) bool { return true }, func(ratios []float64) Test { return compareShares(logs(ratios)) })
}

// markFailures marks the cells whose operations failed too often. It sets the field FailsMore of a cell if
// significantly more of its operations failed than of another cell's. If more of its operations only seem to
// have failed, because there are too few rounds to be sure, it sets the field FailsOpen. See [Test.Seems].
func (t *Table) markFailures(pairs []Pair) {
	measured := t.Measured()
	for i, c := range measured {
		var than *Cell
		enough := 0
		for j, other := range measured {
			x, ok := Against(pairs, i, j)
			rounds, seems := x.Seems()
			switch {
			case !ok || x.sign <= 0:
			case x.Significant() && (!c.FailsMore || other.shareFailed() < than.shareFailed()):
				c.FailsMore, than = true, other
			case seems && !c.FailsMore:
				c.FailsOpen, than, enough = true, other, max(enough, rounds)
			}
		}
		if than == nil {
			continue
		}
		words := fmt.Sprintf("more of its operations failed (%s) than of %s's (%s)", shareInWords(c.shareFailed()),
			cmp.Or(than.As, than.Case.Driver), shareInWords(than.shareFailed()))
		if c.FailsOpen = !c.FailsMore; c.FailsOpen {
			words = fmt.Sprintf("in each of %d rounds %s, but chance may explain this; if it stays so, %d rounds are enough to tell", len(c.Samples), words, enough)
		}
		c.Unranked = words
	}
}

func shareInWords(v float64) string {
	switch {
	case v == 0:
		return "none"
	case v < 0.0005:
		return "less than 0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100*v)
}

// UnlikeFailures reports whether the cell has no rank because of the operations that failed.
func (c *Cell) UnlikeFailures() bool { return c.FailsMore || c.FailsOpen }

// DriverFailures compares every two of the given drivers by their shares of failed operations. It
// returns nil if no operation failed. The share of a driver in a round is the mean over the tables
// in which all of these drivers have figures.
func (a *Analysis) DriverFailures(drivers []string) []Pair {
	tables := make([][][]Point, len(drivers)) // the shares of failed operations of each driver, by table
	for _, t := range a.Tables() {
		cells := make([]*Cell, len(drivers))
		for _, c := range t.Measured() {
			if i := slices.Index(drivers, c.Case.Driver); i >= 0 {
				cells[i] = c
			}
		}
		if slices.Contains(cells, nil) {
			continue
		}
		for i, c := range cells {
			tables[i] = append(tables[i], c.shares())
		}
	}
	sets := make([][]Point, len(drivers))
	for i := range drivers {
		sets[i] = AcrossSets(tables[i], Mean)
	}
	pairs := compareSharesOfAll(sets)
	adjustRun([][]Pair{pairs}, looksFactor(a.Confidence))
	return pairs
}

// Failing compares the shares of failed operations of the two sides (such as two drivers) of a
// [Compared] cell.
type Failing struct {
	First, Second float64 // shares of failed operations, from 0 to 1, over all trials
	P             float64 // p-value of the test whether the shares differ by more than [FailureMargin], corrected for judging the run repeatedly (see [Look])
	Adjusted      float64 // P, also corrected for the number of cells

	test  Test
	looks float64
}

// Difference returns the confidence interval of the second side's share minus the first side's
// share. It has the same confidence as the interval of the cell's ratio.
func (f *Failing) Difference() Interval { return differenceAt(f.test.logs, 1-Doubt/f.looks) }

// compareFailures compares the shares of failed operations of the two sides of x. It returns nil if
// no operation failed. If the sides were not measured in the same rounds, it pairs the first round of
// one side with the first round of the other, and so on. Any other pairing would be as good,
// because the rounds have nothing in common.
func (x *Compared) compareFailures() *Failing {
	first, second := x.First.shares(), x.Second.shares()
	if !anyFailed(first, second) {
		return nil
	}
	if !x.interleaved {
		n := min(len(first), len(second))
		first, second = first[:n], slices.Clone(second[:n])
		for i := range second {
			second[i].Round = first[i].Round
		}
	}
	f := &Failing{First: x.First.shareFailed(), Second: x.Second.shareFailed(), test: compareShares(within(second, first)), looks: x.looks}
	f.P = min(1, f.test.P*x.looks)
	f.Adjusted = f.P
	return f
}

// differenceAt returns the confidence interval of the mean of differences: all values that
// [exceeds] does not reject.
func differenceAt(d []float64, confidence float64) Interval {
	bound := func(sign float64) float64 {
		signed := make([]float64, len(d))
		for i, v := range d {
			signed[i] = sign * v
		}
		low, high := -1.0, 1.0 // the mean is significantly above "low", but not above "high"
		if exceeds(signed, low) > (1-confidence)/2 {
			return low
		}
		for high-low > FailureMargin/10 {
			if at := (low + high) / 2; exceeds(signed, at) <= (1-confidence)/2 {
				low = at
			} else {
				high = at
			}
		}
		return low
	}
	return Interval{Low: bound(1), High: -bound(-1), Confidence: confidence}
}

func (f *Failing) words(c *Comparison) string {
	return fmt.Sprintf("%s with %s, %s with %s", FailedShare(f.Second), c.Second, FailedShare(f.First), c.First)
}

// FailedShare formats a share of failed operations with three digits, because small differences
// matter.
func FailedShare(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }

func (f *Failing) told() bool { return f != nil && f.Adjusted < Doubt }

// open reports whether more operations of one side seem to have failed, although that is not
// significant yet. Such a cell gets no verdict, even if its times differ clearly.
func (f *Failing) open() bool { return f != nil && !f.told() && f.test.P < Alpha }

// within reports whether the interval of [Failing.Difference] is entirely within a margin. A margin of 0.02
// is 2 percentage points. The least margin is [FailureMargin]. If f is nil, no operation failed, so the
// result is true.
func (f *Failing) within(margin float64) bool {
	if f == nil {
		return true
	}
	i := f.Difference()
	return max(i.High, -i.Low) <= max(margin, FailureMargin)
}

// moreForFailures estimates how many more rounds are needed until the shares of failed
// operations differ significantly, or certainly differ by less than the margin.
func (x *Compared) moreForFailures(margin float64) int {
	f := x.Failing
	n, least := f.test.N, LeastRounds(x.Tests, x.looks > 1)
	factor := normalQuantile(Doubt/x.looks/float64(x.Tests)) / normalQuantile(min(f.test.P, 0.999))
	if i, at := f.Difference(), math.Abs(Mean(f.test.logs)); at < margin {
		factor = min(factor, (i.High-i.Low)/2/(margin-at))
	}
	return x.moreUntil(n, least, max(factor, 1))
}
