package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// margin is the value of --precision in simulated comparisons.
const margin = 0.02

// slowTenth returns a function that slows down one trial in ten by the factor in the parameter "times". For
// such a trial, the function returns the logarithm of the factor. For other trials, it returns 0.
func slowTenth(times float64) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		if r.IntN(10) == 0 {
			return math.Log(times)
		}
		return 0
	}
}

// sides has pairs of sides whose comparison is simulated. The function "second" returns a number
// that is added to the logarithm of each of the second side's times.
var sides = []struct {
	name   string
	spread float64 // standard deviation of the logarithms of both sides' times
	second func(r *rand.Rand) float64
	same   bool // the second side's mean time is within the margin
}{
	{"equal", 0.003, func(*rand.Rand) float64 { return 0 }, true},
	{"equal", 0.01, func(*rand.Rand) float64 { return 0 }, true},
	{"2.5 % slower", 0.003, func(*rand.Rand) float64 { return math.Log(1.025) }, false},
	{"2.5 % slower", 0.01, func(*rand.Rand) float64 { return math.Log(1.025) }, false},
	{"one trial in ten 1.4x", 0.003, slowTenth(1.4), false},
	{"one trial in ten 1.4x", 0.01, slowTenth(1.4), false},
	{"one trial in ten 1.25x", 0.003, slowTenth(1.25), false},
	{"one trial in ten 3x", 0.01, slowTenth(3), false},
}

func sames(runs int) string {
	rows := [][]string{{"the second side", "spread", "same", "at most", "slower or faster", "at most", "cannot tell yet"}, {"---", "---:", "---:", "---:", "---:", "---:", "---:"}}
	for _, s := range sides {
		x := compareOf(s.spread, s.second, 128, max(runs/4, 20))
		same, differ := "1 %", ""
		if s.same {
			same, differ = "", "1 %"
		}
		rows = append(rows, []string{s.name, percent(s.spread), percent(x.same), same, percent(x.differ), differ, percent(1 - x.same - x.differ)})
	}
	return "Comparisons of one cell with a margin of 2 %, judged after 11, 16, 22 rounds and so on, up to 128. " +
		"A side whose mean is farther away must not be called the same:\n\n" + markdown(rows)
}

type compared struct{ same, differ float64 }

// compareOf simulates comparisons of one cell. A comparison ends when the verdict on the cell is
// certain, or when the cell has as many rounds as the parameter "most". Times vary by 10 % between
// rounds. compareOf returns the shares of comparisons that call the sides the same, and different.
func compareOf(spread float64, second func(r *rand.Rand) float64, most, runs int) compared {
	var same, differ atomic.Int64
	shareOf(runs, 1, func(r *rand.Rand) bool {
		run := &result.Run{Compares: &result.Compares{Factor: result.FactorDriver, First: "d0", Second: "d1", Margin: margin, Looks: true}}
		for d := range 2 {
			run.Cases = append(run.Cases, result.Case{ID: d + 1, Workload: "w", Driver: fmt.Sprint("d", d), Phases: []string{"p"}})
		}
		for n := 1; n <= most; n++ {
			round := 0.1 * r.NormFloat64()
			addTrial(run, 1, stats.Point{Round: n, Value: math.Exp(round + spread*r.NormFloat64())})
			addTrial(run, 2, stats.Point{Round: n, Value: math.Exp(round + spread*r.NormFloat64() + second(r))})
			if !stats.Look(n) {
				continue
			}
			c := stats.CompareRun(stats.Preview(run, ""))
			if done := slices.Contains(c.Settled(), 1); !done && n < most {
				continue
			}
			switch c.Cells[0].Verdict {
			case stats.Same:
				same.Add(1)
			case stats.Slower, stats.Faster:
				differ.Add(1)
			}
			break
		}
		return true
	})
	return compared{float64(same.Load()) / float64(runs), float64(differ.Load()) / float64(runs)}
}
