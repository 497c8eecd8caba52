package stats

import "github.com/aclements/go-moremath/stats"

// Mean is the arithmetic mean, for figures that stand beside published means. It
// is not what anything is judged by.
func Mean(values []float64) float64 { return stats.Mean(values) }

// StdDev is the sample standard deviation, likewise; ok is false below two
// values.
func StdDev(values []float64) (sd float64, ok bool) {
	if len(values) < 2 {
		return 0, false
	}
	return stats.StdDev(values), true
}
