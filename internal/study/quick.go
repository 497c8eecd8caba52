package study

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// duration is the name of the parameter for the length of a phase of fixed duration,
// in milliseconds.
const duration = "time"

// Time is how long the quick form takes, if the user does not say how long. It is
// promised to end within five minutes on two cores, with the report.
const Time = 285 * time.Second

// budget is the time planned for the rounds of the quick form in which every case takes
// part. They take longer if the machine is not idle. What is left of [Time] goes to the
// claims.
const budget = 100 * time.Second

// The time that a trial takes in addition to its work, on two cores of 2026: for a
// process with a new database, and for opening each connection of its pool, setting
// its settings and reading them back.
const (
	trialTakes      = 30 * time.Millisecond
	connectionTakes = time.Millisecond
)

// The bounds of the time for a phase of fixed duration in the quick form. Longer phases
// are for counts of what is rare.
const (
	shortest = 50 * time.Millisecond
	longest  = 500 * time.Millisecond
)

// once reports whether one trial of a case is enough in the quick form, because its phase
// is long and only what is counted in it matters.
func once(c *result.Case) bool {
	return c.Scale == workload.Quick && c.Parameters[duration] > longest.Milliseconds()
}

// Least returns the least time that rounds of these cases take: for starting
// processes, opening connections, and phases of fixed duration. Work of a fixed amount,
// such as inserting rows, adds to that.
func Least(cases []*lab.Case, rounds int) time.Duration {
	var sum time.Duration
	for _, c := range cases {
		takes := trialTakes + time.Duration(c.Settings.PoolSize())*connectionTakes + time.Duration(c.Parameters[duration])*time.Millisecond
		if !once(&c.Case) {
			takes *= time.Duration(rounds)
		}
		sum += takes
	}
	return sum
}

// inTime returns the cases of the quick form. Phases of fixed duration share the time
// that the budget leaves them. If that is too little, drivers that the study did not
// have are measured at fewer points.
func (p *plan) inTime() ([]*lab.Case, error) {
	for _, p.fewer = range []bool{false, true} {
		p.time = 1
		cases, err := p.cases()
		if err != nil {
			return nil, err
		}
		var repeated []*lab.Case
		timed := 0
		for _, c := range cases {
			if once(&c.Case) {
				continue
			}
			repeated = append(repeated, c)
			if c.Parameters[duration] > 0 {
				timed++
			}
		}
		if timed == 0 { // no drivers
			return cases, nil
		}
		each := min((budget-Least(repeated, lab.MinRounds))/time.Duration(timed*lab.MinRounds), longest)
		if each >= shortest || p.fewer {
			p.time = max(each, shortest).Truncate(10 * time.Millisecond).Milliseconds()
			break
		}
	}
	return p.cases()
}
