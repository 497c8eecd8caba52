package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// verdict is a statement of a report, with simulated measurements for which it is known
// whether the statement is true.
type verdict struct {
	says, of string
	most     float64 // if the statement is false: greatest share of simulations in which it may be made
	least    float64 // if above 0, it replaces most: least share of simulations in which the statement must be true
	cost     int     // divisor for the number of simulations
	is       func(r *rand.Rand) bool
	share    func(runs int) float64 // simulates the given number of runs, and returns the share of them in which the statement is true; if it is nil, the function "is" decides for each simulation

	// unpromised says that no document promises this share, but readers should know it.
	unpromised bool
}

// verdicts has at least one simulation of each statement. If the kind of noise matters, it has
// several. Statements about failed operations are in failureVerdicts, statements about studies are
// in package study, and statements about peaks of throughput are in package report.
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
			return says(recommend.Decide(recommend.FactsOf(drivers(r, 1, 20, none, none, none), nil)), recommend.Faster)
		}},
	{says: "advise: a shorter tail", of: "ten equal drivers, 99th percentiles that vary by 70 %, 12 rounds", most: stats.Alpha, cost: 10,
		is: func(r *rand.Rand) bool { return varying(r, recommend.ShorterTail) }},
	{says: "advise: less memory", of: "ten equal drivers, peaks that vary by 70 %, 12 rounds", most: stats.Alpha, cost: 10,
		is: func(r *rand.Rand) bool { return varying(r, recommend.LessMemory) }},
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
	{says: "doctor: a run finds the difference that nine of ten runs should find", of: "14 rounds that vary by 2 %, noise of 200 rounds", least: stats.NoiseTold, cost: 20, is: tellsSmallest},
}, comparedVerdicts(), trendVerdicts(24), trendVerdicts(80), manyTrends(), medianVerdicts(), wholeVerdicts(), lawVerdicts(), probableVerdicts())

// sixMore is a side on which about 21 % of the operations fail: six percentage points more than
// on the side "15 % ± a third" in equalFailures.
var sixMore = failures{name: "21 % ± a third", share: 0.21, spread: 1. / 3}

// comparedVerdicts returns simulations of more verdicts of the commands compare and gate, and of the
// intervals that they print.
func comparedVerdicts() []verdict {
	const looks = "two equal sides, four cells, looked at up to 64 rounds"
	equal := func(r *rand.Rand) *stats.Comparison {
		return stats.CompareRun(failingSides(r, failures{}, failures{}, 4, failingSettled))
	}
	// stored compares a run with a later one. In the later run, the time of the only driver is
	// multiplied by the parameter "times".
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
		{says: "gate: failed by a stored run, before it is confirmed", of: "4.5 % slower in eight cells, 20 rounds that vary by 3 %, 5 % allowed", most: stats.Doubt, cost: 4,
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

// wholeVerdicts returns simulations of statements that also have their own tables in
// docs/proofs.md. It simulates the conditions in which it is hardest to keep the limits.
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

// probableVerdicts returns simulations of the word "probably" of the command compare.
func probableVerdicts() []verdict {
	return []verdict{
		{says: "compare: probably slower or faster, in any cell", of: "two equal sides, four cells, looked at up to 64 rounds", most: stats.Alpha, cost: 4,
			is: func(r *rand.Rand) bool {
				return probablyDiffers(stats.CompareRun(failingSides(r, failures{}, failures{}, 4, failingSettled)))
			}},
		{says: "compare: two drivers chosen after a run are probably slower or faster", of: "any two of four equal drivers, five tables, 10 rounds", most: stats.Alpha, cost: 8,
			is: func(r *rand.Rand) bool {
				a := stats.Analyze(equalTables(r, 5, 4, 10), "")
				for i := range 4 {
					for j := range i {
						if probablyDiffers(stats.CompareDrivers(a, fmt.Sprint("d", j), fmt.Sprint("d", i), margin)) {
							return true
						}
					}
				}
				return false
			}},
	}
}

func (v verdict) nominal() string {
	switch {
	case v.unpromised:
		return "none"
	case v.least > 0:
		return "≥ " + percent(v.least)
	}
	return "≤ " + percent(v.most)
}

func (v verdict) found(stream, runs int) float64 {
	if v.share != nil {
		return v.share(runs)
	}
	return shareOf(runs, uint64(200+stream), v.is)
}

func everyVerdict(tables int) string {
	rows := [][]string{{"verdict or interval", "simulated", "nominal", "found", "runs"}, {"---", "---", "---:", "---:", "---:"}}
	for i, v := range verdicts {
		n := max(tables/v.cost, 20)
		says, found := v.says, percent(v.found(i, n))
		if i > 0 && says == verdicts[i-1].says {
			says = `"`
			// Simulations share a row if only the ends of their descriptions differ, such as the kind of noise.
			last := rows[len(rows)-1]
			if same, end := cutLast(v.of); end != "" && strings.HasPrefix(last[1], same+", ") && last[2] == v.nominal() {
				last[1] += "; " + end
				last[3] += "; " + found
				continue
			}
		}
		rows = append(rows, []string{says, v.of, v.nominal(), found, fmt.Sprint(n)})
	}
	n := max(tables/4, 20)
	large, worth := gainsTooLarge(n, 1.05)
	rows = append(rows, []string{"tune: the gain that is printed is too large", "a setting that gains 5 % and is called worth it, trials vary by 10 %", "50.0 %", percent(float64(large) / float64(max(worth, 1))), fmt.Sprint(worth)})
	return "How often each verdict is found where it would be false, and how often each interval contains the true value:\n\n" + markdown(rows)
}

// cutLast splits a list at its last comma.
func cutLast(list string) (before, last string) {
	if i := strings.LastIndex(list, ", "); i >= 0 {
		return list[:i], list[i+2:]
	}
	return list, ""
}
