package result

import "cmp"

// The metrics by which a phase is judged, in [Sample].Metric.
const (
	MetricTime      = "time"    // wall time; for a bulk phase, a query or a script
	MetricTimePerOp = "time/op" // wall time per operation; for a mix or an http phase
	MetricLatency   = "latency" // the 99th percentile of latencies, at a fixed rate of requests; a latency counts from the time at which the request was due
)

// The codes of warnings, in [Warning].Code. Each is described in
// docs/report-formats.md.
const (
	WarningLoad        = "load"        // other processes were running before the run
	WarningGovernor    = "governor"    // the CPU's frequency changes
	WarningVirtual     = "virtual"     // the machine is virtual
	WarningSync        = "sync"        // fsync does not reach a device
	WarningFsync       = "fsync"       // fsync took a different time after the run than before it
	WarningCalibration = "calibration" // the machine ran at a different speed in a round
	WarningUnverified  = "unverified"  // the rows that a phase inserted cannot be checked
	WarningIdle        = "idle"        // a setting that was requested changes nothing
	WarningUnasked     = "unasked"     // a driver is measured without a requested setting that does not apply to it
	WarningStopped     = "stopped"     // a trial was discarded because sqlite3perf was stopped during it
	WarningClock       = "clock"       // the worker reported a longer time than the process that started it measured
	WarningApart       = "apart"       // the processes of a mix phase did not begin together
	WarningCPU         = "cpu"         // more CPU time was used than the cores had
	WarningRate        = "rate"        // the server cannot keep up with a fixed rate of requests
	WarningLate        = "late"        // the load generator itself sent requests late
	WarningCeiling     = "ceiling"     // a server was nearly as fast as the load generator can measure
	WarningStore       = "store"       // the store lacks part of the run
	WarningSteal       = "steal"       // the hypervisor gave CPU time to other machines
	WarningLeftOut     = "left-out"    // some events of a recording are not replayed
	WarningSkipped     = "skipped"     // events of a replay were not run because their transaction had failed
	WarningDifferent   = "different"   // events of a replay ended differently than in the recording
	WarningUnlocked    = "unlocked"    // events of a replay succeeded although a lock made them fail in the recording
	WarningPart        = "part"        // only the first process of a mix phase is profiled
	WarningResumed     = "resumed"     // the run was interrupted, and continued later
	WarningShared      = "shared"      // another host of the run is the same machine, and was measured at the same time
	WarningCached      = "cached"      // with cold_caches, part of the database stayed in the page cache
	WarningOnePiece    = "one-piece"   // a worker measured a phase in one piece, although other workers measured it in slices (parts)
	WarningRobbed      = "robbed"      // trials count although other processes or machines took CPU time from them
)

// OffSpeed is the least deviation of a round's calibration (the time of a fixed computing loop) that
// causes [WarningCalibration]. It is a share of the median calibration of the run.
const OffSpeed = 0.10

// ApartShare limits the time between the first and the last start of the processes of a mix phase, as a
// share of the phase's time. If the starts are further apart, the trial has a [WarningApart].
const ApartShare = 0.01

// CachedShare limits the share of a database that may stay in the page cache after sqlite3perf asked the
// system to drop it. If a larger share stays, the trial has a [WarningCached].
const CachedShare = 0.01

// RobbedShare is a share of a trial's duration. If other processes or machines took more CPU time from a
// trial than this share of its duration, the field [Trial].Robbed is true.
const RobbedShare = 0.05

// The reasons why a run stopped, in [Run].Stopped; "" while it runs.
const (
	StoppedRounds      = "rounds"       // the requested number of rounds is complete
	StoppedSettled     = "settled"      // every figure is precise enough, or every verdict of a comparison is clear
	StoppedTime        = "time"         // another round would have exceeded the time limit
	StoppedInterrupted = "interrupted"  // the user interrupted the run
	StoppedNothingLeft = "nothing-left" // no case could be measured
)

// CodeHost is the code of [Trial].Reason if the trial did not take place because the connection
// to the run's [Host] was lost.
const CodeHost = "host"

// Ending describes in a few words why a run ended. The parameter "stopped" is the reason, such as
// [StoppedTime].
func Ending(stopped string) string {
	words := map[string]string{"": "unfinished", StoppedRounds: "rounds done", StoppedTime: "time over", StoppedNothingLeft: "nothing to measure"}
	return cmp.Or(words[stopped], stopped)
}

// LeftOutTime is the code in [LeftOut] for a workload that would take longer than the default time
// of a run. The other codes are for drivers, and say why a driver has no worker.
const LeftOutTime = "time"
