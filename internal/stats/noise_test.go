package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// equal returns the times of two equal cases in each round. The times vary by the parameter
// "spread", and the machine's speed varies from round to round.
func equal(rounds int, spread float64, random *rand.Rand) (a, b []stats.Point) {
	for r := range rounds {
		speed := 1 + random.Float64()/2
		a = append(a, stats.Point{Round: r, Value: speed * math.Exp(spread*random.NormFloat64())})
		b = append(b, stats.Point{Round: r, Value: speed * math.Exp(spread*random.NormFloat64())})
	}
	return a, b
}

func TestNoise(t *testing.T) {
	points := func(values ...float64) (list []stats.Point) {
		for i, v := range values {
			list = append(list, stats.Point{Round: i, Value: v})
		}
		return list
	}
	n, ok := stats.NewNoise(points(1, 2, 1, 1.1, 1, 1), points(1, 2, 1.25, 1, 1.2, 1.2))
	if !ok || n.Median != 1.05 || n.Least != 1/1.05 || n.Most != 2/1.05 || len(n.Ratios) != 6 {
		t.Errorf("got %+v, %v", n, ok)
	}
	if math.Abs(n.Widest-0.25) > 1e-9 || math.Abs(n.Half-(math.Sqrt(1.1*1.2)-1)) > 1e-9 {
		t.Errorf("half of the rounds differ by %v, the widest by %v", n.Half, n.Widest)
	}
	for name, c := range map[string][2][]stats.Point{
		"too few":  {points(1, 1, 1, 1, 1), points(1, 1, 1, 1, 1, 1)},
		"zero":     {points(0, 1, 1, 1, 1, 1, 1), points(1, 1, 1, 1, 1, 1, 1)},
		"zeros":    {points(1, 1, 1, 1, 1, 1, 1), points(0, 1, 1, 1, 1, 1, 1)},
		"no round": {nil, nil},
	} {
		if n, ok := stats.NewNoise(c[0], c[1]); ok {
			t.Errorf("%s: got %+v", name, n)
		}
	}
}

// TestNoiseTells checks the difference that SmallestDifference returns for a number of rounds. It
// must be detected in 9 of 10 runs with this number of rounds.
func TestNoiseTells(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	a, b := equal(400, 0.02, random)
	n, ok := stats.NewNoise(a, b)
	if !ok {
		t.Fatal("no noise")
	}
	last := math.Inf(1)
	for _, rounds := range []int{6, 14, 60, 100, 240} {
		difference := stats.SmallestDifference(n.Ratios, rounds)
		if difference >= last || difference != stats.SmallestDifference(n.Ratios, rounds) {
			t.Errorf("%d rounds detect a difference of %v, fewer rounds one of %v", rounds, difference, last)
		}
		last = difference
		told := 0
		const runs = 300
		for range runs {
			a, b := equal(rounds, 0.02, random)
			for i := range a {
				a[i].Value *= 1 + difference
			}
			ratios, _ := stats.Ratios(a, b)
			if test := stats.CompareRatios(stats.Values(ratios)); test.Significant() && test.Sign() > 0 {
				told++
			}
		}
		if share := float64(told) / runs; share < 0.84 || share > 0.96 {
			t.Errorf("%d rounds detect a difference of %.1f %% in %.3f of the runs", rounds, 100*difference, share)
		}
	}
	if n, ok := stats.NewNoise(equal(20, 0, random)); !ok || stats.SmallestDifference(n.Ratios, 6) != 0 || n.Half != 0 {
		t.Errorf("without noise: %+v, %v", n, ok)
	}
}

// TestNoiseRange checks that the range of a difference usually contains the difference found by a
// much longer measurement.
func TestNoiseRange(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	long, ok := stats.NewNoise(equal(400, 0.02, random))
	if !ok {
		t.Fatal("no noise")
	}
	truth := stats.SmallestDifference(long.Ratios, 14)
	held := 0
	const measurements = 30
	for range measurements {
		n, ok := stats.NewNoise(equal(20, 0.02, random))
		if !ok {
			t.Fatal("no noise")
		}
		difference := stats.SmallestDifference(n.Ratios, 14)
		within := stats.DifferenceRange(n.Ratios, difference)
		if within.Low > difference || within.High < difference {
			t.Errorf("%v is not in %v", difference, within)
		}
		if within.Low <= truth && truth <= within.High {
			held++
		}
	}
	if share := float64(held) / measurements; share < 0.88 {
		t.Errorf("%.2f of the ranges contain the true difference", share)
	}
	if n, ok := stats.NewNoise(equal(20, 0, random)); ok {
		if within := stats.DifferenceRange(n.Ratios, stats.SmallestDifference(n.Ratios, 6)); within != (result.Range{}) {
			t.Errorf("without noise: %v", within)
		}
	}
}
