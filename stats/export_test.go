package stats

// WithP is a comparison with a p-value.
func WithP(p float64) *Test { return &Test{P: p, Adjusted: p, fine: p} }

// PermutationTest is that of a whole table.
func PermutationTest(sets [][]Point) float64 { return permutationTest(sets) }
