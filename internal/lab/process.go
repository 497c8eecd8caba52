package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Processes runs each trial in a new process and a new directory.
type Processes struct {
	Dir   string        // directory on the measured file system; it also keeps the loaded databases
	Limit time.Duration // time limit for one trial
	Hint  string        // advice that is added to a trial's reason if its driver lacks a feature; "": none

	Elsewhere string // advice if the disk of Dir is full, in addition to the advice to make room; "": none

	// Hooks, if not nil, run around each trial. The trials then take no turns, so that nothing else is
	// measured between a hook and its trial.
	Hooks *Hooks

	// CPUTime returns the CPU time of the machine, and whether it is known. nil means
	// [machine.ReadCPUTime].
	CPUTime func() (machine.CPUTime, bool)

	// Slice is the duration of a slice when trials take turns. 0 means the default duration. A negative value
	// means that each phase is measured in one piece.
	Slice time.Duration

	// Room returns how many bytes of memory are available, and how many bytes there is room for
	// in Dir. nil means [machine.Room].
	Room func(dir string) (memory, disk uint64)

	placement placement

	paces    map[string]*pace // times of past trials; the key is the result of the function "work"
	sides    map[string]int   // the largest number of cases in a round that did the same work; keys as in paces
	needs    map[*Case]need
	met      uint64          // number of calls of the method "together" that have run trials
	ceilings map[int]ceiling // rates that the load generator reaches, by number of clients
	good     map[*Case]int   // number of trials that were OK; the first of them was verified in full
	begins   map[*Case]*loaded
}

var (
	errTimeout = errors.New("time limit of the trial")
	errEnough  = errors.New("nothing more to be learnt from this trial")
)

// Trials runs one trial of each case, and returns them in the order of the cases. The trials for which the
// machine has room run together and take turns. Before the first trials of some work (see the function "work"),
// a pilot trial of each case runs. A pilot trial is returned only if it failed. Trials returns an error only if
// no trials can be run (for example, without a directory), or if ctx is canceled.
func (p *Processes) Trials(ctx context.Context, cases []*Case, seed uint64) ([]*result.Trial, error) {
	if !p.needsPilot(cases) {
		return p.inParts(ctx, cases, seed, purpose{})
	}
	list, err := p.inParts(ctx, cases, seed, purpose{pilot: true})
	if err != nil {
		return nil, err
	}
	var rest []*Case
	for i, t := range list {
		if t.Status == result.OK {
			rest = append(rest, cases[i])
		}
	}
	counted, err := p.inParts(ctx, rest, seed, purpose{})
	if err != nil {
		return nil, err
	}
	for i, t := range list {
		if t.Status == result.OK {
			list[i], counted = counted[0], counted[1:]
		}
	}
	return list, nil
}

// inParts runs one trial of each case. Trials for which the machine has no room at first run after the others.
func (p *Processes) inParts(ctx context.Context, cases []*Case, seed uint64, why purpose) (list []*result.Trial, err error) {
	if p.sides == nil {
		p.sides = map[string]int{}
	}
	same := map[string]int{}
	for _, c := range cases {
		if err := p.ceiling(ctx, c, seed); err != nil {
			return nil, err
		}
		w := work(c)
		same[w]++
		p.sides[w] = max(p.sides[w], same[w])
	}
	parts := p.fitting(cases)
	if p.Hooks != nil {
		parts = slices.Collect(slices.Chunk(cases, 1))
	}
	for _, part := range parts {
		trials, err := p.undisturbed(ctx, part, seed, why)
		if err != nil {
			return nil, err
		}
		list = append(list, trials...)
	}
	return list, nil
}

// needsPilot reports whether to run a pilot trial of each case before the first trials of their work. Phases
// can be divided into slices, and queries repeated, only if their times are known. Without pilot trials, the
// first round would be measured in another way than later rounds, so its ratios would differ from the ratios
// of later rounds.
func (p *Processes) needsPilot(cases []*Case) bool {
	return p.Slice >= 0 && p.Hooks == nil && slices.ContainsFunc(cases, func(c *Case) bool {
		return p.paces[work(c)] == nil && !c.Once && !c.cold() && slices.ContainsFunc(c.Plan.Phases, func(ph plan.Phase) bool {
			return !ph.Untimed && (c.mayRepeat(&ph) || len(cases) > 1 && c.mayPause(&ph))
		})
	})
}

// mostDiscarded limits how many times in a row trials are discarded because this process was stopped while they
// ran. On an overloaded machine, this process may seem to be stopped every time. This must not block a run.
const mostDiscarded = 5

// Trial runs one trial of one case, as [Processes.Trials] does, but without a pilot trial.
func (p *Processes) Trial(ctx context.Context, c *Case, seed uint64) (*result.Trial, error) {
	list, err := p.inParts(ctx, []*Case{c}, seed, purpose{})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// undisturbed runs one trial of each case. If this process was stopped meanwhile, it discards the trials and
// runs them again, at most mostDiscarded times.
func (p *Processes) undisturbed(ctx context.Context, cases []*Case, seed uint64, why purpose) ([]*result.Trial, error) {
	var discarded []time.Duration // how long this process was stopped in each discarded attempt
	for {
		list, stopped, err := p.together(ctx, cases, seed, why)
		if err != nil {
			return nil, err
		}
		if stopped > 0 && len(discarded) < mostDiscarded {
			discarded = append(discarded, stopped)
			continue
		}
		for i, c := range cases {
			var warnings []result.Warning
			for _, d := range discarded {
				warnings = append(warnings, result.Warning{Code: result.WarningStopped, Case: c.ID,
					Message: fmt.Sprintf("sqlite3perf was stopped for %v in a trial of %s, which was discarded and done again", d.Round(100*time.Millisecond), c.Driver)})
			}
			list[i].Warnings = append(warnings, list[i].Warnings...)
		}
		return list, nil
	}
}

// purpose says what trials are for. The zero value means trials that count.
type purpose struct {
	profiles *Profiling // if not nil, profiles are recorded
	pilot    bool       // the trials only show how long phases take; like first trials, they verify everything
}

// together runs one trial of each case. It returns how long this process was stopped meanwhile. If there are
// several trials, only one of them works at a time: see [turns].
func (p *Processes) together(ctx context.Context, cases []*Case, seed uint64, why purpose) (list []*result.Trial, stopped time.Duration, err error) {
	if p.good == nil { // this is the first call
		p.paces, p.needs = map[string]*pace{}, map[*Case]need{}
		p.good, p.begins = map[*Case]int{}, map[*Case]*loaded{}
	}
	p.placement.renew(cases)
	begins := make([]*loaded, len(cases))
	list = make([]*result.Trial, len(cases))
	for i, c := range cases {
		if begins[i], list[i], err = p.loaded(ctx, c, seed); err != nil {
			return nil, 0, err
		}
	}
	divided := make([]division, len(cases)) // computed now, because p.paces must not change while trials run
	if p.Slice >= 0 {
		for i, c := range cases {
			divided[i] = p.divide(c)
		}
	}
	if len(cases) == 1 {
		divided[0].slices = nil // a trial that runs alone does not take turns, so it needs no slices
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.met++
	all := newTurns(len(cases), seed+p.met)
	ended := make([]ending, len(cases))
	var trials sync.WaitGroup
	for i, c := range cases {
		t := &turn{all, i}
		if list[i] != nil { // loading the database failed
			t.leave()
			continue
		}
		trials.Go(func() {
			defer t.leave()
			err := t.wait(ctx)
			if why.profiles != nil || len(cases) == 1 && len(divided[i].repeats) == 0 {
				t = nil
			}
			if err == nil {
				ended[i], err = p.once(ctx, c, begins[i], seed, why, t, divided[i])
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	trials.Wait()
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	p.account(ended)
	if len(cases) == 1 || slices.ContainsFunc(ended, func(e ending) bool { return e.trial == nil || !e.trial.Alternated }) {
		for _, e := range ended {
			if e.trial != nil {
				e.trial.Alternated = false
			}
		}
	}
	for i, c := range cases {
		if ended[i].trial != nil {
			list[i], stopped = ended[i].trial, max(stopped, ended[i].stopped)
		}
		if list[i].Status != result.OK {
			p.forget(c) // the case gets no further trials
			continue
		}
		if !why.pilot {
			p.good[c]++
		}
		p.learn(c, list[i])
	}
	return list, stopped, nil
}

// ending is a trial that has ended, with CPU times that were read before and after it.
type ending struct {
	trial    *result.Trial
	stopped  time.Duration // how long this process was stopped during the trial
	from, to reading       // from: before the worker started; to: after it had exited
}

// The method "once" runs one trial that begins with the database in the parameter "from". The parameter
// "turn" is nil if the trial does not pause.
func (p *Processes) once(ctx context.Context, c *Case, from *loaded, seed uint64, why purpose, turn *turn, as division) (e ending, _ error) {
	dir, err := p.directory("trial-")
	if err != nil {
		return e, err
	}
	defer os.RemoveAll(dir)
	asked, err := why.profiles.request(dir)
	if err != nil {
		return e, fmt.Errorf("making a directory for the profiles: %w", err)
	}
	t := &result.Trial{Case: c.ID, Started: time.Now().UTC(), Status: result.OK, Loaded: from.sum}
	e.trial = t
	begin := time.Now()
	earlier := p.good[c]
	s := &session{limit: p.Limit, hint: p.Hint, trial: t, want: c.planned(), seed: seed, ceilings: p.ceilings, hashed: earlier == 0, brief: brief(c.Workload, c.Plan, seed, earlier), profiling: why.profiles,
		next: from.phases, untold: from.phases > 0, tables: slices.Clone(from.tables), turn: turn}
	path := filepath.Join(dir, "test.db")
	if from.user != nil {
		s.begins = from.user.Version
	}
	if err := from.copy(ctx, path); err != nil {
		s.fail(result.Failed, protocol.CodeDatabase, "copying the loaded database: %v", err)
		return e, nil
	}
	if p.Hooks != nil {
		if err := p.Hooks.run(ctx, p.Hooks.Prepare, c, path, p.Limit); err != nil {
			s.fail(result.Failed, protocol.CodePrepare, "the prepare command failed: %v", err)
			return e, ctx.Err()
		}
	}
	e.from = p.read()
	s.run(ctx, dir, protocol.Request{
		Type: requestType(c.Plan), Protocol: protocol.Version, Seed: seed, Path: path, Settings: c.asked(), Plan: asking(c.Plan, c.Expect, s.hashed),
		Loaded: from.phases, TypesKnown: earlier > 0, Brief: s.brief, Alternate: turn != nil, Slices: as.slices, Repeats: as.repeats, Environment: c.Ref.Variables(), Profile: asked,
	})
	e.to = p.read()
	if s.worker != nil && s.worker.ProcessState != nil {
		t.CPU = used(s.worker.ProcessState, s.waited)
		for _, other := range s.spent {
			addCPU(t.CPU, other)
		}
	}
	s.header(path)
	c.hideValues(t)
	nameColumn(t.Reason, c)
	p.makeRoom(t.Reason)
	if why.profiles != nil && t.Status == result.OK && ctx.Err() == nil {
		if err := why.profiles.keep(ctx, dir, t); err != nil {
			return e, err
		}
	}
	if c.bench != nil && !why.pilot && t.Status == result.OK && ctx.Err() == nil {
		s.bench(ctx, c, path)
	}
	if p.Hooks != nil {
		if err := p.Hooks.run(ctx, p.Hooks.Cleanup, c, path, p.Limit); err != nil {
			s.phase = ""
			s.fail(result.Failed, protocol.CodeCleanup, "the cleanup command failed: %v", err)
		}
	}
	t.TookNS, e.stopped = int64(time.Since(begin)-s.idle), s.stopped
	return e, ctx.Err()
}

// directory creates a directory in which a worker is started.
func (p *Processes) directory(prefix string) (string, error) {
	dir, err := filepath.Abs(p.Dir)
	if err == nil {
		dir, err = os.MkdirTemp(dir, prefix)
	}
	if err != nil {
		return "", fmt.Errorf("making a directory for the database: %w", err)
	}
	return dir, nil
}

// makeRoom adds advice to a reason that says that the disk is full.
func (p *Processes) makeRoom(r *protocol.Reason) {
	// SQLite reports SQLITE_IOERR_SHMSIZE if there is no room for the index of a write-ahead
	// log.
	if r == nil || r.Code != protocol.CodeDiskFull && !strings.Contains(r.Message, "SQLITE_IOERR_SHMSIZE") {
		return
	}
	r.Message += ": make room in " + filepath.Dir(p.Dir)
	if p.Elsewhere != "" {
		r.Message += ", " + p.Elsewhere
	}
}
