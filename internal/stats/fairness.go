package stats

// Fairness returns Jain's index, which says how evenly something is shared by n clients. It is 1 if
// all clients have the same share, or if no client has any. It is 1/n if one client has everything.
// See R. Jain, D. Chiu and W. Hawe, A Quantitative Measure of Fairness and Discrimination for
// Resource Allocation in Shared Computer Systems, DEC Research Report TR-301 (1984).
func Fairness(shares []int64) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}
