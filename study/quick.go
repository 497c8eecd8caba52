package study

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/lab"
)

// duration is the parameter that the length of a phase of fixed duration is
// called by, in milliseconds.
const duration = "time"

// The quick form is promised to end within five minutes on two cores. Its work is
// planned to take less, since a machine is never only the run's.
const budget = 210 * time.Second

// What a trial takes apart from its work, on two cores of 2026: a process with a
// new database, and in it each connection of the pool, opened, set and read back.
const (
	trialTakes      = 30 * time.Millisecond
	connectionTakes = time.Millisecond
)

// The bounds of what a phase of fixed duration is given.
const (
	shortest = 50 * time.Millisecond
	longest  = 500 * time.Millisecond
)

// Least is the time that rounds of these cases take at least: starting processes,
// opening connections, and phases of fixed duration. Work that is counted, such as
// rows to insert, comes on top.
func Least(cases []*lab.Case, rounds int) time.Duration {
	var sum time.Duration
	for _, c := range cases {
		sum += trialTakes + time.Duration(c.Settings.PoolSize())*connectionTakes + time.Duration(c.Parameters[duration])*time.Millisecond
	}
	return sum * time.Duration(rounds)
}

// inTime are the cases of the quick form. Phases of fixed duration share what the
// budget leaves them; where that is too little, drivers that the study had not are
// measured at fewer points.
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
