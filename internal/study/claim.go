package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

type claim struct {
	text  string
	anyOf bool
	over  func(*cells) []comparison
}

// fixed returns comparisons that are the same for every run.
func fixed(list ...comparison) func(*cells) []comparison {
	return func(*cells) []comparison { return list }
}

// comparison states that a figure is between atLeast and atMost. The figure is the median of x / y over the
// rounds. If y is nil, it is the median of x. If the field "count" is true, it is the sum of x over the rounds.
// The function [decide] decides from a run's figures whether the comparison holds.
type comparison struct {
	what    string
	m       measure
	x, y    operand // y is nil if x is not divided by anything
	atLeast float64 // 0 means no bound
	atMost  float64 // 0 means no bound, but for a count without atLeast it means at most 0
	count   bool    // x is a count, added over all trials

	// If x is nil, the figure is in the field "value", because it is not computed from samples of cells. The
	// field "why" gives the reason if there is no figure, or if the figure cannot be judged. If the figure
	// cannot be judged, the field "needs" says which further rounds may decide the comparison.
	value *float64
	why   string
	needs need
}

// operand is one side of a claim's comparison. It has one figure for each round: the geometric mean of the
// quotients in that round.
type operand []quotient

// quotient has one figure for each round: the figure of the cell with the key "over", divided by
// the figure of the cell with the key "under". If "under" is nil, the figure is not divided.
type quotient struct {
	over  key
	under *key
}

func figureOf(k key) operand { return operand{{over: k}} }

func per(over, under key) operand { return operand{{over, &under}} }

// The margins of claims that do not state a bound.
const (
	margin = 0.25 // for claims that say "about twice"
	equal  = 0.10 // for claims that say "equal"
	same   = 0.05 // for the function [alike]
)

// alike reports whether the two sides of a ratio are nearly equal: whether both ends of the ratio's
// interval are close to 1. Claims that say "equal" have a wider margin.
func alike(i *stats.Interval) bool { return i != nil && i.Low >= 1/(1+same) && i.High <= 1+same }

func about(ratio float64) (atLeast, atMost float64) {
	return ratio * (1 - margin), ratio * (1 + margin)
}

// points returns the operand's figures by round. If it has no figures, it returns the reason as the
// result "why".
func (o operand) points(c *cells, m measure) (points []stats.Point, why string) {
	var sets [][]stats.Point
	for _, q := range o {
		x, why := c.find(q.over)
		if why != "" {
			return nil, why
		}
		p := m.values(x)
		if q.under != nil {
			y, why := c.find(*q.under)
			if why != "" {
				return nil, why
			}
			p, _ = stats.Ratios(p, m.values(y))
		}
		sets = append(sets, p)
	}
	if len(sets) == 1 {
		return sets[0], ""
	}
	return stats.GeoMeans(sets), ""
}

// measure computes the figures of a comparison. [decide] sets the verdict later, because the
// verdict depends on the p-values of all comparisons.
func (c *comparison) measure(in *cells) report.Comparison {
	out := report.Comparison{What: c.what, Verdict: report.CannotBeTold}
	if c.y == nil {
		out.Unit = c.m.unit
		if c.count {
			out.Unit = c.m.name
		}
	}
	if c.atLeast != 0 {
		out.AtLeast = &c.atLeast
	}
	if c.atMost != 0 || c.count && c.atLeast == 0 {
		out.AtMost = &c.atMost
	}
	if c.x == nil {
		if c.value != nil {
			out.Summary = &stats.Summary{N: 1, Median: *c.value}
		}
		out.Why = c.why
		return out
	}
	x, why := c.x.points(in, c.m)
	if why != "" {
		out.Why = why
		return out
	}
	if c.count {
		total := 0.0
		for _, p := range x {
			total += p.Value
		}
		out.Summary = &stats.Summary{N: len(x), Median: total}
		if total == 0 {
			out.Why = in.tooShort(c.x[0].over)
		}
		return out
	}
	if c.y == nil {
		s := c.m.summarize(x, in.confidence())
		out.Summary = &s
		return out
	}
	y, why := c.y.points(in, c.m)
	if why != "" {
		out.Why = why
		return out
	}
	ratios, _ := stats.Ratios(x, y)
	s := stats.SummarizeRatiosAt(stats.Values(ratios), in.confidence())
	out.Summary = &s
	if len(ratios) >= stats.MinSamples {
		t := stats.CompareRatiosAt(stats.Values(ratios), in.share)
		out.Test = &t
	}
	out.Why = in.failuresDiffer(slices.Concat(c.x, c.y))
	return out
}

// failuresDiffer returns a message if the cells of a comparison seem to differ in their shares of failed
// operations. If they do not seem to differ, it returns "". Cells with different shares did different work,
// so their times cannot be compared.
func (c *cells) failuresDiffer(list operand) string {
	var first *stats.Cell
	for _, q := range list {
		for _, k := range []*key{&q.over, q.under} {
			if k == nil {
				continue
			}
			x, why := c.find(*k)
			switch {
			case why != "":
			case first == nil:
				first = x
			case stats.CompareFailures(first, x).P < stats.Alpha*c.share:
				return fmt.Sprintf("the shares of operations that failed seem to differ: %s and %s", failed(first), failed(x))
			}
		}
	}
	return ""
}

func failed(c *stats.Cell) string {
	failed, operations := c.Failures()
	return fmt.Sprintf("%s of %s of %s", document.Thousands(failed), document.Thousands(operations), c.Case.Driver)
}

// tooShort says why a count of zero lock errors proves nothing. SQLite waits for locks until the
// busy timeout is over, so a phase of fixed duration has no lock errors if it is not longer than
// the busy timeout. If the run has no figure for the key k, tooShort returns the reason. If the
// count proves something, it returns "".
func (c *cells) tooShort(k key) string {
	x, why := c.find(k)
	if why != "" {
		return why
	}
	ms, err := strconv.ParseInt(x.Case.Settings["busy_timeout"], 10, 64)
	if lasted := x.Case.Parameters[duration]; err == nil && lasted <= ms {
		return fmt.Sprintf("no error, but the phase lasts only %d ms, and SQLite waits %d ms for a lock before it reports an error", lasted, ms)
	}
	return ""
}

// decide sets the verdict of a comparison, whose range is from AtLeast to AtMost. A comparison stays undecided
// if it has no figure, or if Why already has a reason not to decide it.
//
// If the parameter "count" is true, the comparison holds if its figure is within the range, and otherwise does
// not hold. Any other comparison holds if its interval is within the range, and does not hold if its interval
// is outside the range.
//
// Ratios have further conditions:
//   - If the range does not reach to both sides of 1, the ratio holds only if its two sides differ significantly.
//   - If a bound is 1 and the interval is beyond this bound, the ratio is decided only if its two sides differ
//     significantly.
//   - If a bound is 1, and the two sides are [alike] without a significant difference, the ratio does not hold.
//
// In all other cases the comparison is undecided, and decide writes the reason into Why.
func decide(c *report.Comparison, count bool) {
	if c.Summary == nil {
		return
	}
	low, high := math.Inf(-1), math.Inf(1)
	if c.AtLeast != nil {
		low = *c.AtLeast
	}
	if c.AtMost != nil {
		high = *c.AtMost
	}
	if count {
		if c.Why != "" {
			return
		}
		c.Verdict = report.DoesNotHold
		if v := c.Median; v >= low && v <= high {
			c.Verdict = report.Holds
		}
		return
	}
	i := c.Interval
	switch {
	case c.Why != "":
	case i == nil:
		c.Why = fmt.Sprintf("%d rounds, of at least %d", c.N, stats.MinSamples)
	case (i.High < low && low == 1 || i.Low > high && high == 1) && c.Unit == "" && !toldApart(c):
		c.Why = report.NotToldApart
	case i.High < low || i.Low > high:
		c.Verdict = report.DoesNotHold
	case i.Low < low || i.High > high:
		c.Why = report.AcrossBound
	case c.Unit == "" && (low >= 1 || high <= 1) && !toldApart(c):
		c.Why = report.NotToldApart
	default:
		c.Verdict = report.Holds
	}
	undecided := c.Why == report.AcrossBound || c.Why == report.NotToldApart
	if undecided && c.Unit == "" && (low == 1 || high == 1) && !toldApart(c) && alike(i) {
		c.Verdict, c.Why = report.DoesNotHold, ""
	}
}

func toldApart(c *report.Comparison) bool { return c.Test != nil && c.Test.Significant() }

type ruling struct {
	report.Comparison
	count bool
	cases map[int]bool // IDs of the cases whose samples the comparison uses
	needs need         // which further rounds may decide the comparison, if it is undecided
}

// rule evaluates the comparisons of all claims together, because their p-values are corrected together. The
// parameter "before" has the rulings of an earlier evaluation, or nil. Comparisons that the earlier evaluation
// decided keep their rulings.
func rule(claims []claim, in *cells, before [][]*ruling) [][]*ruling {
	list := make([][]*ruling, len(claims))
	var fresh []*ruling
	var family []*stats.Test
	for i := range claims {
		in.found = map[int]bool{} // the function claim.over may call in.find, which adds the IDs of cases to this map
		made := claims[i].over(in)
		for j := range made {
			if before != nil && before[i][j].Verdict != report.CannotBeTold {
				list[i] = append(list[i], before[i][j])
				if t := before[i][j].Test; t != nil {
					kept := *t
					family = append(family, &kept)
				}
				continue
			}
			if made[j].x != nil {
				in.found = map[int]bool{}
			}
			r := &ruling{Comparison: made[j].measure(in), count: made[j].count, cases: in.found, needs: made[j].needs}
			if r.Test != nil {
				family = append(family, r.Test)
			}
			list[i], fresh = append(list[i], r), append(fresh, r)
		}
	}
	in.found = nil
	stats.Adjust(family)
	for _, r := range fresh {
		measured := r.Summary != nil && r.Why == ""
		if decide(&r.Comparison, r.count); measured && r.Verdict == report.CannotBeTold {
			r.needs = outlook(r.Summary, r.AtLeast, r.AtMost)
			r.needs.cases = r.cases
		}
	}
	return list
}

// decisiveVerdict returns two verdicts for a claim with several comparisons. If at least one comparison
// has the first verdict, the claim has it too. If all comparisons have the second verdict, the claim has
// the second verdict.
func decisiveVerdict(anyOf bool) (one, otherwise report.Verdict) {
	if anyOf {
		return report.Holds, report.DoesNotHold
	}
	return report.DoesNotHold, report.Holds
}

func (c *claim) verdict(list []*ruling) report.Verdict {
	return combine(document.Map(list, func(r *ruling) report.Verdict { return r.Verdict }), c.anyOf)
}

func combine(verdicts []report.Verdict, anyOf bool) report.Verdict {
	decisive, out := decisiveVerdict(anyOf)
	for _, v := range verdicts {
		switch v {
		case decisive:
			return decisive
		case report.CannotBeTold:
			out = report.CannotBeTold
		}
	}
	if len(verdicts) == 0 {
		return report.CannotBeTold
	}
	return out
}
