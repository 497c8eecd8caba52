package study

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

var driverComparison = &Study{
	Name:      "driver-comparison",
	Asks:      "which driver is the fastest on six workloads, in 2023 and in 2026",
	Published: "2023-10-08 and 2026-03-23, milliseconds, the better of two runs",
	Rounds:    6,
	Extra:     []string{"sqinn"},
	quick: func(c *cells) string {
		return fmt.Sprintf("simple with %s users instead of 1,000,000; real with %d instead of 100; complex with %d instead of 200; many with %d repeats instead of 1,000; large with %d users instead of 10,000; concurrent with %s instead of 1,000,000",
			document.Thousands(c.one("simple", "users")), c.one("real", "users"), c.one("complex", "users"), c.one("many", "repeats"), c.one("large", "users"), document.Thousands(c.one("concurrent", "users")))
	},
	legs: []leg{
		{workload: "simple", quick: map[string][]int64{"users": {50_000}}},
		{workload: "real", quick: map[string][]int64{"users": {20}}},
		{workload: "complex", quick: map[string][]int64{"users": {10}}},
		{workload: "many", quick: map[string][]int64{"n": {10, 100, 1000}, "repeats": {100}}},
		{workload: "large", quick: map[string][]int64{"n": {50_000, 100_000, 200_000}, "users": {300}}},
		{workload: "concurrent", quick: map[string][]int64{"n": {2, 4, 8}, "users": {20_000}}},
	},
	tables: comparisonTables,
	claims: []claim{
		{text: "2023: sqinn is the slowest in large", over: fixed(document.Map([]string{"crawshaw", "modernc", "mattn"}, func(d string) comparison {
			return comparison{what: "large: sqinn / " + d, m: milliseconds,
				x: comparisonOverall("sqinn", comparisonLarge...), y: comparisonOverall(d, comparisonLarge...), atLeast: 1}
		})...)},
		{text: "2023: sqinn and crawshaw are the fastest elsewhere", over: fixed(document.Map([][2]string{{"sqinn", "mattn"}, {"sqinn", "modernc"}, {"crawshaw", "mattn"}, {"crawshaw", "modernc"}}, func(d [2]string) comparison {
			return comparison{what: fmt.Sprintf("all but large: %s / %s", d[0], d[1]), m: milliseconds,
				x: comparisonOverall(d[0], comparisonElsewhere...), y: comparisonOverall(d[1], comparisonElsewhere...), atMost: 1}
		})...)},
		{text: "2023: mattn is a bit slower than crawshaw (up to twice)", over: fixed(comparison{what: "all but large: mattn / crawshaw", m: milliseconds,
			x: comparisonOverall("mattn", comparisonElsewhere...), y: comparisonOverall("crawshaw", comparisonElsewhere...), atLeast: 1, atMost: 2})},
		{text: "2023: modernc is much slower than mattn (at least 1.5 times)", over: fixed(comparison{what: "all but large: modernc / mattn", m: milliseconds,
			x: comparisonOverall("modernc", comparisonElsewhere...), y: comparisonOverall("mattn", comparisonElsewhere...), atLeast: 1.5})},
		{text: "2023: modernc is further behind mattn when queries run concurrently", over: fixed(comparison{what: "modernc / mattn: concurrent / other queries", m: milliseconds,
			x: comparisonOverallTo("modernc", "mattn", comparisonConcurrently...), y: comparisonOverallTo("modernc", "mattn", comparisonAlone...), atLeast: 1})},
		{text: "2026: there is no clear winner (no driver is clearly the fastest in more than half of the phases)", over: comparisonNoWinner},
		{text: "2026: SQLite without cgo is practical (glebarez, modernc, ncruces and zombiezen take at most twice the time of mattn, over all phases)", over: fixed(document.Map([]string{"glebarez", "modernc", "ncruces", "zombiezen"}, func(d string) comparison {
			return comparison{what: "all phases: " + d + " / mattn", m: milliseconds,
				x: comparisonOverall(d, comparisonPhases...), y: comparisonOverall("mattn", comparisonPhases...), atMost: 2}
		})...)},
	},
}

// comparisonPart is a phase of one of the study's six workloads. The field "published" has the
// phase's name in the study.
type comparisonPart struct {
	workload, phase, published string
	n                          int64 // value of the parameter "n"; 0 if the workload has no such parameter
}

func (p comparisonPart) key(driver string) key {
	k := key{workload: p.workload, phase: p.phase, driver: driver}
	if p.n > 0 {
		k = k.at("n", p.n)
	}
	return k
}

func comparisonParts(workload string, n ...int64) []comparisonPart {
	return document.Map(n, func(n int64) comparisonPart {
		return comparisonPart{workload, "query", fmt.Sprintf("query/N=%d", n), n}
	})
}

// The phases, grouped as the claims group them. The study's measurement of 2023 did not have the
// workload "real".
var (
	comparisonInserting    = []comparisonPart{{"simple", "insert", "insert", 0}, {"complex", "insert", "insert", 0}}
	comparisonAlone        = append([]comparisonPart{{"simple", "query", "query", 0}, {"complex", "query", "query", 0}}, comparisonParts("many", 10, 100, 1000)...)
	comparisonConcurrently = comparisonParts("concurrent", 2, 4, 8)
	comparisonLarge        = comparisonParts("large", 50_000, 100_000, 200_000)
	comparisonElsewhere    = slices.Concat(comparisonInserting, comparisonAlone, comparisonConcurrently)
	comparisonPhases       = slices.Concat(comparisonElsewhere, comparisonLarge, []comparisonPart{{"real", "insert", "insert", 0}, {"real", "query", "query", 0}})
)

func comparisonOverall(driver string, list ...comparisonPart) operand {
	return document.Map(list, func(p comparisonPart) quotient { return quotient{over: p.key(driver)} })
}

func comparisonOverallTo(driver, to string, list ...comparisonPart) operand {
	return document.Map(list, func(p comparisonPart) quotient { return per(p.key(driver), p.key(to))[0] })
}

// comparisonNoWinner finds which of the study's drivers wins most phases. A driver wins a phase if it
// is significantly faster than all other drivers. A phase has no winner if the fastest driver and
// another driver are [alike]. The run cannot decide the claim yet if no driver wins enough phases, but
// a driver is tied for first place in so many phases that it could still win enough.
func comparisonNoWinner(c *cells) []comparison {
	published := publishedFigures("driver-comparison").where("published", "2026-03-23")
	var drivers []string
	for _, d := range c.drivers {
		if len(published.where("driver", result.BaseDriver(d))) > 0 {
			drivers = append(drivers, d)
		}
	}
	wins, judged := map[string]int{}, 0
	ties := map[string][]need{} // for each driver, and each phase in which it is tied: the further rounds that may decide the phase
	for _, p := range comparisonPhases {
		var sets [][]stats.Point
		var of []string
		var ids []int
		for _, d := range drivers {
			if x, why := c.find(p.key(d)); why == "" && len(x.Samples) >= stats.MinSamples {
				sets, of, ids = append(sets, x.Points()), append(of, d), append(ids, x.Case.ID)
			}
		}
		if len(sets) < 2 {
			continue
		}
		judged++
		every, none := func(int) bool { return true }, func(int) bool { return false }
		pairs := stats.CompareAll(sets, every)
		for i := range pairs {
			pairs[i].Adjusted = min(1, pairs[i].Adjusted/c.share)
		}
		for i, s := range stats.Rank(len(sets), pairs, every, none) {
			switch {
			case s.Beaten:
			case s.Tied == nil:
				wins[of[i]]++
			default:
				if tie, ok := c.tie(i, s.Tied, sets, ids); ok {
					ties[of[i]] = append(ties[of[i]], tie)
				}
			}
		}
	}
	out := comparison{what: "phases won alone by the one who wins most", m: measure{name: fmt.Sprintf("of %d phases", judged)}, count: true, atMost: float64(judged / 2)}
	switch {
	case c.run.Rounds < stats.MinSamples:
		out.why = fmt.Sprintf("%d rounds, of at least %d", c.run.Rounds, stats.MinSamples)
		return []comparison{out}
	case judged == 0:
		out.why = "no phase has figures of two drivers of the study"
		return []comparison{out}
	}
	most := 0
	for _, d := range drivers {
		if wins[d] > most {
			most = wins[d]
			out.what = "phases won alone by " + d + ", who wins most"
		}
	}
	v := float64(most)
	out.value = &v
	if v > out.atMost {
		return []comparison{out}
	}
	for _, d := range drivers {
		if float64(wins[d]+len(ties[d])) <= out.atMost {
			continue
		}
		out.why = fmt.Sprintf("%s is tied for first place in %d more", d, len(ties[d]))
		n := majority(ties[d], int(out.atMost)-wins[d])
		switch {
		case out.needs.cases == nil || n.likely == report.DoesNotHold:
			out.needs = n
		case out.needs.likely == report.Holds:
			out.needs.rounds = max(out.needs.rounds, n.rounds)
			maps.Copy(out.needs.cases, n.cases)
		}
	}
	return []comparison{out}
}

// tie finds which further rounds may decide a phase in which a driver is tied with others. The
// parameter "sets" has the samples of all drivers, and "ids" has the IDs of their cases. The
// parameter "first" is the index of the driver in these lists, and "tied" has the indexes of the
// drivers that it is tied with. If the likely verdict is Holds, the driver will probably become the
// fastest. ok is false if the driver and one of the tied drivers are [alike], because then the
// phase has no winner.
func (c *cells) tie(first int, tied []int, sets [][]stats.Point, ids []int) (n need, ok bool) {
	one := 1.0
	n = need{cases: map[int]bool{ids[first]: true}, likely: report.Holds}
	for _, j := range tied {
		ratios, _ := stats.Ratios(sets[first], sets[j])
		s := stats.SummarizeRatiosAt(stats.Values(ratios), c.confidence())
		if alike(s.Interval) {
			return need{}, false
		}
		pair := outlook(&s, nil, &one)
		pair.cases = map[int]bool{ids[first]: true, ids[j]: true}
		switch {
		case pair.likely == report.DoesNotHold && (n.likely == report.Holds || pair.rounds < n.rounds):
			n = pair // one driver that is not slower is enough to decide that the driver "first" does not win
		case pair.likely == report.Holds && n.likely == report.Holds:
			n.rounds = max(n.rounds, pair.rounds)
			n.cases[ids[j]] = true
		}
	}
	return n, true
}

// majority finds which further rounds may decide whether a driver wins enough phases. The parameter
// "ties" has an element for each phase in which the driver is tied for first place. The driver wins
// enough phases if it wins more than "most" of them.
func majority(ties []need, most int) need {
	var won, lost []need
	for _, n := range ties {
		if n.likely == report.Holds {
			won = append(won, n)
		} else {
			lost = append(lost, n)
		}
	}
	out, enough, of := need{cases: map[int]bool{}, likely: report.Holds}, len(ties)-most, lost
	if len(won) > most {
		out.likely, enough, of = report.DoesNotHold, most+1, won
	}
	slices.SortStableFunc(of, func(a, b need) int { return cmp.Compare(a.rounds, b.rounds) })
	for _, n := range of[:enough] {
		out.rounds = max(out.rounds, n.rounds)
		maps.Copy(out.cases, n.cases)
	}
	return out
}

var comparisonTitles = map[string]string{
	"simple":     "simple: users inserted, and queried",
	"real":       "real: users with articles and comments, inserted and queried",
	"complex":    "complex: users, articles and comments, inserted and joined",
	"many":       "many: all of N users queried many times, by N",
	"large":      "large: users with N bytes of content queried, by N",
	"concurrent": "concurrent: all users queried by N goroutines, by N",
}

func comparisonTables(c *cells) []report.StudyTable {
	var tables []report.StudyTable
	for _, w := range []string{"simple", "real", "complex", "many", "large", "concurrent"} {
		published := publishedFigures("driver-comparison").where("workload", w)
		years := published.values("published")
		t := report.StudyTable{Title: comparisonTitles[w], Labels: []string{"driver"}, Corrected: either(c, []string{
			"every figure is the median of at least 6 rounds with its interval, where the study had the better of two runs",
			"settings are applied to every connection and proven on each, on a pool of as many connections as there are clients",
		}, []string{
			"the better of two runs: best is the better one of the first two rounds, of which nothing says how far they vary",
		}), Notes: either(c, nil, []string{"not reproduced: settings on one connection of many, opening inside the time, the data race: none of them gives a figure that could be distinguished from noise"})}
		if w == "concurrent" && !c.asPublished {
			t.Corrected = append(t.Corrected, "opening connections and verifying the answers is not timed, and no two goroutines write one variable")
		}
		list := slices.DeleteFunc(slices.Clone(comparisonPhases), func(p comparisonPart) bool { return p.workload != w })
		for _, p := range list {
			title := strings.TrimPrefix(p.published, "query/N=")
			if n, ok := strings.CutSuffix(title, "000"); ok && w == "large" {
				title = n + "k"
			}
			for _, year := range years {
				t.Columns = append(t.Columns, report.StudyColumn{Title: title + " " + year[:4], Unit: "ms", Published: true, Statistic: "best of two"})
			}
			if c.asPublished {
				t.Columns = append(t.Columns, report.StudyColumn{Title: title + " best", Unit: "ms", Statistic: bestOfTwo.name})
			}
			t.Columns = append(t.Columns, report.StudyColumn{Title: title + " here", Unit: "ms", Statistic: "median"})
		}
		for _, d := range c.driversOf(w, published.values("driver")...) {
			row := report.StudyRow{Labels: []string{d}}
			for _, p := range list {
				for _, year := range years {
					row.Figures = append(row.Figures, given(published.where("published", year, "phase", p.published, "driver", result.BaseDriver(d)).number("ms")))
				}
				if c.asPublished {
					row.Figures = append(row.Figures, c.figure(p.key(d), milliseconds, bestOfTwo))
				}
				row.Figures = append(row.Figures, c.figure(p.key(d), milliseconds, median))
			}
			t.Rows = append(t.Rows, row)
		}
		tables = append(tables, t)
	}
	return tables
}
