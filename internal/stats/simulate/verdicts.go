package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// noises are what the values of successive rounds or runs may be, about one level.
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
				x[i] += v / 3 // there are 9 lengths
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

// verdict is something that is said, of simulated measurements of which it is known whether it
// is true.
type verdict struct {
	says, of string
	most     float64 // how often it may be said
	least    float64 // if above 0: how often it should be true instead
	cost     int     // by what the number of runs is divided
	is       func(r *rand.Rand) bool
	share    func(runs int) float64 // instead of is

	// unpromised is true where nothing promises the share, but readers should know it.
	unpromised bool
}

// verdicts has a simulation of each verdict, and several where the noise matters. What is said
// of failed operations is in failureVerdicts, those of studies are simulated in package study,
// and the words about peaks in package report.
var verdicts = slices.Concat([]verdict{
	{says: "run: a table tells drivers apart, ranks them", of: "ten equal drivers, 10 rounds", most: stats.Alpha, cost: 8,
		is: func(r *rand.Rand) bool {
			return len(paired(world{shape: "normal", drivers: 10, rounds: 10}.table(r))) > 0
		}},
	{says: "run: any table, or the summary over all, tells drivers apart, which names the best", of: "four equal drivers, five tables, 10 rounds", most: stats.Alpha, cost: 8,
		is: func(r *rand.Rand) bool {
			a := stats.Analyze(equalTables(r, 5, 4, 10), "")
			return toldApart(a.Overall.Pairs) || slices.ContainsFunc(a.Groups, func(g *stats.Group) bool { return toldApart(g.Tables[0].Pairs) })
		}},
	{says: "run: the summary alone", of: "the same", most: stats.Alpha, cost: 8,
		is: func(r *rand.Rand) bool { return toldApart(stats.Analyze(equalTables(r, 5, 4, 10), "").Overall.Pairs) }},
	{says: "run: a change of a setting by itself has an effect, or depends on another", of: "three factors of two values without effect, 16 rounds", most: stats.Alpha, cost: 8,
		is: func(r *rand.Rand) bool {
			return slices.ContainsFunc(equalFactors(r).Effects, func(e *stats.Effect) bool {
				return e.Significant() || slices.ContainsFunc(e.Dependences, func(d stats.Dependence) bool { return d.Significant() })
			})
		}},
	{says: "run: the interval of an effect holds it", of: "the same", least: stats.Confidence, cost: 4,
		is: func(r *rand.Rand) bool {
			return holds(equalFactors(r).Effects[0].Ratio.Interval, 1)
		}},
	{says: "compare: slower or faster, in any cell", of: "two equal sides, four cells, looked at up to 64 rounds", most: stats.Doubt, cost: 4,
		is: func(r *rand.Rand) bool {
			return differs(stats.CompareRun(failingSides(r, failures{}, failures{}, 4, failingSettled)))
		}},
	{says: "compare: two drivers chosen after a run are slower or faster", of: "any two of ten equal drivers, 20 rounds", most: stats.Doubt, cost: 4,
		is: func(r *rand.Rand) bool {
			a := stats.Analyze(equalTables(r, 1, 10, 20), "")
			for i := range 10 {
				for j := range i {
					if differs(stats.CompareDrivers(a, fmt.Sprint("d", j), fmt.Sprint("d", i), margin)) {
						return true
					}
				}
			}
			return false
		}},
	{says: "compare: stored runs are slower or faster, in any cell", of: "two equal runs, four cells, 20 rounds, no drift between them", most: stats.Doubt, cost: 4,
		is: func(r *rand.Rand) bool {
			a, b := stats.Analyze(equalTables(r, 4, 1, 20), ""), stats.Analyze(equalTables(r, 4, 1, 20), "")
			return differs(stats.CompareRuns([2]string{"1", "2"}, a, b, margin))
		}},
	{says: "compare, machines: everywhere slower, or reversed, for any two drivers", of: "three equal drivers, two machines, 10 rounds each", most: stats.Alpha, cost: 8,
		is: func(r *rand.Rand) bool {
			m := stats.OnMachines([]*stats.Analysis{stats.Analyze(equalTables(r, 1, 3, 10), "floor"), stats.Analyze(equalTables(r, 1, 3, 10), "floor")})
			return m.Count(stats.Reversed)+m.Count(stats.Everywhere) > 0
		}},
	{says: "bisect: names a release of 16, in 4 steps", of: "equal releases", most: 4 * stats.Doubt, cost: 8,
		is: func(r *rand.Rand) bool { return bisected(r, failures{}, failures{}, 11, 1).Bad != "" }},
	{says: "bisect: names a release for certain, of 16", of: "another one is 10 % slower, and all after it", most: 0.1, cost: 8,
		is: func(r *rand.Rand) bool {
			f := bisected(r, failures{}, failures{}, 11, 1.1)
			return f.Certain() && f.Bad != "v11"
		}},
	{says: "bisect: no release changed anything, of 16, in 4 steps", of: "one is 5.1 % slower, and all after it; 5 % does not matter", most: 4 * stats.Doubt, cost: 8,
		is: func(r *rand.Rand) bool {
			f := bisected(r, failures{}, failures{}, 11, 1.051)
			return f.Certain() && f.Bad == ""
		}},
	{says: "bisect: no release changed anything, of 16, in 4 steps", of: "of one and all after it 21 % ± a third fail instead of 15 %; 5 points do not matter", most: 4 * stats.Doubt, cost: 20,
		is: func(r *rand.Rand) bool {
			f := bisected(r, equalFailures[2], sixMore, 11, 1)
			return f.Certain() && f.Bad == ""
		}},
	{says: "advise: takes one, as the fastest", of: "three equal drivers, 20 rounds", most: stats.Alpha, cost: 8,
		is: func(r *rand.Rand) bool {
			none := failures{}
			return says(advise.Decide(advise.FactsOf(drivers(r, 1, 20, none, none, none), nil)), advise.Faster)
		}},
	{says: "advise: a shorter tail", of: "ten equal drivers, 99th percentiles that vary by 70 %, 12 rounds", most: stats.Alpha, cost: 10,
		is: func(r *rand.Rand) bool { return varying(r, advise.ShorterTail) }},
	{says: "advise: less memory", of: "ten equal drivers, peaks that vary by 70 %, 12 rounds", most: stats.Alpha, cost: 10,
		is: func(r *rand.Rand) bool { return varying(r, advise.LessMemory) }},
	{says: "locks: one choice is faster, or waits less, than another", of: "eight equal choices, two mixes, 12 rounds", most: stats.Alpha, cost: 8, is: choicesDiffer},
	{says: "run: a row has no rank because more operations failed", of: "ten equal drivers, two tables, 8 rounds, 5 % ± a half fail", most: stats.Alpha, cost: 20,
		is: func(r *rand.Rand) bool {
			return unrankedRows(drivers(r, 2, 8, slices.Repeat([]failures{equalFailures[1]}, 10)...)) > 0
		}},
	{says: "tune: a setting is worth it", of: "two settings that gain nothing", most: stats.Alpha, cost: 8,
		is: func(r *rand.Rand) bool { _, worth, _ := gains(r, 1); return worth }},
	{says: "tune: the interval of a gain holds it", of: "settings that gain 20 %, trials vary by 10 %", least: stats.Confidence, cost: 4,
		is: func(r *rand.Rand) bool { _, _, holds := gains(r, 1.2); return holds }},
	{says: "tune: a phase is slower", of: "four phases that take as long, 20 rounds", most: stats.Alpha, cost: 4, is: phaseSlower},
	{says: "profile: they differ in any of ten groups", of: "equal drivers, 20 trials of 50 samples", most: 1 - stats.Confidence, cost: 1,
		is: func(r *rand.Rand) bool { return partsDiffer(r, 0) }},
	{says: "profile: they differ in any of ten groups", of: "the same, trials vary by 30 %", most: 1 - stats.Confidence, cost: 1,
		is: func(r *rand.Rand) bool { return partsDiffer(r, 0.3) }},
	{says: "profile: takes more or less CPU time", of: "equal drivers, 3 trials of 2,000 samples that vary by 10 %", most: stats.Alpha, cost: 1,
		is: func(r *rand.Rand) bool { return cpuTimesDiffer(r, 3, 2000, 0.1) }},
	{says: "profile: takes more or less CPU time", of: "equal drivers, 20 trials of 50 samples that vary by 30 %", most: stats.Alpha, cost: 1,
		is: func(r *rand.Rand) bool { return cpuTimesDiffer(r, 20, 50, 0.3) }},
	{says: "profile: the interval of a ratio of CPU time holds it", of: "1.3, 20 trials of 40 samples that vary by 30 %", least: stats.Confidence, cost: 1,
		is: func(r *rand.Rand) bool {
			a, _ := sampled(r, 20, 1, 40, 0.3)
			b, _ := sampled(r, 20, 1, 40*1.3, 0.3)
			_, i := stats.SampledRatio(a, b)
			return holds(&i, 1.3)
		}},
	{says: "profile: the interval of a share of the samples holds it", of: "5 to 50 % of 200 samples", least: stats.Confidence, cost: 1,
		is: func(r *rand.Rand) bool {
			k, share := int64(0), 0.05+0.45*r.Float64()
			for range 200 {
				if r.Float64() < share {
					k++
				}
			}
			i := stats.Proportion(k, 200)
			return holds(&i, share)
		}},
	{says: "doctor: a difference that is told in nine of ten runs is told", of: "14 rounds that vary by 2 %, noise of 200 rounds", least: stats.NoiseTold, cost: 20, is: tellsSmallest},
}, comparedVerdicts(), trendVerdicts(24), trendVerdicts(80), manyTrends(), medianVerdicts(), wholeVerdicts(), lawVerdicts())

// sixMore fail in six percentage points more of the operations than those of which 15 % ± a third
// do.
var sixMore = failures{name: "21 % ± a third", share: 0.21, spread: 1. / 3}

// comparedVerdicts are what compare and gate say besides, and their intervals.
func comparedVerdicts() []verdict {
	const looks = "two equal sides, four cells, looked at up to 64 rounds"
	equal := func(r *rand.Rand) *stats.Comparison {
		return stats.CompareRun(failingSides(r, failures{}, failures{}, 4, failingSettled))
	}
	// stored are a run and one made later, of which a driver takes times as long.
	stored := func(r *rand.Rand, tables, rounds int, spread, times float64) *stats.Comparison {
		var a [2]*stats.Analysis
		for i := range a {
			run := &result.Run{}
			for c := range tables {
				run.Cases = append(run.Cases, result.Case{ID: c + 1, Workload: fmt.Sprint("w", c), Driver: "d", Phases: []string{"p"}})
				for n := range rounds {
					addTrial(run, c+1, stats.Point{Round: n + 1, Value: math.Exp(spread*r.NormFloat64()) * math.Pow(times, float64(i))})
				}
			}
			a[i] = stats.Preview(run, "")
		}
		return stats.CompareRuns([2]string{"1", "2"}, a[0], a[1], margin)
	}
	return []verdict{
		{says: "compare: the interval of a ratio holds it", of: looks, least: 1 - stats.Doubt, cost: 4,
			is: func(r *rand.Rand) bool { return holds(equal(r).Cells[0].Ratio.Interval, 1) }},
		{says: "compare: the interval of the geometric mean holds it", of: looks, least: 1 - stats.Doubt, cost: 4,
			is: func(r *rand.Rand) bool { return holds(equal(r).Mean.Interval, 1) }},
		{says: "compare: the interval of the difference of failures holds it", of: "two sides of which 15 % ± a third and 21 % ± a third fail, looked at up to 64 rounds", least: 1 - stats.Doubt, cost: 8,
			is: func(r *rand.Rand) bool {
				c := stats.CompareRun(failingSides(r, equalFailures[2], sixMore, 1, failingSettled))
				i := c.Cells[0].Failing.Difference()
				return holds(&i, 0.06)
			}},
		{says: "compare: same", of: "2.5 percentage points more fail, ± a fifth; 2 % allowed", most: stats.Doubt, cost: 8,
			is: func(r *rand.Rand) bool {
				c := stats.CompareRun(failingSides(r, failures{share: 0.15, spread: 0.2}, failures{share: 0.175, spread: 0.2}, 1, failingSettled))
				return c.Count(stats.Same) > 0
			}},
		{says: "compare: stored runs are the same", of: "one is 2.5 % slower, 60 rounds that vary by 1 %, 2 % allowed", most: stats.Doubt, cost: 4,
			is: func(r *rand.Rand) bool { return stored(r, 1, 60, 0.01, 1.025).Count(stats.Same) > 0 }},
		{says: "gate: shut by a stored run, before it is confirmed", of: "4.5 % slower in eight cells, 20 rounds that vary by 3 %, 5 % allowed", most: stats.Doubt, cost: 4,
			is: func(r *rand.Rand) bool { return stats.NewGate(allowed, stored(r, 8, 20, 0.03, 1.045)).Shut() }},
		{says: "gate: passed by a stored run", of: "5.1 % slower, 20 rounds that vary by 3 %, 5 % allowed", most: stats.Doubt, cost: 2,
			is: func(r *rand.Rand) bool {
				return stats.NewGate(allowed, stored(r, 1, 20, 0.03, 1.051)).Decision() == stats.Passed
			}},
		{says: "gate: passed", of: "6 percentage points more fail, 5 allowed", most: stats.Doubt, cost: 20,
			is: func(r *rand.Rand) bool {
				return gated(r, equalFailures[2], sixMore, 1).Decision() == stats.Passed
			}},
	}
}

// wholeVerdicts are of those that have tables of their own, where they are hardest to keep.
func wholeVerdicts() []verdict {
	return []verdict{
		{says: "gate: failed", of: "4.5 % slower in eight cells, 5 % allowed", most: stats.Doubt, cost: 8,
			share: func(runs int) float64 { return gateOf("normal", 8, 1.045, 64, runs).failed }},
		{says: "gate: passed", of: "20 % slower, 5 % allowed, on a noisy machine", most: stats.Doubt, cost: 1,
			share: func(runs int) float64 { return gateOf(noisy, 1, 1.2, 64, runs).passed }},
		{says: "gate: passed", of: "5.1 % slower, 5 % allowed", most: stats.Doubt, cost: 1,
			share: func(runs int) float64 { return gateOf("normal", 1, 1.051, 64, runs).passed }},
		{says: "compare: same", of: "2.5 % slower, 2 % allowed", most: stats.Doubt, cost: 4,
			share: func(runs int) float64 {
				return compareOf(0.01, func(*rand.Rand) float64 { return math.Log(1.025) }, 128, runs).same
			}},
		{says: "compare: same", of: "1.4 times the time in one trial of ten, 2 % allowed", most: stats.Doubt, cost: 4,
			share: func(runs int) float64 { return compareOf(0.003, slowTenth(1.4), 128, runs).same }},
		{says: "run to a precision: equal drivers are told apart", of: "two of a run that ends when the ratio is within 3 %", most: stats.Alpha, cost: 2,
			share: func(runs int) float64 { return settle("normal", 2, 0.03, runs).apart }},
		{says: "run to a precision: the interval of a ratio holds it", of: "the same", least: stats.Confidence, cost: 2,
			share: func(runs int) float64 { return settle("normal", 2, 0.03, runs).ratios }},
	}
}

// lawVerdicts are peaks of throughput where it has none: it must be told from the rounds that it
// falls at the largest number of clients measured.
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

// manyTrends are false changes of series that are looked at together.
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

// medianVerdicts are the intervals of medians and of ratios, of rounds that depend on each other.
func medianVerdicts() (list []verdict) {
	const rounds, ofCluster = 20, stats.MinSamples
	for _, n := range noises {
		list = append(list, verdict{says: "run: the interval of a median holds it", of: fmt.Sprintf("%d rounds, %s", rounds, n.name), least: stats.Confidence, cost: 1,
			unpromised: n.name != "independent" && n.name != "heavy tails",
			is:         func(r *rand.Rand) bool { return holds(stats.Summarize(n.draw(r, rounds)).Interval, 0) }})
	}
	// Ratios are formed of two trials in shuffled order.
	ratio := func(r *rand.Rand, draw func(*rand.Rand, int) []float64, rounds int) bool {
		x := draw(r, 2*rounds) // of successive trials
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

func (v verdict) nominal() string {
	switch {
	case v.unpromised:
		return "none"
	case v.least > 0:
		return "at least " + percent(v.least)
	}
	return "at most " + percent(v.most)
}

func (v verdict) found(stream, runs int) float64 {
	if v.share != nil {
		return v.share(runs)
	}
	return shareOf(runs, uint64(200+stream), v.is)
}

// everyVerdict shows all of them side by side.
func everyVerdict(tables int) string {
	rows := [][]string{{"said", "of", "nominal", "found", "runs"}, {"---", "---", "---:", "---:", "---:"}}
	for i, v := range verdicts {
		n := max(tables/v.cost, 20)
		says := v.says
		if i > 0 && says == verdicts[i-1].says {
			says = `"`
		}
		rows = append(rows, []string{says, v.of, v.nominal(), percent(v.found(i, n)), fmt.Sprint(n)})
	}
	n := max(tables/4, 20)
	large, worth := gainsTooLarge(n, 1.05)
	rows = append(rows, []string{"tune: the gain that is printed is too large", "a setting that gains 5 % and is called worth it, trials vary by 10 %", "50.0 %", percent(float64(large) / float64(max(worth, 1))), fmt.Sprint(worth)})
	return "Each verdict, where it would be false, and each interval, of what it is an interval:\n\n" + markdown(rows)
}

// equalTables makes a run of equal drivers. Rounds vary by 10 %, trials by 3 %.
func equalTables(r *rand.Rand, tables, drivers, rounds int) *result.Run {
	run := &result.Run{}
	for t := range tables {
		for d, points := range (world{shape: "normal", drivers: drivers, rounds: rounds}).table(r) {
			c := result.Case{ID: len(run.Cases) + 1, Workload: fmt.Sprint("w", t), Driver: fmt.Sprint("d", d), Phases: []string{"p"}}
			run.Cases = append(run.Cases, c)
			for _, p := range points {
				addTrial(run, c.ID, p)
			}
		}
	}
	return run
}

func toldApart(pairs []stats.Pair) bool {
	return slices.ContainsFunc(pairs, func(p stats.Pair) bool { return p.Significant() })
}

func differs(c *stats.Comparison) bool { return c.Count(stats.Slower)+c.Count(stats.Faster) > 0 }

// equalFactors makes a run of one driver with three settings of two values.
func equalFactors(r *rand.Rand) *stats.Factorial {
	run := &result.Run{}
	for i, points := range (world{shape: "normal", drivers: 8, rounds: 16}).table(r) {
		c := result.Case{ID: i + 1, Workload: "w", Driver: "d", Phases: []string{"p"}, Settings: map[string]string{}}
		for bit, name := range []string{"cache_size", "mmap_size", "temp_store"} {
			c.Settings[name] = fmt.Sprint(1 + i>>bit&1)
		}
		run.Cases = append(run.Cases, c)
		for _, p := range points {
			addTrial(run, c.ID, p)
		}
	}
	return stats.Analyze(run, "").Factorials[0]
}

func says(a *advise.Advice, what advise.Advantage) bool {
	return slices.ContainsFunc(a.Because, func(r advise.Reason) bool { return r.Advantage == what }) ||
		slices.ContainsFunc(a.Overturn, func(o advise.Overturn) bool { return o.Advantage == what })
}

// varying reports whether advise names an advantage of one of ten equal drivers whose tails and
// memory vary. If the 45 pairs were not corrected together, it would name a tail for half of them.
func varying(r *rand.Rand, what advise.Advantage) bool {
	a := drivers(r, 1, 12, slices.Repeat([]failures{{varies: 0.7}}, 10)...)
	return says(advise.Decide(advise.FactsOf(a, nil)), what)
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

// gains searches two settings, of which one divides the time. It returns how much larger the
// printed gain is, as a logarithm, whether it is called worth it, and whether the interval of
// the gain holds it, which it does too if none is printed. Trials vary by 10 %.
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

// gainsTooLarge returns how many gains are printed as too large, of those that are called worth
// it in some searches.
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

// sampled makes what a profiler sees of trials, each of mean samples on average, divided into
// equal parts, whose counts it returns.
func sampled(r *rand.Rand, trials, parts int, mean, spread float64) (s stats.Sampled, counts []int64) {
	counts = make([]int64, parts)
	for range trials {
		value := mean * math.Exp(spread*r.NormFloat64())
		sum := int64(0)
		for i := range counts {
			each := value / float64(parts)
			n := int64(max(0, math.Round(each+math.Sqrt(each)*r.NormFloat64()))) // close to Poisson
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
	t := stats.Compare(sides(rounds, n.SmallestDifference(rounds)))
	return t.Significant() && t.Sign() > 0
}
