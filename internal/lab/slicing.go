package lab

import (
	"maps"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// sliceTime is how long a slice of a phase takes on the driver of middle speed.
const sliceTime = 10 * time.Millisecond

// pace is how fast the cases of one piece of work are: by name of the phase and ID of the case,
// the shortest time of an operation in a trial so far, in ns. Others on the machine make trials
// slower, so the shortest time says most.
type pace map[string]map[int]float64

// slicesFor returns the size of slices, in operations, of each phase. All cases of the same work
// get the same sizes. Before any trial of the work, no size is known, and its phases are
// measured in one piece.
func (p *Processes) slicesFor(c *Case) map[string]int64 {
	want := p.Slice
	if want == 0 {
		want = sliceTime
	}
	size := map[string]int64{}
	for phase, each := range p.paces[work(c)] {
		list := slices.Sorted(maps.Values(each))
		size[phase] = max(1, int64(float64(want)/list[len(list)/2]))
	}
	return size
}

// learn records how long the operations of a trial's phases took.
func (p *Processes) learn(c *Case, t *result.Trial) {
	if p.paces == nil {
		p.paces = map[string]pace{}
	}
	at := p.paces[work(c)]
	if at == nil {
		at = pace{}
		p.paces[work(c)] = at
	}
	for i := range t.Samples {
		s := &t.Samples[i]
		if at[s.Phase] == nil {
			at[s.Phase] = map[int]float64{}
		}
		each := float64(s.WallNS) / float64(max(1, s.Operations))
		if before, known := at[s.Phase][c.ID]; !known || each < before {
			at[s.Phase][c.ID] = each
		}
	}
}

// work identifies the work of a case: cases with the same work do the same operations on the
// same rows.
func work(c *Case) string { return c.Workload + " " + c.Scale + " " + assignments(c.Parameters) }
