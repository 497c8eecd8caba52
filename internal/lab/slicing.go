package lab

import (
	"maps"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// sliceTime is how long a slice of a phase takes on the driver of middle speed.
const sliceTime = 10 * time.Millisecond

// crowdSlices is how many times longer the slices of a mix with several clients are. All clients
// begin a slice at the same moment, so they meet at locks more often than they would otherwise.
const crowdSlices = 10

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
	for i := range c.Plan.Phases {
		ph := &c.Plan.Phases[i]
		each := slices.Sorted(maps.Values(p.paces[work(c)][ph.Name]))
		if each == nil || !c.mayPause(ph) {
			continue
		}
		long := float64(want)
		if ph.Mix != nil && ph.Mix.Clients > 1 {
			long *= crowdSlices
		}
		size[ph.Name] = max(1, int64(long/each[len(each)/2]))
	}
	return size
}

// mayPause reports whether workers can measure a phase of the case in slices.
func (c *Case) mayPause(p *plan.Phase) bool {
	switch {
	case p.Mix != nil:
		return p.Mix.Rate == 0 && c.Settings.Processes() == 1
	case p.Query != nil:
		return p.Query.Clients == 1
	}
	return p.Insert != nil
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
	var n need
	for i := range t.Samples {
		s := &t.Samples[i]
		n.memory = max(n.memory, uint64(s.PeakRSSBytes))
		n.disk = max(n.disk, uint64(s.DatabaseBytes+s.WALBytes))
		if at[s.Phase] == nil {
			at[s.Phase] = map[int]float64{}
		}
		each := float64(s.WallNS) / float64(max(1, s.Operations))
		if before, known := at[s.Phase][c.ID]; !known || each < before {
			at[s.Phase][c.ID] = each
		}
	}
	if p.needs == nil {
		p.needs = map[*Case]need{}
	}
	p.needs[c] = need{max(n.memory, p.needs[c].memory), max(n.disk, p.needs[c].disk)}
}

// need is how many bytes of memory and of disk a trial needs.
type need struct{ memory, disk uint64 }

// fitting divides cases into groups whose trials can run together. Together they need at most
// half of the memory and of the disk that are free. Two trials always run together, and no more
// than two if one of them has not run before.
func (p *Processes) fitting(cases []*Case) (groups [][]*Case) {
	room := p.Room
	if room == nil {
		room = machine.Room
	}
	memory, disk := room(p.Dir)
	var sum need
	unknown := false
	for _, c := range cases {
		n, known := p.needs[c]
		sum.memory, sum.disk, unknown = sum.memory+n.memory, sum.disk+n.disk, unknown || !known
		last := len(groups) - 1
		if last >= 0 && (len(groups[last]) < 2 || !unknown && sum.memory <= memory/2 && sum.disk <= disk/2) {
			groups[last] = append(groups[last], c)
			continue
		}
		groups = append(groups, []*Case{c})
		sum, unknown = n, !known
	}
	return groups
}

// work identifies the work of a case: cases with the same work do the same operations on the
// same rows.
func work(c *Case) string { return c.Workload + " " + c.Scale + " " + assignments(c.Parameters) }
