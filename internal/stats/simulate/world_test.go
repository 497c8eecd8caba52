package simulate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/perf/benchmath"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// shape is the distribution of the logarithms of a driver's times, relative to its typical
// time.
type shape struct {
	name string
	draw func(r *rand.Rand) float64
}

// drifting is the shape of times that increase within each round and over the run.
const drifting = "drifting"

// noisy is the shape of times on a machine that other processes use as well.
const noisy = "noisy"

var shapes = []shape{
	{"normal", func(r *rand.Rand) float64 { return 0.03 * r.NormFloat64() }},
	{"skewed", func(r *rand.Rand) float64 { return 0.03 * r.ExpFloat64() }},
	{"long tail", func(r *rand.Rand) float64 { x := r.ExpFloat64(); return 0.03 * x * x }},
	{"two-humped", func(r *rand.Rand) float64 { return 0.1*float64(r.IntN(2)) + 0.003*r.NormFloat64() }},
	{"outliers", func(r *rand.Rand) float64 { // one trial in 20 takes 2 to 4 times as long
		x := 0.03 * r.NormFloat64()
		if r.IntN(20) == 0 {
			x += math.Log(2 + 2*r.Float64())
		}
		return x
	}},
	{drifting, func(r *rand.Rand) float64 { return 0.01 * r.NormFloat64() }},
}

func draw(name string) func(r *rand.Rand) float64 {
	if name == noisy {
		return func(r *rand.Rand) float64 { return 0.3 * r.NormFloat64() }
	}
	return shapes[slices.IndexFunc(shapes, func(s shape) bool { return s.name == name })].draw
}

type world struct {
	shape           string
	drivers, rounds int

	// slower is the share by which the last driver is slower than the other drivers. If groups is
	// above 0, there are that many groups of equal drivers, each slower by this share than the
	// previous group.
	slower float64
	groups int

	steady bool // the speed of the machine is the same in all rounds
}

func (w world) time(driver int) float64 {
	switch {
	case w.groups > 0:
		return float64(driver%w.groups) * math.Log(1+w.slower)
	case driver == w.drivers-1:
		return math.Log(1 + w.slower)
	}
	return 0
}

// table returns the samples of each driver. Times vary by 10 % between rounds. Drifting times
// increase by half over the run and by 10 % within each round. Within a round the drivers run in
// shuffled order, as in a real run.
func (w world) table(r *rand.Rand) [][]stats.Point {
	draw := draw(w.shape)
	sets := make([][]stats.Point, w.drivers)
	for round := range w.rounds {
		all := 0.1 * r.NormFloat64()
		if w.steady {
			all = 0
		}
		order := r.Perm(w.drivers)
		for d := range sets {
			v := w.time(d) + all + draw(r)
			if w.shape == drifting {
				v += 0.5*float64(round)/float64(w.rounds) + 0.1*float64(order[d])/float64(w.drivers)
			}
			sets[d] = append(sets[d], stats.Point{Round: round + 1, Value: math.Exp(v)})
		}
	}
	return sets
}

type method func(sets [][]stats.Point) (apart [][2]int)

func paired(sets [][]stats.Point) (apart [][2]int) {
	for _, p := range stats.CompareAll(sets, func(int) bool { return true }) {
		if p.Significant() {
			apart = append(apart, [2]int{p.First, p.Second})
		}
	}
	return apart
}

// unpaired returns the pairs of sets that differ significantly by the method that package stats
// used before. That is the Mann-Whitney U test of the samples, which ignores their rounds, with the
// correction of Benjamini and Hochberg.
func unpaired(sets [][]stats.Point) (apart [][2]int) {
	type pair struct {
		sets [2]int
		p    float64
	}
	var pairs []pair
	for i := range sets {
		for j := i + 1; j < len(sets); j++ {
			a := benchmath.NewSample(stats.Values(sets[i]), &benchmath.DefaultThresholds)
			b := benchmath.NewSample(stats.Values(sets[j]), &benchmath.DefaultThresholds)
			pairs = append(pairs, pair{[2]int{i, j}, benchmath.AssumeNothing.Compare(a, b).P})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.p, b.p) })
	for i := len(pairs) - 1; i >= 0; i-- {
		if pairs[i].p*float64(len(pairs)) < stats.Alpha*float64(i+1) {
			for _, p := range pairs[:i+1] {
				apart = append(apart, p.sets)
			}
			break
		}
	}
	return apart
}

func (w world) share(m method, tables int, is func(apart [][2]int) bool) float64 {
	return shareOf(tables, uint64(w.drivers<<8+w.rounds), func(r *rand.Rand) bool { return is(m(w.table(r))) })
}

// shareOf runs n simulations on all cores, and returns the share of them for which is(r) is true. Each
// simulation gets its own random numbers, which depend only on seed, stream and the simulation's index.
func shareOf(n int, stream uint64, is func(r *rand.Rand) bool) float64 {
	var wg sync.WaitGroup
	yes := make([]bool, n)
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				yes[i] = is(rand.New(rand.NewPCG(seed, stream<<32+uint64(i))))
			}
		})
	}
	wg.Wait()
	count := 0
	for _, y := range yes {
		if y {
			count++
		}
	}
	return float64(count) / float64(n)
}

func (w world) power(m method, tables int) float64 {
	return w.share(m, tables, func(apart [][2]int) bool { return slices.Contains(apart, [2]int{0, w.drivers - 1}) })
}

func (w world) anyFalse(m method, tables int) float64 {
	return w.share(m, tables, func(apart [][2]int) bool {
		return slices.ContainsFunc(apart, func(p [2]int) bool { return w.time(p[0]) == w.time(p[1]) })
	})
}
