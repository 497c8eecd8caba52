package stats

// A comparison that ends when its verdicts are clear judges its samples repeatedly. Each such
// judgment is called a look. If each look used the full level, equal sides would sooner or later
// differ significantly by chance. So the comparison looks only after certain rounds, and the level
// is divided among these looks. The k-th look has 1/(k(k+1)) of the level. These shares sum to at
// most 1, however many looks there are. By the Bonferroni inequality, the probability that any look
// errs is then at most the whole level.

// Look reports whether a comparison under way is judged after n rounds: 11, 16, 22, 32, 44, 64,
// 88 and so on. With fewer than 11 rounds, two sides cannot differ significantly.
func Look(n int) bool {
	for n > 16 && n%2 == 0 { // 22 becomes 11, 32 becomes 16
		n /= 2
	}
	return n == 11 || n == 16
}

// spent returns the factor that corrects p-values if the run is judged at every [Look] up to n
// rounds. If Look(n) is false, the run ended after n rounds for another reason. In that case, its
// end counts as one more look.
func spent(n int) float64 {
	k := 0
	for i := 1; i <= n; i++ {
		if Look(i) {
			k++
		}
	}
	if !Look(n) {
		k++
	}
	return float64(k * (k + 1))
}
