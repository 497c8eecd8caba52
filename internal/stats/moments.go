package stats

import "github.com/aclements/go-moremath/stats"

// Mean returns the arithmetic mean, for figures that are shown next to published
// means. Nothing is judged by it.
func Mean(values []float64) float64 { return stats.Mean(values) }

// StdDev returns the sample standard deviation, for the same purpose. ok is false
// if there are fewer than two values.
func StdDev(values []float64) (sd float64, ok bool) {
	if len(values) < 2 {
		return 0, false
	}
	return stats.StdDev(values), true
}
