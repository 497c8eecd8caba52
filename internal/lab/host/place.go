package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Check returns an error if a case uses a file of this machine, because other machines do
// not have it.
func Check(cases []*lab.Case) error {
	for _, c := range cases {
		switch {
		case c.Begins():
			return fmt.Errorf("workload %s begins with a database of this machine, which is not sent to hosts: sqlite3perf workload from DATABASE writes one that imitates it", c.Workload)
		case c.Ref.Path != "":
			return fmt.Errorf("driver %s is an executable of this machine, which hosts do not have: leave it out", c.Driver)
		case c.Ref.Dir != "":
			return fmt.Errorf("driver %s is built from a directory of this machine, which hosts do not have: name a version", c.Driver)
		}
	}
	return nil
}

// Place says where on a machine trials run, and with which time limit.
type Place struct {
	Dir   string        `json:"dir,omitempty"`  // existing directory for databases; "": a directory in the user's cache directory
	Limit time.Duration `json:"limit_ns"`       // time limit for one trial
	Hint  string        `json:"hint,omitempty"` // advice if a driver lacks a feature; "": none

	// Elsewhere is additional advice if Dir is missing or full. The usual advice is to create Dir or to make
	// room. "" means that there is no additional advice.
	Elsewhere string `json:"elsewhere,omitempty"`
}

// Open begins a run: the agent creates a directory for the run's databases in p.Dir, and
// describes its machine.
func (m *Machine) Open(ctx context.Context, p Place) (result.Machine, error) {
	var about result.Machine
	err := m.call(ctx, methodOpen, p, &about, nil)
	for _, text := range []*string{&about.Hostname, &about.OS, &about.Arch, &about.Kernel, &about.CPU, &about.Governor, &about.Turbo, &about.SMT, &about.Virtual, &about.Directory, &about.FileSystem, &about.Device} {
		*text = clip(*text)
	}
	about.Cores, about.MemoryBytes = max(about.Cores, 0), max(about.MemoryBytes, 0)
	return about, err
}

// InUse reports whether another process on the machine uses dir for measurements. An example is an agent that
// has not yet noticed that its connection broke.
func (m *Machine) InUse(ctx context.Context, dir string) (bool, error) {
	var used bool
	err := m.call(ctx, methodInUse, dir, &used, nil)
	return used, err
}

// Prepare finds or builds the workers of the cases on the other machine. If Go is missing there, this machine
// builds them with the builder in the parameter "here". It builds only the workers that need no C compiler.
func (m *Machine) Prepare(ctx context.Context, cases []*lab.Case, here *build.Builder, progress lab.Building) error {
	var list []wireCase
	for _, c := range cases {
		w := wireCase{Case: c.Case, Plan: c.Plan, Expect: c.Expect, Given: c.Given}
		if c.Source != nil {
			w.Needs = c.Source.Needs
		}
		list = append(list, w)
	}
	var ready []preparation
	err := m.call(ctx, methodPrepare, list, &ready, func(r reply) {
		var b building
		switch err := json.Unmarshal(r.Result, &b); {
		case err != nil:
		case b.I < 1 || b.I > b.N || b.N > len(cases):
			m.refuse("it tells of a build that was not asked for")
		case !b.Done:
			progress.Building(b.I, b.N, b.Driver)
		case b.Reason != nil && b.Reason.Code == protocol.CodeNoGo: // Go is missing there, so this machine may build the worker
		case b.Reason != nil:
			progress.Built(b.I, b.N, b.Driver, &build.BuildError{Reason: *b.Reason})
		default:
			progress.Built(b.I, b.N, b.Driver, nil)
		}
	})
	if err == nil {
		err = m.apply(ready, cases)
	}
	if err != nil {
		return err
	}
	return m.supply(ctx, cases, here, progress)
}

// CheckNeeds asks the workers for the features that their workloads need, as
// [lab.Processes.CheckNeeds] does.
func (m *Machine) CheckNeeds(ctx context.Context, cases []*lab.Case) error {
	var ready []preparation
	if err := m.call(ctx, methodNeeds, prepared(cases), &ready, nil); err != nil {
		return err
	}
	return m.apply(ready, cases)
}

// apply copies the agent's preparations into the cases.
func (m *Machine) apply(list []preparation, to []*lab.Case) error {
	if len(list) != len(to) {
		return &Error{m.name, fmt.Sprintf("of %d cases %d were answered", len(to), len(list))}
	}
	missing := map[int]*lab.Case{} // cases that have not been found in the list yet, by ID
	for _, c := range to {
		missing[c.ID] = c
	}
	for _, p := range list {
		c := missing[p.ID]
		if c == nil {
			return &Error{m.name, fmt.Sprintf("case %d was not asked for, or is answered twice", p.ID)}
		}
		delete(missing, p.ID)
		if r := p.Unavailable; r != nil {
			r.Message, r.Detail = clip(r.Message), r.Detail[:min(len(r.Detail), maxBanner)]
		}
		p.applyTo(c)
	}
	return nil
}

// supply handles the cases whose workers could not be built on the other machine because Go is missing there.
// It builds these workers on this machine and sends them to the other machine.
func (m *Machine) supply(ctx context.Context, cases []*lab.Case, here *build.Builder, progress lab.Building) error {
	var list []*lab.Case
	for _, c := range cases {
		if c.Unavailable != nil && c.Unavailable.Code == protocol.CodeNoGo {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	for _, c := range list {
		c.Unavailable = nil
	}
	builder := &build.Builder{Source: here.Source, Cache: here.Cache, Target: m.hello.Platform}
	if err := lab.Prepare(ctx, list, builder, progress); err != nil {
		return err
	}
	paths := map[string]string{}
	for _, c := range list {
		if c.Unavailable != nil {
			continue
		}
		if paths[c.Worker] == "" {
			m.options.say("sending the worker for %s to %s", c.Driver, m.name)
			path, err := m.sendWorker(ctx, c.Worker)
			if err != nil {
				return err
			}
			paths[c.Worker] = path
		}
		c.Worker = paths[c.Worker]
	}
	return nil
}

// sendWorker sends a worker to the machine, unless the machine already has it. It returns the worker's path
// there.
func (m *Machine) sendWorker(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash, err := build.SHA256Of(path)
	if err != nil {
		return "", err
	}
	var there sent
	part := make([]byte, 1<<20)
	if err := m.call(ctx, methodSend, sending{SHA256: hash}, &there, nil); err != nil || there.Path != "" {
		return there.Path, err
	}
	for last := false; !last; {
		n, err := io.ReadFull(f, part)
		last = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return "", err
		}
		if err := m.call(ctx, methodSend, sending{hash, part[:n], last}, &there, nil); err != nil {
			return "", err
		}
	}
	return there.Path, nil
}

// Trials runs one trial of each case on the machine. If the connection is lost, this call and
// all later calls return failed trials.
func (m *Machine) Trials(ctx context.Context, cases []*lab.Case, seed uint64) ([]*result.Trial, error) {
	var list []*result.Trial
	if m.lost == nil {
		ids := make([]int, len(cases))
		for i, c := range cases {
			ids[i] = c.ID
		}
		began := time.Now()
		err := m.call(ctx, methodTrials, trials{ids, seed}, &list, nil)
		if err == nil && !slices.EqualFunc(list, ids, func(t *result.Trial, id int) bool { return t != nil && t.Case == id }) {
			err = &Error{m.name, "it answered with other trials than were asked for"}
		}
		if err == nil {
			for i, t := range list {
				lab.CheckTrial(cases[i], t, time.Since(began), m.good[t.Case])
				m.good[t.Case] = m.good[t.Case] || t.Status == result.OK
			}
			return list, nil
		}
		if m.lost = err; ctx.Err() != nil { // the agent still runs the trials, and cannot answer other requests
			return nil, ctx.Err()
		}
	}
	list = nil
	for _, c := range cases {
		list = append(list, &result.Trial{Case: c.ID, Started: time.Now().UTC(), Status: result.Failed,
			Reason: &protocol.Reason{Code: result.CodeHost, Message: m.lost.Error()}})
	}
	return list, nil
}

// Boot returns an identifier of the machine that changes when the machine is restarted. Two host
// names with the same identifier belong to one machine.
func (m *Machine) Boot() string { return m.hello.Boot }

// Lost returns the error with which the connection to the machine was lost, or nil. After such an
// error, all trials on the machine fail.
func (m *Machine) Lost() error { return m.lost }

// observed asks the agent for its warnings. The parameter "moment" says when: before the run, before a round or
// after the run. If the connection is lost, observed returns nil.
func (m *Machine) observed(moment string) (list []result.Warning) {
	if m.lost == nil {
		m.lost = m.call(context.Background(), methodNoise, moment, &list, nil)
	}
	return lab.CheckWarnings(list, 0)
}

// BeforeRun returns warnings about the machine, as [lab.Noise] describes.
func (m *Machine) BeforeRun() []result.Warning { return m.observed(beforeRun) }

// BeforeRound makes the agent measure the speed of its machine.
func (m *Machine) BeforeRound(int) { m.observed(beforeRound) }

// AfterRun returns warnings about what changed on the machine during the run.
func (m *Machine) AfterRun() []result.Warning { return m.observed(afterRun) }

// Steal returns the fraction of CPU time that the hypervisor gave to other virtual machines during the run, or
// nil if that is not known.
func (m *Machine) Steal() (share *float64) {
	if m.lost == nil {
		m.lost = m.call(context.Background(), methodSteal, nil, &share, nil)
	}
	if share != nil && (*share < 0 || *share > 1) {
		return nil
	}
	return share
}
