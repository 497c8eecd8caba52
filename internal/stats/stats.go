// Package stats turns samples into numbers that can be judged: medians with their intervals,
// comparisons, ranks and geometric means. It prints nothing. A [Table] has the figures for one
// phase of a workload, with a [Cell] for each driver (or for each setting).
//
// Times are skewed and have outliers, and a disturbance affects all times of a
// round. So the package assumes no distribution and compares within rounds.
// docs/methodology.md explains the choices, and docs/proofs.md has simulations.
//
//   - A sample's summary is its median, with the 95 % confidence interval given
//     by its order statistics. Fewer than [MinSamples] samples have no interval.
//   - Ratios are formed round by round and combined by the Hodges-Lehmann estimate. Two cells are
//     compared by the Wilcoxon signed-rank test of the ratios' logarithms. The estimate's interval
//     has all ratios that this test does not reject (Hollander, Wolfe, Chicken, Nonparametric
//     Statistical Methods, chapter 3).
//   - All pairs of a table are compared at once, by a closed testing procedure (Marcus, Peritz,
//     Gabriel 1976, Biometrika 63(3)): the probability of telling any two equal drivers apart is at
//     most 5 %. With fewer than 16 rounds, the signed-rank test's p-values are too coarse for this
//     procedure. With three drivers or more, the procedure then uses the p-values of the paired
//     t test instead, and a difference counts only if two exact tests find it too: the signed-rank
//     test, and a permutation test of the whole table.
//   - The tables of a run are corrected together (Benjamini, Bogomolov 2014,
//     Journal of the Royal Statistical Society B 76(1)).
//   - Cells whose shares of failed operations differ are not compared.
package stats

import (
	"fmt"
	"math"

	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

const (
	// Confidence is the least confidence of an interval.
	Confidence = 0.95

	// Alpha is the level of significance: two cells differ significantly if their adjusted
	// p-value is below Alpha. Such a difference is probable; see [Doubt] for clear differences.
	Alpha = 0.05

	// MinSamples is the least number of samples for which an interval is computed. The range
	// of n samples contains the median with probability 1 - 2/2^n.
	MinSamples = 6
)

// Interval is a confidence interval.
type Interval struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence" jsonschema:"minimum=0,maximum=1"` // actual probability that the interval contains the true value, at least [Confidence]
}

// Summary describes one set of samples.
type Summary struct {
	N        int       `json:"n"`
	Median   float64   `json:"median"`             // median of the samples; 0 if N is 0
	Interval *Interval `json:"interval,omitempty"` // interval of the median; nil if there are too few samples
	Warnings []string  `json:"warnings,omitempty"`
}

// Spread returns the interval's relative half-width. That is the distance from the median to the
// farther end, divided by the median. ok is false if there is no interval, or if the median is
// zero but an end of the interval is not.
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

// Inverse returns the summary of the samples' reciprocals. It converts, for example, seconds per
// row into rows per second. The median of the result is 1 divided by the median of s. With an even
// number of samples, this differs from the median of the reciprocals.
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

func reciprocal(v float64) float64 {
	if v == 0 || math.IsNaN(v) {
		return 0
	}
	return 1 / v
}

// Summarize returns the median of samples with its 95 % interval.
func Summarize(samples []float64) Summary { return SummarizeAt(samples, Confidence) }

// SummarizeAt returns the median of samples with its interval at the given confidence.
func SummarizeAt(samples []float64, confidence float64) Summary {
	if len(samples) == 0 {
		return Summary{Warnings: []string{"no samples"}}
	}
	e, actual := estimate.At(samples, confidence)
	s := Summary{N: len(samples), Median: e.Median}
	if actual == 0 {
		s.Warnings = []string{fmt.Sprintf("need >= %d samples for confidence interval at level %v", least(confidence), confidence)}
		return s
	}
	s.Interval = &Interval{Low: e.Low, High: e.High, Confidence: actual}
	return s
}

func least(confidence float64) int {
	return int(math.Ceil(1 - math.Log2(1-confidence)))
}
