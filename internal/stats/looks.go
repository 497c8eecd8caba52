package stats

// A comparison that ends when its verdicts are clear judges its samples repeatedly. Each such
// judgment is called a look. If each look used the full level, equal sides would sooner or later
// differ significantly by chance. So the comparison looks only after certain rounds, and the level
// is divided among these looks. By the Bonferroni inequality, the probability that any look errs is
// then at most the whole level.
//
// The first look gets a quarter of the level, so that two cells can differ significantly after 11
// rounds. Each later look gets a twentieth. There are at most 15 of them: 14 after certain rounds,
// and one at the end of the run. All of them get the same share, because a small difference is found
// only after many rounds.
const (
	firstLook     = 11   // rounds before the first look
	lastLook      = 1408 // rounds before the last look, apart from the end of the run
	firstLevel    = 4    // the level, divided by the first look's share
	furtherLevels = 20   // the level, divided by the share of a later look
)

// Look reports whether a comparison under way is judged after n rounds: 11, 16, 22, 32, 44, 64,
// 88 and so on, up to 1408. With fewer than 11 rounds, two sides cannot differ significantly.
func Look(n int) bool {
	if n > lastLook {
		return false
	}
	for n > 16 && n%2 == 0 { // 22 becomes 11, 32 becomes 16
		n /= 2
	}
	return n == firstLook || n == 16
}

// spent returns the factor that corrects p-values after n rounds, if the run is judged at every
// [Look] and at its end.
func spent(n int) float64 {
	if n <= firstLook {
		return firstLevel
	}
	return furtherLevels
}
