package machine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Limits for noise. A value above a limit causes a warning. minFsync is a lower limit: a value below it
// causes a warning.
const (
	maxLoadPerCore = 0.5
	maxFsyncRatio  = 1.5
	minFsync       = 10 * time.Microsecond // no device syncs faster than this
	maxSteal       = 0.01                  // share of the CPUs' working time that other virtual machines took
)

// WarningsBefore returns warnings about facts that make the coming results doubtful. These are facts about
// the machine, and a reading before the first trial.
func WarningsBefore(m result.Machine, before Reading) []result.Warning {
	var list []result.Warning
	add := func(code, format string, args ...any) {
		list = append(list, result.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	if limit := float64(m.Cores) * maxLoadPerCore; m.Cores > 0 && before.Load > limit {
		add(result.WarningLoad, "the load average was %.2f on %d cores before the run: other processes took time from the trials", before.Load, m.Cores)
	}
	if m.Governor != "" && m.Governor != "performance" {
		add(result.WarningGovernor, "the CPU frequency governor is %s, not performance: the clock rate changes with what ran before", m.Governor)
	}
	if m.Virtual != "" {
		add(result.WarningVirtual, "this is a virtual machine (%s): its neighbors take time that it cannot see, and its disk may only pretend to sync", m.Virtual)
	}
	switch {
	case m.SyncFree:
		add(result.WarningSync, "databases are made on %s, where fsync reaches no device: writing is faster here than on a disk", m.FileSystem)
	case before.Fsync > 0 && before.Fsync < minFsync:
		add(result.WarningSync, "fsync in %s took %s, too short to reach a device: writing is faster here than on a disk", m.Directory, short(before.Fsync))
	}
	return list
}

// WarningsAfter returns warnings about what changed during a run. The parameters "before" and "after" are
// readings before and after the run. The parameter "rounds" has the times that [Calibrate] returned before
// each round. A time of 0 is not known.
func WarningsAfter(before, after Reading, rounds []time.Duration) []result.Warning {
	var list []result.Warning
	if b, a := before.Fsync, after.Fsync; b > 0 && a > 0 {
		if ratio := float64(max(a, b)) / float64(min(a, b)); ratio > maxFsyncRatio {
			list = append(list, result.Warning{Code: result.WarningFsync, Message: fmt.Sprintf(
				"fsync took %s before the run and %s after it, %.1f times apart: the speed of the disk changed, and with it the rounds that waited for it",
				short(b), short(a), ratio)})
		}
	}
	known := slices.DeleteFunc(slices.Clone(rounds), func(r time.Duration) bool { return r <= 0 })
	if len(known) < 3 { // with two rounds that differ, it is not known which one is unusual
		return list
	}
	median := medianOf(known)
	for i, r := range rounds {
		if off := float64(r-median) / float64(median); r > 0 && (math.Abs(off) > result.OffSpeed) {
			list = append(list, result.Warning{Code: result.WarningCalibration, Round: i + 1, Deviation: off, Message: fmt.Sprintf(
				"the calibration loop took %s in round %d, %+.0f%% from the run's median of %s: the machine ran at another speed",
				short(r), i+1, off*100, short(median))})
		}
	}
	return list
}

// stealWarning returns a warning if the parameter "share", the stolen share of CPU time, is above maxSteal.
func stealWarning(share float64) []result.Warning {
	if share <= maxSteal {
		return nil
	}
	return []result.Warning{{Code: result.WarningSteal, Share: share, Message: fmt.Sprintf(
		"the hypervisor gave %.1f%% of the CPU time that the run could have used to other machines: times are longer by about as much, but not evenly", 100*share)}}
}

// short rounds d to three significant digits.
func short(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
