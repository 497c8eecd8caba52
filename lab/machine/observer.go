package machine

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/result"
)

// Observer takes the readings of one run, in the pauses between its trials.
type Observer struct {
	Machine result.Machine

	before Reading
	rounds []time.Duration
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
func (o *Observer) BeforeRound(int) { o.rounds = append(o.rounds, Calibrate()) }

// AfterRun returns warnings about what changed during the run.
func (o *Observer) AfterRun() []result.Warning {
	after, err := Look(o.Machine.Directory)
	if err != nil {
		after = Reading{} // if the directory is full by now, the cells say so
	}
	return WarningsAfter(o.before, after, o.rounds)
}
