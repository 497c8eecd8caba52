package lab

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Brief returns the names of the phases that trial n of a case does not verify in full.
var Brief = brief

// Loading returns how many of a case's first phases run once for all trials.
var Loading = loading

// SetCeiling sets the rate that the load generator can reach with this number of clients, and with one
// client. Trials then do not measure this rate.
func (p *Processes) SetCeiling(clients int, perSecond float64) {
	c := ceiling{perSecond: perSecond, until: time.Now().Add(time.Hour)}
	p.ceilings = map[int]ceiling{clients: c, 1: c}
}

// CeilingsEnd makes the next trial measure the rates again instead of using the rates from SetCeiling.
func (p *Processes) CeilingsEnd() {
	for clients, c := range p.ceilings {
		c.until = time.Now()
		p.ceilings[clients] = c
	}
}

// Late reports whether a latency consists mainly of the load generator's own delay.
var Late = late

// BenchTimes returns the times of the phases that AddBench adds, in ns.
var BenchTimes = benchTimes

// Added estimates how much time sqlite3perf's own code adds to the phases of a plan.
var Added = added

// Robbed reports whether other processes took too much CPU time from a trial.
var Robbed = robbed

// CheckShare checks the sample of one process, if several processes share the operations of a mix.
var CheckShare = checkShare

// ApartIn returns the time between the beginnings of the first and the last process of a mix, and the warnings
// about this time.
func ApartIn(wall time.Duration, all ...*protocol.Sample) (*int64, []result.Warning) {
	apart := apartIn(all)
	return apart, notTogether(&result.Sample{Phase: "mix", WallNS: int64(wall), ApartNS: apart}, len(all))
}

// MergeShares combines the samples of several processes of one mix.
var MergeShares = mergeShares

// SetStuckLimit sets the time limit for a check of SQL. The function "restore" resets it.
func SetStuckLimit(d time.Duration) (restore func()) {
	before := stuckLimit
	stuckLimit = d
	return func() { stuckLimit = before }
}

// SliceTimes makes sliceTimes available to package lab_test.
var SliceTimes = sliceTimes
