package stats

import "github.com/aclements/go-moremath/stats"

// Mean returns the arithmetic mean. It is for figures that are shown next to published means;
// no verdict depends on it.
func Mean(values []float64) float64 { return stats.Mean(values) }

// StdDev returns the sample standard deviation, to be shown next to published ones. ok is
// false if there are fewer than two values.
func StdDev(values []float64) (sd float64, ok bool) {
	if len(values) < 2 {
		return 0, false
	}
	return stats.StdDev(values), true
}
