package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// noises are kinds of noise that the values of successive rounds or runs may have around a
// constant level.
var noises = []struct {
	name string
	draw func(r *rand.Rand, n int) []float64
}{
	{"independent", func(r *rand.Rand, n int) []float64 { return autoregression(r, n, 0) }},
	{"heavy tails", func(r *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64() / max(0.05, r.Float64())
		}
		return x
	}},
	{"autoregression 0.5", func(r *rand.Rand, n int) []float64 { return autoregression(r, n, 0.5) }},
	{"autoregression 0.8", func(r *rand.Rand, n int) []float64 { return autoregression(r, n, 0.8) }},
	{"1/f", func(r *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		for length := 1.0; length <= 256; length *= 2 {
			for i, v := range autoregression(r, n, math.Exp(-1/length)) {
				x[i] += v / 3 // the sum over all 9 lengths has a variance of 1
			}
		}
		return x
	}},
}

func autoregression(r *rand.Rand, n int, strength float64) []float64 {
	x := make([]float64, n)
	v := r.NormFloat64()
	for i := range x {
		x[i] = v
		v = strength*v + math.Sqrt(1-strength*strength)*r.NormFloat64()
	}
	return x
}

// lawVerdicts returns simulations of throughputs that have no peak. A peak is wrongly reported
// if the rounds show that throughput falls at the largest number of clients.
func lawVerdicts() (list []verdict) {
	const rounds, most = 12, 16
	for _, law := range []stats.Scaling{{Lambda: 1e4}, {Lambda: 1e4, Sigma: 0.5}, {Lambda: 1e4, Sigma: 1}} {
		list = append(list, verdict{says: "page: throughput falls at the most clients, which a peak needs", cost: 2, most: 1 - stats.Confidence,
			of: fmt.Sprintf("contention of %.0f %% without coherency, 1 to %d clients, %d rounds that vary by 10 %%", 100*law.Sigma, most, rounds),
			is: func(r *rand.Rand) bool {
				var falls []float64
				for range rounds {
					var points []stats.Throughput
					for n := 1.0; n <= most; n *= 2 {
						points = append(points, stats.Throughput{Clients: n, PerSecond: law.At(n) * math.Exp(0.1*r.NormFloat64())})
					}
					if fall, ok := stats.Falling(points, most); ok {
						falls = append(falls, fall)
					}
				}
				i := stats.Summarize(falls).Interval
				return i != nil && i.Low > 0
			}})
	}
	return list
}

func trendVerdicts(runs int) (list []verdict) {
	for _, n := range noises {
		list = append(list, verdict{says: "runs, trends: the level changes", of: fmt.Sprintf("%d runs of one level, %s", runs, n.name), most: stats.ChangeLevel, cost: max(1, runs/20),
			is: func(r *rand.Rand) bool { return len(stats.Changes(n.draw(r, runs), 1)) > 0 }})
	}
	return list
}

// manyTrends returns simulations of several series without changes, which are judged together. It is
// wrong to find a change in any of these series.
func manyTrends() (list []verdict) {
	const series, runs = 20, 24
	for _, n := range noises {
		list = append(list, verdict{says: fmt.Sprintf("runs, trends: any of %d series changes its level", series), of: fmt.Sprintf("%d runs each of one level, %s", runs, n.name), most: stats.ChangeLevel, cost: 20,
			is: func(r *rand.Rand) bool {
				return slices.ContainsFunc(make([]int, series), func(int) bool { return len(stats.Changes(n.draw(r, runs), series)) > 0 })
			}})
	}
	return list
}

// medianVerdicts returns simulations of rounds that depend on each other. They test the intervals
// of medians and ratios.
func medianVerdicts() (list []verdict) {
	const rounds, ofCluster = 20, stats.MinSamples
	for _, n := range noises {
		list = append(list, verdict{says: "run: the interval of a median holds it", of: fmt.Sprintf("%d rounds, %s", rounds, n.name), least: stats.Confidence, cost: 1,
			unpromised: n.name != "independent" && n.name != "heavy tails",
			is:         func(r *rand.Rand) bool { return holds(stats.Summarize(n.draw(r, rounds)).Interval, 0) }})
	}
	// ratio simulates two drivers that are equally fast. It reports whether the interval of the ratio
	// of their times contains the true ratio, 1. A round has two successive trials. Chance decides which
	// trial is the first driver's.
	ratio := func(r *rand.Rand, draw func(*rand.Rand, int) []float64, rounds int) bool {
		x := draw(r, 2*rounds) // successive trials
		var ratios []float64
		for i := range rounds {
			first := 2*i + r.IntN(2)
			ratios = append(ratios, math.Exp(0.05*(x[first]-x[4*i+1-first])))
		}
		return holds(stats.SummarizeRatios(ratios).Interval, 1)
	}
	for _, n := range noises {
		list = append(list, verdict{says: "run: the interval of a ratio holds it", of: fmt.Sprintf("%d rounds of two trials in shuffled order, %s", rounds, n.name), least: stats.Confidence, cost: 1,
			is: func(r *rand.Rand) bool { return ratio(r, n.draw, rounds) }})
	}
	return append(list, verdict{says: "cluster: the interval of a ratio of rates holds it", of: fmt.Sprintf("%d rounds of two trials, %s", ofCluster, noises[3].name), least: stats.Confidence, cost: 1,
		is: func(r *rand.Rand) bool { return ratio(r, noises[3].draw, ofCluster) }})
}
