package stats

// A comparison that ends when its verdicts are clear judges its samples repeatedly. Each such
// judgment is called a look. If each look used the full level, equal sides would sooner or later
// differ significantly by chance. So the comparison looks only after certain rounds, and the level
// is divided among these looks. By the Bonferroni inequality, the probability that any look errs is
// then at most the whole level.
//
// The first three looks get larger shares of the level than the later ones, so that large differences
// are found after few rounds. The later looks get equal shares, because small differences are found
// only after many rounds. There are at most 13 later looks: 12 after certain rounds, and one at the
// end of the run.

// lastLook is the number of rounds before the last look, apart from the end of the run.
const lastLook = 1408

// Look reports whether a comparison under way is judged after n rounds: 11, 16, 22, 32, 44, 64,
// 88 and so on, up to 1408. With fewer than 11 rounds, two sides cannot differ significantly.
func Look(n int) bool {
	if n > lastLook {
		return false
	}
	for n > 16 && n%2 == 0 { // 22 becomes 11, 32 becomes 16
		n /= 2
	}
	return n == 11 || n == 16
}

// spent returns the factor that corrects p-values after n rounds, if the run is judged at every
// [Look] and at its end. The inverse of the factor is the look's share of the level.
func spent(n int) float64 {
	switch {
	case n <= 11:
		return 4
	case n <= 16:
		return 8
	case n <= 22:
		return 12
	}
	return 24
}
