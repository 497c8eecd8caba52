package lab

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

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
	return slices.DeleteFunc(verifiable(p), func(phase string) bool {
		h := fnv.New64a()
		h.Write([]byte(workload + "\n" + phase))
		turns := rand.New(rand.NewPCG(seed, h.Sum64()+uint64(group)))
		return turns.IntN(verifiedEvery) == at
	})
}

// verifiable returns the names of the phases that have a verification which can be left out.
func verifiable(p *plan.Plan) (list []string) {
	for i := range p.Phases {
		if ph := &p.Phases[i]; ph.Mix != nil || ph.Replay != nil || ph.Query != nil && !ph.Untimed {
			list = append(list, ph.Name)
		}
	}
	return list
}
