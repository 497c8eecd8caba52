package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// noise returns a series of logarithms. For each level, it has n values that vary around the level by
// 2 %.
func noise(seed uint64, n int, levels ...float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	var list []float64
	for _, l := range levels {
		for range n {
			list = append(list, math.Log(l*(1+0.02*r.NormFloat64())))
		}
	}
	return list
}

func places(list []stats.Change) []int {
	var at []int
	for _, c := range list {
		at = append(at, c.At)
	}
	return at
}

func TestChanges(t *testing.T) {
	outlier := noise(4, 30, 1)
	outlier[12] = 5
	for _, c := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"one level", noise(1, 60, 1), nil},
		{"a step of 10 %", noise(102, 20, 1, 1.1), []int{20}},
		{"there and back", noise(3, 20, 1, 1.1, 1), []int{20, 40}},
		{"an outlier", outlier, nil},
		{"too few", noise(5, 3, 1, 2), nil},
		{"two dozen", noise(6, 12, 1, 2), []int{12}},
		{"constant", make([]float64, 50), nil},
		{"not a number", append(noise(7, 20, 1, 2), math.NaN()), nil},
		{"none", nil, nil},
	} {
		if got := places(stats.Changes(c.values, 1)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func ExampleChanges() {
	seconds := []float64{
		1.01, 1.02, 0.99, 1.00, 1.01, 0.98, 1.00, 1.02, 0.99, 1.01, 0.98, 1.00,
		1.20, 1.22, 1.19, 1.21, 1.20, 1.18, 1.21, 1.19, 1.22, 1.20, 1.21, 1.19,
	}
	for _, c := range stats.Changes(seconds, 1) {
		fmt.Printf("a new level begins with %.2f s\n", seconds[c.At])
	}
	// Output: a new level begins with 1.20 s
}

func BenchmarkChanges(b *testing.B) {
	values := noise(1, 100, 1, 1.1)
	for b.Loop() {
		stats.Changes(values, 1)
	}
}
