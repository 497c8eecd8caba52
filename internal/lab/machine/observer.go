package machine

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Observer takes readings of the machine during one run, between the trials.
type Observer struct {
	Machine result.Machine

	// Calibrate measures the speed of the machine. nil means the function [Calibrate].
	Calibrate func() time.Duration

	before  Reading
	rounds  []time.Duration
	cpu     CPUTime // CPU time before the first round
	cpuSeen bool    // whether cpu could be read
	steal   *float64
}

// Observe describes the machine and reads its noise before workers are built. dir is the
// directory for databases.
func Observe(dir string) (*Observer, error) {
	m, err := Read(dir)
	if err != nil {
		return nil, err
	}
	before, err := Look(dir)
	return &Observer{Machine: m, before: before}, err
}

// BeforeRun returns warnings about the machine that make the coming results doubtful.
func (o *Observer) BeforeRun() []result.Warning { return WarningsBefore(o.Machine, o.before) }

// BeforeRound measures the speed of the machine.
func (o *Observer) BeforeRound(int) {
	if len(o.rounds) == 0 { // not read earlier, because the CPU time of building workers must not count
		o.cpu, o.cpuSeen = ReadCPUTime()
	}
	calibrate := Calibrate
	if o.Calibrate != nil {
		calibrate = o.Calibrate
	}
	o.rounds = append(o.rounds, calibrate())
}

// Speeds returns the times of [Calibrate] before each round, each divided by their median.
// It returns nil before the first round.
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

// Steal returns the fraction of the CPUs' working time in the run that the hypervisor gave to other virtual
// machines. It returns nil before AfterRun, or if the fraction is not known.
func (o *Observer) Steal() *float64 { return o.steal }

// AfterRun returns warnings about what changed on the machine during the run.
func (o *Observer) AfterRun() []result.Warning {
	after, _ := Look(o.Machine.Directory) // in case of an error, after is zero; an error such as a full disk is reported by the trials
	list := WarningsAfter(o.before, after, o.rounds)
	if now, ok := ReadCPUTime(); ok && o.cpuSeen {
		share := stolen(o.cpu, now)
		o.steal = &share
		list = append(list, stealWarning(share)...)
	}
	return list
}

// CPUTime holds how long all CPUs of the machine together have worked since it started.
type CPUTime struct {
	Worked time.Duration // working time, including Stolen
	Stolen time.Duration // time in which CPUs had work but the hypervisor ran other machines
	User   time.Duration // time in which CPUs ran programs outside the kernel, over all processes
}

// stolen returns the stolen fraction of the CPUs' working time between two readings.
func stolen(before, after CPUTime) float64 {
	worked := after.Worked - before.Worked
	if worked <= 0 {
		return 0
	}
	return max(0, float64(after.Stolen-before.Stolen)/float64(worked))
}
