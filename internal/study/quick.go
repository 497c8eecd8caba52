package study

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// duration is the name of a parameter: the length, in milliseconds, of a phase of fixed duration.
const duration = "time"

// Time is how long the quick form (scale "quick") of a study takes if the user does not give a
// time. The documentation promises five minutes on two cores, including the report.
const Time = 285 * time.Second

// budget is the part of [Time] that is planned for the first rounds of the quick form, in which
// every case is measured. If the machine is not idle, these rounds take longer. The rest of [Time]
// is spent on further rounds that decide claims.
const budget = 100 * time.Second

// The time that a trial takes in addition to its work, measured on two cores in 2026. trialTakes
// is the time to start a process with a new database. connectionTakes is the time to open one
// connection of the pool, apply its settings and read them back.
const (
	trialTakes      = 30 * time.Millisecond
	connectionTakes = time.Millisecond
)

// The shortest and the longest time that the quick form (scale "quick") of a study gives to a phase
// of fixed duration. Only phases in which rare events are counted are longer.
const (
	shortest = 50 * time.Millisecond
	longest  = 500 * time.Millisecond
)

// once reports whether the quick form (scale "quick") of a study measures a case only once. That is
// so if the duration of its phase is above the constant [longest], because such phases only count
// rare events, such as lock errors.
func once(c *result.Case) bool {
	return c.Scale == workload.Quick && c.Parameters[duration] > longest.Milliseconds()
}

// Least returns the least time that the given number of rounds of these cases takes. It includes
// starting processes, opening connections, and phases of fixed duration. Work of a fixed amount,
// such as inserting rows, takes additional time.
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

// inTime chooses the cases of a study's quick form (scale "quick") so that, if possible, their first
// rounds take no longer than [budget]. Phases of fixed duration share the time that is left after
// processes are started and connections are opened. If these phases would be too short, drivers for
// which the study has no figures are measured with fewer values of parameters.
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
		if timed == 0 { // there are no drivers
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
