// Package stats turns samples into numbers that can be judged: medians with
// their intervals, comparisons, ranks, distances and geometric means. It
// prints nothing.
//
// The statistics are those of golang.org/x/perf/benchmath under its assumption
// "nothing": no distribution is taken for granted, since times are skewed and
// have outliers.
//
//   - A sample's summary is its median, with the 95 % confidence interval given
//     by its order statistics. Fewer than [MinSamples] samples have no interval.
//   - Two cells are compared with the two-sided Mann-Whitney U test; the size of
//     the effect is Cliff's delta (Cliff 1993, "Dominance statistics",
//     Psychological Bulletin 114(3)).
//   - Trials are interleaved, so a ratio is formed round by round from samples
//     taken close together in time, which cancels drift; the ratio of two cells
//     is the median of these, with its interval.
//   - All pairs of a table are compared at once. Their p-values are adjusted by
//     the procedure of Benjamini and Hochberg (1995, "Controlling the false
//     discovery rate", Journal of the Royal Statistical Society B 57(1)): among
//     the pairs that a table tells apart, at most 5 % are expected to be told
//     apart by chance. A correction of the family-wise error rate, such as
//     Holm's, would not do: with 6 samples each the least p-value that can come
//     out is 2/C(12,6) = 0.0022, which times the 45 pairs of ten drivers is
//     0.097, so that it could never tell any two drivers apart.
//   - A driver's rank is 1 plus the number of drivers that are significantly
//     faster. Equal ranks are ties.
package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

const (
	// Confidence is the level of every interval, at least.
	Confidence = 0.95

	// Alpha is the adjusted p-value below which two cells are told apart.
	Alpha = 0.05

	// MinSamples is the least number of samples that have an interval: the
	// range of n samples holds the median with probability 1 - 2/2^n.
	MinSamples = 6
)

// Interval is a confidence interval.
type Interval struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"` // the actual one, at least [Confidence]
}

// Summary is what is said of one set of samples.
type Summary struct {
	N        int       `json:"n"`
	Median   float64   `json:"median"`             // 0 where N is 0
	Interval *Interval `json:"interval,omitempty"` // nil where there are too few samples
	Warnings []string  `json:"warnings,omitempty"`
}

// Spread is the interval's relative half-width: the distance from the median
// to its farther end, divided by the median. ok is false where there is no
// interval, or where it cannot be told because the median is zero and the
// interval is not.
func (s Summary) Spread() (spread float64, ok bool) {
	if s.Interval == nil {
		return 0, false
	}
	half := max(s.Interval.High-s.Median, s.Median-s.Interval.Low)
	if half == 0 {
		return 0, true
	}
	if s.Median == 0 {
		return 0, false
	}
	return half / math.Abs(s.Median), true
}

// Inverse is the summary of the same samples as rates: of seconds per row it makes
// rows per second. Its median is 1 ÷ the median, which with an even number of samples
// the median of their reciprocals is not.
func (s Summary) Inverse() Summary {
	s.Median = reciprocal(s.Median)
	if i := s.Interval; i != nil {
		s.Interval = nil
		if i.Low > 0 {
			s.Interval = &Interval{Low: reciprocal(i.High), High: reciprocal(i.Low), Confidence: i.Confidence}
		}
	}
	return s
}

// reciprocal is 1/v, or 0 where there is none.
func reciprocal(v float64) float64 {
	if v == 0 || math.IsNaN(v) {
		return 0
	}
	return 1 / v
}

// Summarize returns the median of samples with its interval.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{Warnings: []string{"no samples"}}
	}
	b := benchmath.AssumeNothing.Summary(sample(samples), Confidence)
	s := Summary{N: len(samples), Median: b.Center, Warnings: messages(b.Warnings)}
	if !math.IsInf(b.Lo, 0) && !math.IsInf(b.Hi, 0) {
		s.Interval = &Interval{Low: b.Lo, High: b.Hi, Confidence: b.Confidence}
	}
	return s
}

// Tight reports whether the interval of the samples' median is within
// ±precision of it (0.02: 2 %). Too few samples are never tight.
func Tight(samples []float64, precision float64) bool {
	spread, ok := Summarize(samples).Spread()
	return ok && spread <= precision
}

// sample makes a benchmath sample of a copy, since benchmath sorts in place.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

func messages(errs []error) []string {
	var list []string
	for _, e := range errs {
		list = append(list, e.Error())
	}
	return list
}
