package simulate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFailures simulates operations that fail at random, equally often on both sides. Verdicts that
// more operations of one side failed must not be more frequent than their levels allow. If three
// times as many operations fail on one side, the difference must be found.
func TestFailures(t *testing.T) { failing(t, 10) }

// TestSoakFailures is TestFailures with more simulations.
func TestSoakFailures(t *testing.T) { failing(t, 100) }

func failing(t *testing.T, runs int) {
	for i, v := range failureVerdicts {
		share := func(x, y failures) float64 {
			return shareOf(runs, uint64(100+i), func(r *rand.Rand) bool { return v.of(r, x, y) })
		}
		for _, f := range equalFailures {
			if got, most := share(f, f), v.nominal+3*math.Sqrt(v.nominal/float64(runs)); got > most {
				t.Errorf("%s: %s of equal sides with %s, want at most %s", v.name, percent(got), f.name, percent(most))
			}
		}
		if got := share(equalFailures[1], equalFailures[3]); got < 0.7 {
			t.Errorf("%s: %s of sides that differ, want 70 %%", v.name, percent(got))
		}
	}
}

// TestFailuresAlways checks that two sides never count as equal if most operations fail on one
// and none on the other, whatever the number of rounds.
func TestFailuresAlways(t *testing.T) {
	r := rand.New(rand.NewPCG(seed, 1))
	never, always := failures{"never", 0, 0, 0}, failures{"always", 0.9, 0, 0}
	for rounds := 6; rounds < 30; rounds++ {
		for _, n := range []int{2, 3, 10} {
			of := make([]failures, n)
			for i := range of {
				of[i] = never
			}
			of[n-1] = always
			for _, g := range drivers(r, 3, rounds, of...).Groups {
				for _, c := range g.Tables[0].Cells {
					if failed, _ := c.Failures(); c.UnlikeFailures() != (failed > 0) {
						t.Errorf("%d rounds of %d drivers: %s: %q", rounds, n, c.Case.Driver, c.Unranked)
					}
				}
			}
		}
	}
}
