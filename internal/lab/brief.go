package lab

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// verifiedEvery is in how many trials of a case, after its first, each phase is once
// verified in full.
const verifiedEvery = 8

// brief returns the phases that trial number n of a case, from 0, need not verify in
// full. Its first trial verifies all of them. The seed chooses the later trials, one in
// each verifiedEvery, for each phase by itself and for all drivers alike.
func brief(workload string, p *plan.Plan, seed uint64, n int) []string {
	if n == 0 {
		return nil
	}
	group, at := (n-1)/verifiedEvery, (n-1)%verifiedEvery
	var list []string
	for i := range p.Phases {
		ph := &p.Phases[i]
		if ph.Mix == nil && ph.Replay == nil && (ph.Query == nil || ph.Untimed) {
			continue // there is nothing to leave out
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

// unhashed reports whether a phase was asked for no checksum. A mix always has one,
// because it is made before the clock starts and brings the database into memory.
func (s *session) unhashed(p *plan.Phase) bool {
	return p.Query != nil && slices.Contains(s.brief, p.Name)
}
