package simulate

import (
	"fmt"
	"testing"
)

// TestPower checks that a difference of 5 % is found in 95 % of tables of 20 rounds. The times vary
// by 3 % between trials and by 10 % between rounds. It also checks that the method of [unpaired]
// finds fewer differences. Otherwise the test would not notice if that method were used again.
func TestPower(t *testing.T) {
	for _, drivers := range []int{2, 10} {
		w := world{shape: "normal", drivers: drivers, rounds: 20, slower: 0.05}
		now, before := w.power(paired, 300), w.power(unpaired, 300)
		t.Logf("%d drivers: told apart in %s of tables, by the unpaired method in %s", drivers, percent(now), percent(before))
		if now < 0.95 {
			t.Errorf("%d drivers: told apart in %s of tables, want at least 95 %%", drivers, percent(now))
		}
		if before > 0.5 {
			t.Errorf("%d drivers: the unpaired method tells them apart in %s of tables: the test does not distinguish it from the paired one", drivers, percent(before))
		}
	}
}

// TestLevel checks that equal drivers differ significantly in at most 5 % of tables. Because
// this test has few tables, it allows 7 %.
func TestLevel(t *testing.T) {
	for _, s := range shapes {
		for _, tc := range []struct{ drivers, rounds, tables int }{{2, 6, 2000}, {2, 8, 2000}, {2, 20, 2000}, {4, 6, 400}, {10, 6, 400}, {10, 15, 400}, {10, 16, 400}} {
			t.Run(fmt.Sprint(s.name, tc.drivers, "x", tc.rounds), func(t *testing.T) {
				v := world{shape: s.name, drivers: tc.drivers, rounds: tc.rounds}.anyFalse(paired, tc.tables)
				if v > 0.07 {
					t.Errorf("equal drivers are told apart in %s of tables", percent(v))
				}
			})
		}
	}
}

// TestLevelBesideOthers checks that false differences between equal drivers stay rare if other
// drivers really differ.
func TestLevelBesideOthers(t *testing.T) {
	for _, n := range []int{6, 20} {
		v := world{shape: "normal", drivers: 10, rounds: n, groups: 3, slower: 0.5}.anyFalse(paired, 400)
		if v > 0.07 {
			t.Errorf("n = %d: equal drivers are told apart in %s of tables", n, percent(v))
		}
	}
}

// TestSettling checks that at least 95 % of the reported intervals contain the true value if a run stops
// measuring cases whose figures are precise enough. Stopping early makes intervals miss the true value more
// often. So such runs use intervals of more than 95 %; with intervals of 95 %, the test would fail.
func TestSettling(t *testing.T) {
	x := settle("normal", 2, 0.03, 2000)
	t.Logf("after %.1f rounds, %s of intervals contain the ratio (%s of 95 %% intervals), and %s the median", x.rounds, percent(x.ratios), percent(x.usual), percent(x.medians))
	if x.ratios < 0.95 || x.medians < 0.95 {
		t.Errorf("%s of intervals contain the ratio, %s the median", percent(x.ratios), percent(x.medians))
	}
	if x.usual > 0.947 {
		t.Errorf("%s of 95 %% intervals contain the ratio: the test does not show why a higher confidence is needed", percent(x.usual))
	}
}

// TestWholeRun checks that hardly any run of ten equal drivers in 15 tables finds a difference.
// If the tables were not corrected together, more runs would find one.
func TestWholeRun(t *testing.T) {
	equal := func(int) world { return world{shape: "normal", drivers: 10} }
	if v := anyFalseInRun(equal, 16, 100); v > 0.12 {
		t.Errorf("%s of runs have a false verdict", percent(v))
	}
}

// TestWholeRunOfTwo checks times that drift within rounds. In 3 % of tables of six rounds, two
// drivers run in the same order in all rounds. A run of many tables must not take the effect of this
// order for a difference between the drivers.
func TestWholeRunOfTwo(t *testing.T) {
	for _, n := range []int{6, 10} {
		if v := anyFalseInRun(twoDrifting, n, 400); v > 0.08 {
			t.Errorf("n = %d: %s of runs have a false verdict", n, percent(v))
		}
	}
}

// TestGateLevel checks that a candidate at or just below the limit hardly ever shuts a gate, and
// that a candidate beyond the limit hardly ever passes. If gates tested whether the candidate is
// slower at all, instead of slower than the limit, half of these gates would be shut.
func TestGateLevel(t *testing.T) {
	for _, x := range []struct {
		shape string
		cells int
		ratio float64
	}{{"normal", 1, 1.045}, {"normal", 8, 1.045}, {"normal", 1, 1.05}, {"outliers", 8, 1.05}, {"normal", 1, 1.051}, {noisy, 1, 1.2}} {
		g := gateOf(x.shape, x.cells, x.ratio, 44, 200/x.cells)
		if x.ratio <= 1+allowed && g.failed > 0.02 || x.ratio > 1+allowed && g.passed > 0.02 {
			t.Errorf("%s, %d cells, ratio %g: shut in %s, passed in %s", x.shape, x.cells, x.ratio, percent(g.failed), percent(g.passed))
		}
	}
	if g := gateOf("normal", 1, 1.2, 44, 100); g.failed < 0.9 {
		t.Errorf("a candidate that is 20 %% slower shuts %s of gates", percent(g.failed))
	}
	if g := gateOf("normal", 8, 1, 44, 100); g.passed < 0.9 {
		t.Errorf("an equal candidate passes %s of gates", percent(g.passed))
	}
}

// TestSameLevel checks that a side whose mean is beyond the margin is hardly ever called the
// same, even if only one in ten of its trials is slow. If only the ratio of typical trials were
// used, nine in ten such sides would be called the same.
func TestSameLevel(t *testing.T) {
	for _, s := range sides {
		x := compareOf(s.spread, s.second, 88, 200)
		if t.Logf("%s, spread %s: %s same, %s slower or faster", s.name, percent(s.spread), percent(x.same), percent(x.differ)); s.same && (x.same < 0.9 || x.differ > 0.02) || !s.same && x.same > 0.02 {
			t.Errorf("%s, spread %s: %s same, %s slower or faster", s.name, percent(s.spread), percent(x.same), percent(x.differ))
		}
	}
}
