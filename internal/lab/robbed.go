package lab

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// robbedTime is the least loss of CPU time that makes a trial count as robbed. Robbed means that
// other processes or machines took too much CPU time from the trial. The system counts their
// time in hundredths of a second, so a smaller loss could be a rounding error.
// docs/methodology.md explains the limits.
const robbedTime = 30 * time.Millisecond

// mostRepeated is the fraction of a run's trials that may be run again because other processes or machines
// took CPU time from them. If most trials of a machine lose CPU time, running them again does not help.
const mostRepeated = 0.1

// robbed reports whether other processes or machines took too much CPU time from a trial. The parameter
// "took" is the trial's duration. The result must not depend on the driver, nor on the trial's measurements.
func robbed(c *result.CPU, took time.Duration) bool {
	lost := time.Duration(c.LostNS())
	return lost > robbedTime && float64(lost) > result.RobbedShare*float64(took)
}

// reading is the CPU time that the machine and this process had used at some time.
type reading struct {
	at      time.Time
	machine machine.CPUTime
	known   bool
	own     time.Duration // user CPU time of this process
}

func (p *Processes) read() reading {
	read := p.CPUTime
	if read == nil {
		read = machine.ReadCPUTime
	}
	t, known := read()
	return reading{time.Now(), t, known, process.OwnUserTime()}
}

// used returns the CPU time that a trial's process used. The parameter "waited" is how long the process
// waited for a CPU, or nil if that is not known.
func used(state *os.ProcessState, waited *time.Duration) *result.CPU {
	return &result.CPU{
		UserNS: int64(state.UserTime()), SystemNS: int64(state.SystemTime()),
		Switches: process.InvoluntarySwitches(state), WaitedNS: (*int64)(waited),
	}
}

// account computes how much CPU time other processes and machines took from trials that ran together. Each
// trial gets an equal share of this loss. If the loss of a trial is too great, account marks the trial as
// robbed.
func (p *Processes) account(list []ending) {
	list = slices.DeleteFunc(slices.Clone(list), func(e ending) bool { return e.trial == nil || e.trial.CPU == nil })
	if len(list) == 0 {
		return
	}
	first, last, user, count := list[0].from, list[0].to, int64(0), int64(len(list))
	for _, e := range list {
		if e.from.at.Before(first.at) {
			first = e.from
		}
		if e.to.at.After(last.at) {
			last = e.to
		}
		user += e.trial.CPU.UserNS
	}
	if !first.known || !last.known {
		return
	}
	stolen := max(0, int64(last.machine.Stolen-first.machine.Stolen)) / count
	others := max(0, int64(last.machine.User-first.machine.User-(last.own-first.own))-user) / count
	took := last.at.Sub(first.at) / time.Duration(count)
	for _, e := range list {
		c := e.trial.CPU
		c.StolenNS, c.OthersNS = &stolen, &others
		e.trial.Robbed = e.trial.Status == result.OK && robbed(c, took)
	}
}

// repeats reports whether to run the trials of a group again because some were robbed of CPU time. Each case
// is run again at most once in a round, and at most the fraction mostRepeated of the run's trials is run
// again. The parameter "before" has the earlier trials of the run.
func repeats(before []result.Trial, trials []*result.Trial) bool {
	if !slices.ContainsFunc(trials, func(t *result.Trial) bool { return t.Robbed }) {
		return false
	}
	repeated := 0
	for i := range before {
		b := &before[i]
		if b.Repeated {
			repeated++
		}
		if b.Repeated && b.Case == trials[0].Case && b.Round == trials[0].Round {
			return false
		}
	}
	return float64(repeated) <= mostRepeated*float64(len(before))
}

// robbery returns a warning if other processes or machines took CPU time from some trials and these trials
// count in the results nevertheless.
func robbery(trials []result.Trial) []result.Warning {
	count := 0
	for i := range trials {
		if t := &trials[i]; t.Robbed && !t.Repeated {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	share := float64(count) / float64(len(trials))
	return []result.Warning{{Code: result.WarningRobbed, Share: share, Message: fmt.Sprintf(
		"%d of %d trials were kept although other processes or machines took more than %g%% of their time: at most one trial in %g is measured again, each once",
		count, len(trials), 100*result.RobbedShare, 1/mostRepeated)}}
}
