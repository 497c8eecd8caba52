package stats

// WithP is a comparison with a p-value.
func WithP(p float64) *Test { return &Test{P: p, Adjusted: p, fine: p} }

// PermutationTest is that of a whole table.
func PermutationTest(sets [][]Point) float64 { return permutationTest(sets) }

// UnpairedRatio compares samples of different rounds.
func UnpairedRatio(a, b []float64, confidence float64) (Summary, float64) {
	s, p, _ := unpairedRatio(a, b, confidence)
	return s, p
}

// Exceeds is the p-value of a mean of differences.
var Exceeds = exceeds
