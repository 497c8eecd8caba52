package estimate_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

func ExampleOf() {
	fmt.Println(estimate.Of([]float64{1.02, 0.99, 1.01, 1.00, 1.04, 0.98, 1.03}))
	// Output: 1.010 [0.980, 1.040]
}

func ExampleRatios() {
	before, after := []float64{10, 12, 11, 10, 13, 12}, []float64{5, 6, 5, 5, 6, 6}
	fmt.Println(estimate.Ratios(before, after))
	// Output: 2.000 [2.000, 2.200]
}
