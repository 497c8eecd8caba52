package machine

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Observer takes the readings of one run, in the pauses between its trials.
type Observer struct {
	Machine result.Machine

	before  Reading
	rounds  []time.Duration
	cpu     CPUTime // before the first round
	cpuSeen bool    // cpu is known
	steal   *float64
}

// Observe reads the machine and its noise before anything is done, even before
// workers are built. Databases are created in dir.
func Observe(dir string) (*Observer, error) {
	m, err := Read(dir)
	if err != nil {
		return nil, err
	}
	before, err := Look(dir)
	return &Observer{Machine: m, before: before}, err
}

// BeforeRun returns warnings about the machine that cast doubt on what will be
// measured.
func (o *Observer) BeforeRun() []result.Warning { return WarningsBefore(o.Machine, o.before) }

// BeforeRound measures how fast the machine is.
func (o *Observer) BeforeRound(int) {
	if len(o.rounds) == 0 { // workers are built by now, so the CPU time of building them is not counted
		o.cpu, o.cpuSeen = ReadCPUTime()
	}
	o.rounds = append(o.rounds, Calibrate())
}

// Speeds returns what [Calibrate] returned before each round, divided by the median. It
// is nil before the first round.
func (o *Observer) Speeds() []float64 {
	if len(o.rounds) == 0 {
		return nil
	}
	median := float64(medianOf(o.rounds))
	var list []float64
	for _, r := range o.rounds {
		list = append(list, float64(r)/median)
	}
	return list
}

// Steal returns the share of the CPUs' working time during the run that the hypervisor
// gave to others. It is nil before AfterRun, and where it is not known.
func (o *Observer) Steal() *float64 { return o.steal }

// AfterRun returns warnings about what changed during the run.
func (o *Observer) AfterRun() []result.Warning {
	after, err := Look(o.Machine.Directory)
	if err != nil {
		after = Reading{} // if the directory is full by now, the cells say so
	}
	list := WarningsAfter(o.before, after, o.rounds)
	if now, ok := ReadCPUTime(); ok && o.cpuSeen {
		share := stolen(o.cpu, now)
		o.steal = &share
		list = append(list, stealWarning(share)...)
	}
	return list
}

// CPUTime is how long all CPUs of the machine have worked since it started.
type CPUTime struct {
	Worked time.Duration // including the time that was stolen
	Stolen time.Duration // while they had work, the hypervisor gave it to other machines
	User   time.Duration // in the programs of all processes, not in the kernel
}

// stolen returns the stolen share of the CPUs' working time between two readings.
func stolen(before, after CPUTime) float64 {
	worked := after.Worked - before.Worked
	if worked <= 0 {
		return 0
	}
	return max(0, float64(after.Stolen-before.Stolen)/float64(worked))
}
