package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// equalTables makes a run of equal drivers. Times vary by 10 % between rounds, and by 3 % between
// the trials of a round.
func equalTables(r *rand.Rand, tables, drivers, rounds int) *result.Run {
	run := &result.Run{}
	for t := range tables {
		addTable(run, fmt.Sprint("w", t), world{shape: "normal", drivers: drivers, rounds: rounds}.table(r))
	}
	return run
}

func toldApart(pairs []stats.Pair) bool {
	return slices.ContainsFunc(pairs, func(p stats.Pair) bool { return p.Significant() })
}

func differs(c *stats.Comparison) bool { return c.Count(stats.Slower)+c.Count(stats.Faster) > 0 }

// probablyDiffers reports whether a comparison calls any cell slower or faster, at least probably.
func probablyDiffers(c *stats.Comparison) bool {
	return slices.ContainsFunc(c.Cells, func(x *stats.Compared) bool { return x.Likely() != 0 })
}

// equalFactors simulates a run of one driver with three settings, each with two values that have no
// effect. It returns the run's only [stats.Factorial].
func equalFactors(r *rand.Rand) *stats.Factorial {
	run := &result.Run{}
	addTable(run, "w", world{shape: "normal", drivers: 8, rounds: 16}.table(r))
	for i := range run.Cases {
		run.Cases[i].Driver, run.Cases[i].Settings = "d", map[string]string{}
		for bit, name := range []string{"cache_size", "mmap_size", "temp_store"} {
			run.Cases[i].Settings[name] = fmt.Sprint(1 + i>>bit&1)
		}
	}
	return stats.Analyze(run, "").Factorials[0]
}

func says(a *recommend.Advice, what recommend.Advantage) bool {
	return slices.ContainsFunc(a.Because, func(r recommend.Reason) bool { return r.Advantage == what }) ||
		slices.ContainsFunc(a.Overturn, func(o recommend.Overturn) bool { return o.Advantage == what })
}

// varying simulates ten equal drivers whose 99th percentiles and memory vary. It reports whether
// package recommend gives the advantage in the parameter "what" as a reason for any choice. If the
// p-values of the 45 pairs of drivers were not corrected together, the package would name a
// percentile as a reason in half of the simulations.
func varying(r *rand.Rand, what recommend.Advantage) bool {
	a := drivers(r, 1, 12, slices.Repeat([]failures{{varies: 0.7}}, 10)...)
	return says(recommend.Decide(recommend.FactsOf(a, nil)), what)
}

func choicesDiffer(r *rand.Rand) bool {
	run := &result.Run{}
	for i := range 16 {
		run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: fmt.Sprint("w", i/8), Driver: "d", Phases: []string{"mix"}, Settings: map[string]string{
			"journal_mode": []string{"delete", "wal"}[i%2], "txlock": []string{"deferred", "immediate"}[i/2%2], "busy_timeout": []string{"1000", "5000"}[i/4%2], "pool_size": "4"}})
	}
	a := measured(r, run, 12, nil, func(int) (failures, float64) { return failures{varies: 0.7}, 0.1 })
	for i := range a.Run.Trials {
		l := &a.Run.Trials[i].Samples[0].Latency[0]
		l.P999NS, l.MeanNS = l.P99NS, l.P99NS
	}
	return slices.ContainsFunc(locks.ExplainLocks(a).Mixes, func(m *locks.LockedMix) bool {
		return len(m.Equal) < m.Choices()-1 || len(m.EquallyCalm) < m.Choices()-1
	})
}

func phaseSlower(r *rand.Rand) bool {
	run := &result.Run{}
	phases := []string{"a", "b", "c", "d"}
	for c := range 2 {
		run.Cases = append(run.Cases, result.Case{ID: c + 1, Workload: "w", Driver: "d", Phases: phases})
		for n := range 20 {
			t := result.Trial{Case: c + 1, Round: n + 1, Order: 2*n + c, Status: result.OK}
			for _, p := range phases {
				t.Samples = append(t.Samples, result.Sample{Phase: p, Metric: result.MetricTime, WallNS: int64(1e9 * math.Exp(0.03*r.NormFloat64())), Operations: 1})
			}
			run.Trials = append(run.Trials, t)
		}
	}
	return slices.ContainsFunc(stats.AlternativesOf(run, 2, "").Phases(1, 0, stats.Confidence), func(p stats.PhaseRatio) bool {
		return p.Ratio.Interval != nil && p.Ratio.Interval.Low > 1
	})
}

func cpuTimesDiffer(r *rand.Rand, trials int, mean, spread float64) bool {
	a, _ := sampled(r, trials, 1, mean, spread)
	b, _ := sampled(r, trials, 1, mean, spread)
	_, i := stats.SampledRatio(a, b)
	return !holds(&i, 1)
}

// gains simulates a search of two settings. One of them divides the time by the parameter "truth".
// Trials vary by 10 %. The result "tooLarge" is above 0 if the reported gain is larger than the
// true gain: it is the logarithm of their quotient. The result "worth" is true if the search calls
// the setting worth setting. The result "within" is true if the interval of the gain contains the
// true gain, or if no gain was reported.
func gains(r *rand.Rand, truth float64) (tooLarge float64, worth, within bool) {
	f := searched(r, func(with bool) (failures, float64) {
		seconds := 0.1 * math.Exp(0.1*r.NormFloat64())
		if with {
			seconds /= truth
		}
		return failures{}, seconds
	})
	at := f.Choice(0)
	if at == 0 {
		return 0, false, true
	}
	gain := f.Steps[at].Gain
	return -math.Log(gain.Median) - math.Log(truth), true, holds(gain.Interval, 1/truth)
}

// gainsTooLarge simulates searches. The result "worth" is the number of searches that call a
// setting worth setting. The result "large" is the number of these searches in which the reported
// gain is too large.
func gainsTooLarge(searches int, truth float64) (large, worth int64) {
	var larger, told atomic.Int64
	shareOf(searches, 300, func(r *rand.Rand) bool {
		over, ok, _ := gains(r, truth)
		if ok {
			told.Add(1)
		}
		if over > 0 {
			larger.Add(1)
		}
		return ok
	})
	return larger.Load(), told.Load()
}

// sampled simulates the samples that a profiler takes of some trials. On average, each trial has as
// many samples as the parameter "mean" says. The samples are divided into equal parts. The result
// "counts" has the number of samples in each part.
func sampled(r *rand.Rand, trials, parts int, mean, spread float64) (s stats.Sampled, counts []int64) {
	counts = make([]int64, parts)
	for range trials {
		value := mean * math.Exp(spread*r.NormFloat64())
		sum := int64(0)
		for i := range counts {
			each := value / float64(parts)
			n := int64(max(0, math.Round(each+math.Sqrt(each)*r.NormFloat64()))) // approximately Poisson-distributed
			counts[i] += n
			sum += n
		}
		s.Values, s.Samples = append(s.Values, float64(sum)), s.Samples+sum
	}
	return s, counts
}

func partsDiffer(r *rand.Rand, spread float64) bool {
	const parts = 10
	a, inA := sampled(r, 20, parts, 50, spread)
	b, inB := sampled(r, 20, parts, 50, spread)
	for i := range parts {
		if d, half := stats.PartsDiffer(a, inA[i], b, inB[i], parts); math.Abs(d) > half {
			return true
		}
	}
	return false
}

func tellsSmallest(r *rand.Rand) bool {
	const rounds = 14
	sides := func(n int, slower float64) (a, b []stats.Point) {
		for i := range n {
			a = append(a, stats.Point{Round: i, Value: math.Exp(0.02*r.NormFloat64()) * (1 + slower)})
			b = append(b, stats.Point{Round: i, Value: math.Exp(0.02 * r.NormFloat64())})
		}
		return a, b
	}
	n, _ := stats.NewNoise(sides(200, 0))
	ratios, _ := stats.Ratios(sides(rounds, stats.SmallestDifference(n.Ratios, rounds)))
	t := stats.CompareRatios(stats.Values(ratios))
	return t.Significant() && t.Sign() > 0
}
