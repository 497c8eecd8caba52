package stats

import (
	"math"

	mstats "github.com/aclements/go-moremath/stats"
)

// pairedMeans returns the mean of a divided by the mean of b, over the rounds that both sets of
// times have. The interval of this ratio is computed by Student's t and the delta method (Casella,
// Berger, Statistical Inference, section 5.5.4). Noise that both sets share in a round cancels out.
func pairedMeans(a, b []Point, confidence float64) Summary {
	var x, y []float64
	_, rows := byRound(a, b)
	for _, row := range rows {
		x, y = append(x, row[0]), append(y, row[1])
	}
	n := len(x)
	if n < 2 {
		return Summary{N: n}
	}
	means := [2]float64{mstats.Mean(x), mstats.Mean(y)}
	d := make([]float64, n) // contribution of each round to the logarithm of the ratio
	for i := range d {
		d[i] = x[i]/means[0] - y[i]/means[1]
	}
	return meansWithin(means, n, mstats.StdDev(d)/math.Sqrt(float64(n)), float64(n-1), confidence)
}

// unpairedMeans is like [pairedMeans] for sets that were not measured in the same rounds. The
// degrees of freedom are computed as by Welch (1947, Biometrika 34).
func unpairedMeans(a, b []float64, confidence float64) Summary {
	n := min(len(a), len(b))
	if n < 2 {
		return Summary{N: n}
	}
	means := [2]float64{mstats.Mean(a), mstats.Mean(b)}
	u := mstats.Variance(a) / means[0] / means[0] / float64(len(a))
	v := mstats.Variance(b) / means[1] / means[1] / float64(len(b))
	degrees := float64(n - 1)
	if u+v > 0 {
		degrees = (u + v) * (u + v) / (u*u/float64(len(a)-1) + v*v/float64(len(b)-1))
	}
	return meansWithin(means, n, math.Sqrt(u+v), degrees, confidence)
}

func meansWithin(means [2]float64, n int, deviation, degrees, confidence float64) Summary {
	s := Summary{N: n}
	ratio := means[0] / means[1]
	if !(ratio > 0) || math.IsInf(ratio, 0) { // one of the two means is zero
		return s
	}
	if s.Median = ratio; n < MinSamples {
		return s
	}
	t := mstats.TDist{V: degrees}
	reach := mstats.InvCDF(t)(1-(1-confidence)/2) * deviation
	s.Interval = &Interval{Low: s.Median * math.Exp(-reach), High: s.Median * math.Exp(reach), Confidence: confidence}
	return s
}
