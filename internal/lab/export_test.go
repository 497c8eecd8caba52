package lab

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Brief returns the phases that a trial of a case does not verify in full.
var Brief = brief

// Loading returns how many of the first phases of a case are done once for all trials.
var Loading = loading

// SetCeiling sets the ceiling for a number of clients, so that it is not measured.
func (p *Processes) SetCeiling(clients int, perSecond float64) {
	c := ceiling{perSecond: perSecond, until: time.Now().Add(time.Hour)}
	p.ceilings = map[int]ceiling{clients: c, 1: c}
}

// CeilingsEnd makes the next trial measure every ceiling again.
func (p *Processes) CeilingsEnd() {
	for clients, c := range p.ceilings {
		c.until = time.Now()
		p.ceilings[clients] = c
	}
}

// Late reports whether a latency is mainly the load generator's own.
var Late = late

// BenchTimes returns the times of the samples of a job bench.
var BenchTimes = benchTimes

// Added estimates how much time is added in the phases of a plan.
var Added = added

// Robbed is the rule by which a trial is robbed.
var Robbed = robbed

// CheckShare finds what is wrong with the sample of one process of a mix.
var CheckShare = checkShare

// ApartIn returns how far apart processes began, and what is doubtful about that.
func ApartIn(wall time.Duration, all ...*protocol.Sample) (*int64, []result.Warning) {
	apart := apartIn(all)
	return apart, notTogether(&result.Sample{Phase: "mix", WallNS: int64(wall), ApartNS: apart}, len(all))
}

// MergeShares adds up what several processes say of one mix.
var MergeShares = mergeShares

// SetStuckLimit changes how long a check of SQL may take, until restore is called.
func SetStuckLimit(d time.Duration) (restore func()) {
	before := stuckLimit
	stuckLimit = d
	return func() { stuckLimit = before }
}
