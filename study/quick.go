package study

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/lab"
)

// duration is the name of the parameter for the length of a phase of fixed duration,
// in milliseconds.
const duration = "time"

// budget is the time planned for the quick form. It is promised to end within five
// minutes on two cores. The plan is shorter because a run never has a machine to
// itself.
const budget = 210 * time.Second

// The time that a trial takes in addition to its work, on two cores of 2026: for a
// process with a new database, and for opening each connection of its pool, setting
// its settings and reading them back.
const (
	trialTakes      = 30 * time.Millisecond
	connectionTakes = time.Millisecond
)

// The bounds of the time for a phase of fixed duration.
const (
	shortest = 50 * time.Millisecond
	longest  = 500 * time.Millisecond
)

// Least returns the least time that rounds of these cases take: for starting
// processes, opening connections, and phases of fixed duration. Work of a fixed amount,
// such as inserting rows, adds to that.
func Least(cases []*lab.Case, rounds int) time.Duration {
	var sum time.Duration
	for _, c := range cases {
		sum += trialTakes + time.Duration(c.Settings.PoolSize())*connectionTakes + time.Duration(c.Parameters[duration])*time.Millisecond
	}
	return sum * time.Duration(rounds)
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
		timed := 0
		for _, c := range cases {
			if c.Parameters[duration] > 0 {
				timed++
			}
		}
		if timed == 0 { // no drivers
			return cases, nil
		}
		rounds := p.study.Rounds
		each := min((budget-Least(cases, rounds))/time.Duration(timed*rounds), longest)
		if each >= shortest || p.fewer {
			p.time = max(each, shortest).Truncate(10 * time.Millisecond).Milliseconds()
			break
		}
	}
	return p.cases()
}
