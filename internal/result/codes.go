package result

// The metrics by which a phase is judged, in [Sample].Metric.
const (
	MetricTime      = "time"    // wall time, of a bulk phase, query or script
	MetricTimePerOp = "time/op" // wall time per operation, of a mix or http phase
	MetricLatency   = "latency" // at a fixed rate: the 99th percentile from the intended start
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
	WarningIdle        = "idle"        // a setting that was asked for changes nothing
	WarningUnasked     = "unasked"     // a driver is measured without a setting that means nothing to it
	WarningStopped     = "stopped"     // a trial was discarded because sqlite3perf was stopped during it
	WarningClock       = "clock"       // the worker's clock ran for longer than the lab saw
	WarningApart       = "apart"       // the processes of a mix did not begin together
	WarningCPU         = "cpu"         // more CPU time was used than the cores had
	WarningRate        = "rate"        // the server cannot keep up with a fixed rate
	WarningLate        = "late"        // the load generator itself sent late
	WarningCeiling     = "ceiling"     // close to what the load generator reaches
	WarningStore       = "store"       // the store lacks part of the run
	WarningSteal       = "steal"       // the hypervisor gave CPU time to others
	WarningLeftOut     = "left-out"    // events of a recording are not replayed
	WarningSkipped     = "skipped"     // events of a replay were not run, because their transaction had failed
	WarningDifferent   = "different"   // events of a replay did not end as they were recorded
	WarningUnlocked    = "unlocked"    // events of a replay succeeded that had failed because of a lock
	WarningPart        = "part"        // of a mix in several processes only the first is profiled
	WarningResumed     = "resumed"     // the run was interrupted, and continued later
	WarningShared      = "shared"      // another host of the run is the same machine, and was measured at the same time
	WarningRobbed      = "robbed"      // trials count although others took CPU time from them
)

// OffSpeed is how far off the run's median, as a share of it, the calibration of a round
// must be for [WarningCalibration].
const OffSpeed = 0.10

// ApartShare is the share of a mix's time. If its processes began further apart, that is a
// [WarningApart].
const ApartShare = 0.01

// RobbedShare is the share of a trial's duration. If others took more CPU time than that
// from it, it is [Trial].Robbed.
const RobbedShare = 0.05

// The reasons why a run stopped, in [Run].Stopped; "" while it runs.
const (
	StoppedRounds      = "rounds"       // the requested number of rounds is complete
	StoppedSettled     = "settled"      // every figure is precise enough, or every verdict of a comparison clear
	StoppedTime        = "time"         // another round would not have fit
	StoppedInterrupted = "interrupted"  // by the user
	StoppedNothingLeft = "nothing-left" // no case could be measured
)

// CodeHost is the code of the reason of a trial that did not take place, because the
// connection to the [Host] of its run was lost.
const CodeHost = "host"

// Ending says in a few words why a run stopped.
func Ending(stopped string) string {
	switch stopped {
	case "":
		return "unfinished"
	case StoppedRounds:
		return "rounds done"
	case StoppedTime:
		return "time over"
	case StoppedNothingLeft:
		return "nothing to measure"
	}
	return stopped
}

// LeftOutTime is the code of [LeftOut] for a workload that takes longer than the default
// time. The other codes are those of the reasons why a driver has no worker.
const LeftOutTime = "time"
