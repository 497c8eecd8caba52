package lab

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// verifiedEvery is the size of a group of consecutive trials of a case. Each phase is verified
// in full in one trial of each group, and in the case's first trial.
const verifiedEvery = 8

// brief returns the names of the phases that trial n of a case does not verify in full. n counts from 0, and
// trial 0 verifies all phases. The later trials form groups of verifiedEvery trials. For each phase, the seed
// chooses the trial of a group that verifies the phase. The choice differs between phases, but not between
// drivers.
func brief(workload string, p *plan.Plan, seed uint64, n int) []string {
	if n == 0 {
		return nil
	}
	group, at := (n-1)/verifiedEvery, (n-1)%verifiedEvery
	var list []string
	for i := range p.Phases {
		ph := &p.Phases[i]
		if ph.Mix == nil && ph.Replay == nil && (ph.Query == nil || ph.Untimed) {
			continue // phases of other kinds have no verification to leave out
		}
		h := fnv.New64a()
		h.Write([]byte(workload + "\n" + ph.Name))
		turns := rand.New(rand.NewPCG(seed, h.Sum64()+uint64(group)))
		if turns.IntN(verifiedEvery) != at {
			list = append(list, ph.Name)
		}
	}
	return list
}
