package stats

// WithP returns a [Test] with the p-value p.
func WithP(p float64) *Test { return &Test{P: p, Adjusted: p, fine: p} }

// PermutationTest returns the p-value of the permutation test of a table.
func PermutationTest(sets [][]Point) float64 { return permutationTest(sets) }

// UnpairedRatio returns the ratio of a to b, which were not measured in the same rounds, with its
// interval and its p-value.
func UnpairedRatio(a, b []float64, confidence float64) (Summary, float64) {
	s, p, _ := unpairedRatio(a, b, confidence)
	return s, p
}

// Spent exports [spent].
var Spent = spent

// Exceeds exports [exceeds].
var Exceeds = exceeds
