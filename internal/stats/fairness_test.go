package stats_test

import (
	"math"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func TestFairness(t *testing.T) {
	for _, c := range []struct {
		shares []int64
		want   float64
	}{
		{nil, 1},
		{[]int64{0, 0}, 1},
		{[]int64{7}, 1},
		{[]int64{5, 5, 5, 5}, 1},
		{[]int64{8, 0, 0, 0}, 0.25},
		{[]int64{3, 1}, 0.8},
	} {
		if got := stats.Fairness(c.shares); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.shares, got, c.want)
		}
	}
}
