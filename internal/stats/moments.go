package stats

import "github.com/aclements/go-moremath/stats"

// Mean returns the arithmetic mean. It is used for shares of failed operations, and for figures
// that are shown next to published means. Verdicts about times use ratios within rounds instead.
func Mean(values []float64) float64 { return stats.Mean(values) }

// StdDev returns the sample standard deviation. ok is false if there are fewer than two values.
func StdDev(values []float64) (sd float64, ok bool) {
	if len(values) < 2 {
		return 0, false
	}
	return stats.StdDev(values), true
}
