package lab

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// sliceTime is the intended duration of a slice of a phase, for a driver of median speed. If only two cases do
// the same work, a slice of rows to insert, or of operations of one client, lasts half as long. Shorter slices
// are possible there because only one other trial runs between two slices, so the caches are less cold. And
// more slices make the ratio more precise.
const sliceTime = 2 * time.Millisecond

// When a slice of a phase with several clients ends, clients wait until every operation has ended. All
// clients begin the next slice at the same moment, so they wait more often for locks. So that this matters
// little, such a slice lasts at least crowdSlices times as long as sliceTime, and at least slowOperations
// times as long as the slowest driver's operations (99th percentile). Most phases are shorter, so they are
// measured in one piece.
//
// For servers and replays, the cost of cold caches is not subtracted. So even with one client, their slices
// last aloneSlices times as long as sliceTime.
const (
	crowdSlices    = 250
	slowOperations = 50
	aloneSlices    = 10
)

// A trial repeats a query that the plan executes once. The number of executions is large enough for these
// rules:
//   - It is at least usualRepeats.
//   - All executions together take at least shortestRepeats. With several clients, they take at least
//     crowdRepeats, because then the executions vary much more.
//   - The measured phases take at least the fraction leastInClock of the trial's time.
//
// But the executions should not take longer than longestRepeats with a driver of median speed, or than
// slowestRepeats with the slowest driver. There are at most mostRepeats of them.
//
// More executions would leave time for fewer rounds. The confidence intervals would then be wider, because only
// more rounds even out the differences between processes.
const (
	usualRepeats    = 12
	shortestRepeats = 25 * time.Millisecond
	longestRepeats  = 150 * time.Millisecond
	slowestRepeats  = 4 * longestRepeats
	crowdRepeats    = 100 * time.Millisecond
	mostRepeats     = 1000
	leastInClock    = 0.5
)

// A query with fewer than enoughRepeats executions is divided by rows, so it pauses in the middle of an
// execution. All its executions together should take half of longestRepeats. A query with more executions
// pauses only between them. Pausing only between executions is more exact, because an execution often reads
// data again that this or the previous execution has brought into the processor's caches. A pause removes
// these data from the caches.
const enoughRepeats = 10

// pace has the times of the cases that do the same work (see the function "work"). For each phase of a case,
// it has the shortest time so far. The shortest time is used because other work on the machine can only make
// a trial slower.
type pace struct {
	phases  map[string]map[int]phasePace // shortest times, by name of the phase and ID of the case
	outside map[int]float64              // shortest time of a trial outside its measured phases, in ns, by ID of the case
	byRows  map[string]bool              // whether a query is divided by rows, by name of the phase; this must not change between rounds, because the contents of the caches depend on it
}

// phasePace has the wall time of a phase, its time per operation, the 99th percentile of its latencies, and its
// number of rows. For a query that is executed once, the field "fetch" is the time from the query's first row to
// its end, or 0 if that is not known. Times are in ns.
type phasePace struct{ wall, each, p99, rows, fetch float64 }

// division has the sizes of slices, in operations, and the numbers of repetitions, by name of the phase.
type division struct{ slices, repeats map[string]int64 }

// divide returns how to divide the phases of a case into slices. All cases of the same work get the same
// division, except that phases that begin with cold caches are not divided. Before any trial of the work, no
// times are known, and no phases are divided.
func (p *Processes) divide(c *Case) division {
	want := p.Slice
	if want == 0 {
		want = sliceTime
	}
	d := division{map[string]int64{}, map[string]int64{}}
	at := p.paces[work(c)]
	if at == nil || c.cold() {
		return d
	}
	once, again := 0.0, 0.0 // time of phases that are measured once, and of phases that can be repeated
	type query struct {
		wall     float64       // time of one execution, for a driver of median speed
		slowest  float64       // the same time for the slowest driver
		shortest time.Duration // least time of all executions
	}
	repeated := map[string]query{} // by name of the phase
	for i := range c.Plan.Phases {
		ph := &c.Plan.Phases[i]
		wall, each, slowest, p99 := paceOf(at.phases[ph.Name])
		if wall == 0 {
			continue
		}
		if c.mayRepeat(ph) {
			q := query{wall, slowest, shortestRepeats}
			if ph.Clients() > 1 {
				q.shortest = crowdRepeats
			}
			repeated[ph.Name], again = q, again+wall
			continue
		}
		once += wall
		if !c.mayPause(ph) {
			continue
		}
		long := float64(want)
		switch {
		case ph.Clients() > 1:
			long *= max(crowdSlices, slowOperations*p99/float64(sliceTime))
		case ph.Replay != nil || ph.HTTP != nil:
			long *= aloneSlices
		case p.sides[work(c)] == 2 && p.Slice == 0:
			long /= 2
		}
		d.slices[ph.Name] = max(1, int64(long/each))
	}
	inClock := median(slices.Collect(maps.Values(at.outside))) * leastInClock / (1 - leastInClock)
	for name, q := range repeated {
		// times returns how often the query is executed, if it may take the given part of longestRepeats and slowestRepeats.
		times := func(part float64) int64 {
			n := max(usualRepeats, float64(q.shortest)/q.wall, (inClock-once)/again)
			fit := part * min(float64(longestRepeats)/q.wall, float64(slowestRepeats)/q.slowest)
			return int64(math.Ceil(min(n, math.Round(fit), mostRepeats)))
		}
		n, rows := times(1), rowsInSlice(at.phases[name], q.wall, float64(want))
		byRows, decided := at.byRows[name]
		if !decided {
			byRows = rows > 0 && n < enoughRepeats
			at.byRows[name] = byRows
		}
		if byRows && rows > 0 {
			d.slices[name], n = rows, times(0.5)
		} else if n > 1 {
			n += n % 2 // so that all turns are complete: the worker makes turns of two executions, if the query has few
		}
		if n > 1 {
			d.repeats[name] = n
		}
	}
	return d
}

// paceOf returns, for a phase, the median and the greatest of the wall times, the median of the times per
// operation, and the greatest 99th percentile of latencies. All are 0 if no times are known.
func paceOf(of map[int]phasePace) (wall, each, slowest, p99 float64) {
	var walls, eachs []float64
	for _, x := range of {
		walls, eachs, slowest, p99 = append(walls, x.wall), append(eachs, x.each), max(slowest, x.wall), max(p99, x.p99)
	}
	return median(walls), median(eachs), slowest, p99
}

// median returns the median. If the number of values is even, it returns the greater of the two middle values.
// It returns 0 if there are no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// rowsInSlice is for a query that is executed once. It returns how many of the query's rows each slice should
// have, so that a slice takes about the time in the parameter "want". The parameter "wall" is the median of the
// times of the query. The result is 0 if the query can't be divided by rows, because it takes most of its time
// before the first row or has too few rows.
func rowsInSlice(of map[int]phasePace, wall, want float64) int64 {
	var fetch []float64
	var rows float64
	for _, x := range of {
		if x.fetch > 0 {
			fetch, rows = append(fetch, x.fetch), x.rows
		}
	}
	took := median(fetch)
	parts := math.Floor(min(took/want, rows))
	if took < wall/2 || parts < 2 {
		return 0
	}
	// The fractional part of the golden ratio is added so that slices begin at different rows in
	// each execution.
	return int64(math.Ceil(rows / (parts + math.Phi - 1)))
}

// cold reports whether the phases of the case begin with cold caches. Such phases are measured in one piece,
// because the first slice would warm the caches for later slices.
func (c *Case) cold() bool { return c.Settings["cold_caches"] == "on" }

// mayRepeat reports whether workers can execute a phase of the case several times.
func (c *Case) mayRepeat(p *plan.Phase) bool {
	return p.Query != nil && p.Query.ForEach == "" && p.Query.Repeat == 1 && workload.Reads(p.Query.SQL)
}

// mayPause reports whether workers can measure a phase of the case in slices.
func (c *Case) mayPause(p *plan.Phase) bool {
	switch {
	case p.Mix != nil:
		return p.Mix.Rate == 0 && c.Settings.Processes() == 1
	case p.Replay != nil:
		return p.Replay.Speed == 0
	case p.HTTP != nil:
		return p.HTTP.Rate == 0
	}
	return p.Insert != nil || p.Query != nil
}

// learn adds the figures of a trial to what is known about the work of the case: the shortest time of each
// phase, the shortest time outside the phases, and the most memory and disk space that a trial needed.
func (p *Processes) learn(c *Case, t *result.Trial) {
	at := p.paces[work(c)]
	if at == nil {
		at = &pace{map[string]map[int]phasePace{}, map[int]float64{}, map[string]bool{}}
		p.paces[work(c)] = at
	}
	n, outside := p.needs[c], float64(t.TookNS)
	for i := range t.Samples {
		s := &t.Samples[i]
		n.memory = max(n.memory, uint64(s.PeakRSSBytes))
		n.disk = max(n.disk, uint64(s.DatabaseBytes+s.WALBytes))
		took := phasePace{wall: float64(s.WallNS), each: float64(s.WallNS) / float64(max(1, s.Operations)), rows: float64(s.Rows),
			p99: float64(s.WorstLatency(func(l *latency.Summary) int64 { return l.P99NS }))}
		if s.FirstRowNS > 0 && s.Repeats == 0 {
			took.fetch = max(0, took.wall-float64(s.FirstRowNS))
		}
		outside -= took.wall * float64(max(1, s.Repeats))
		if c.cold() {
			continue // times with cold caches say nothing about times with warm caches
		}
		if at.phases[s.Phase] == nil {
			at.phases[s.Phase] = map[int]phasePace{}
		}
		if before, known := at.phases[s.Phase][c.ID]; !known || took.wall < before.wall {
			if took.fetch == 0 {
				took.fetch = before.fetch
			}
			at.phases[s.Phase][c.ID] = took
		}
	}
	p.needs[c] = n
	if before, known := at.outside[c.ID]; !known || outside < before {
		at.outside[c.ID] = outside
	}
}

// need is how many bytes of memory and of disk a trial needs.
type need struct{ memory, disk uint64 }

// fitting divides cases into groups whose trials run together. A group may always have two cases. It may have
// more only if the needs of all its trials are known, and if its trials together need at most half of the
// free memory and half of the free disk space.
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
