package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/lab/host"
	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/store"
)

// addFlags adds the flags for measuring on other machines.
func (o *hostOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.names, "hosts", nil, "other machines to measure on, named as for ssh: pi,user@nvme; the same plan and seed on each, side by side (--dir is then a directory there)")
	f.StringVar(&o.ssh, "ssh", "ssh", "the SSH `client` that reaches hosts, with its options, such as 'ssh -F file'")
}

// asked reports whether trials run on other machines.
func (o *hostOptions) asked() bool { return len(o.names) > 0 }

// checkHosts checks the hosts, and that they can do what is requested.
func (o *runOptions) checkHosts(r *request) error {
	if f := o.flags.Lookup("hosts"); f == nil || !o.hosts.asked() {
		if f != nil && f.Changed {
			return usagef("--hosts names none: want names as for ssh, such as pi,user@nvme, or leave it out")
		}
		return nil
	}
	var err error
	if o.hosts.names, err = host.Parse(o.hosts.names); err != nil {
		return usagef("--hosts: %w", err)
	}
	client := strings.Fields(o.hosts.ssh)
	if len(client) == 0 {
		return usagef("--ssh names no client: want such as ssh, or leave it out")
	}
	if _, err := exec.LookPath(client[0]); err != nil {
		return usagef("--hosts: there is no %s here: install the OpenSSH client (Debian: apt-get install openssh-client), or name yours with --ssh", client[0])
	}
	if err := host.Check(r.cases); err != nil {
		return usagef("--hosts: %w", err)
	}
	if len(o.hosts.names) == 1 {
		r.host = &result.Host{Name: o.hosts.names[0]}
		return nil
	}
	if err := report.CheckMachines(o.output.format); err != nil {
		return usagef("--format %s has one run, and several hosts have several: want %s here, or show RUN --format %[1]s", o.output.format, strings.Join(report.MachinesFormats(), ", "))
	}
	if o.page.file != "" {
		return usagef("%s is the page of one run, and several hosts have several: report RUN writes that of each", o.page.flag)
	}
	return nil
}

// hosted is what became of a host.
type hosted struct {
	name     string
	analysis *stats.Analysis // nil if nothing was begun
	failure  error
}

// takeOnHosts measures what is requested on several hosts side by side, and stores it as one
// run for each. If one of them cannot be reached, it measures on none.
func takeOnHosts(ctx context.Context, env *environment, o *runOptions, r *request) ([]*hosted, error) {
	show := newProgress(env, o.quiet)
	show.finish() // several runs have no common bar
	outliveReaders()
	var measuring atomic.Bool
	ctx, stop, release := env.interruptible(ctx, show.say, stoppingTrials(measuring.Load))
	defer release()
	st, err := store.Open(until(ctx, stop), r.storePath)
	if err == nil {
		defer st.Close()
	}
	if err := unlessInterrupted(stop, err); err != nil {
		return nil, err
	}
	list := make([]*hosted, len(o.hosts.names))
	requests := make([]*request, len(list))
	shows := make([]*progress, len(list))
	sites := make([]*site, len(list))
	each := func(do func(i int)) {
		var all sync.WaitGroup
		for i := range list {
			all.Go(func() { do(i) })
		}
		all.Wait()
	}
	for i, name := range o.hosts.names {
		list[i] = &hosted{name: name}
		requests[i] = r.on(name)
		shows[i] = &progress{display: display{w: show.w, quiet: o.quiet, prefix: name + ": ", shared: &show.mu}, now: env.now, least: r.least}
	}
	each(func(i int) {
		if sites[i], list[i].failure = env.site(until(ctx, stop), o, requests[i], shows[i]); list[i].failure != nil {
			sites[i] = nil
		}
	})
	defer each(func(i int) {
		if sites[i] != nil {
			sites[i].remove()
		}
	})
	var failures []error
	for _, h := range list {
		failures = append(failures, h.failure)
	}
	if err := errors.Join(failures...); err != nil {
		return nil, unlessInterrupted(stop, incompleteError{err})
	}
	each(func(i int) {
		list[i].analysis, list[i].failure = takeAt(ctx, stop, env, o, requests[i], taking{sites[i], st, shows[i], func() { measuring.Store(true) }})
	})
	return list, nil
}

// on returns the request for a host. It shares nothing with those for others that a run
// changes.
func (r *request) on(name string) *request {
	own := *r
	own.host = &result.Host{Name: name}
	own.cases = nil
	for _, c := range r.cases {
		copied := *c
		own.cases = append(own.cases, &copied)
	}
	return &own
}

// measureOnHosts measures what is requested on several hosts, and prints the results.
func measureOnHosts(ctx context.Context, env *environment, o *runOptions, r *request) error {
	list, err := takeOnHosts(ctx, env, o, r)
	if err != nil {
		return err
	}
	failure := worstOf(list)
	if err := writeMachines(env, &o.output, list); err != nil {
		return err
	}
	return failure
}

// writeMachines prints what runs on several machines say.
func writeMachines(env *environment, o *outputOptions, list []*hosted) error {
	var runs []string
	for _, h := range list {
		if h.analysis != nil {
			runs = append(runs, fmt.Sprint(h.analysis.Run.ID))
		}
	}
	return o.print(env, func(w io.Writer, format string, opts report.Options) error {
		var machines []report.OnMachine
		for _, h := range list {
			m := report.OnMachine{Name: h.name, Analysis: h.analysis}
			if _, silent := errors.AsType[statusError](h.failure); h.failure != nil && !silent {
				m.Failure = fmt.Sprintf("%v%s", h.failure, hint(h.failure))
			}
			if h.analysis != nil {
				m.Options = o.ofRun(env, h.analysis, opts)
			}
			machines = append(machines, m)
		}
		opts.Lines = o.screen(env)
		return report.WriteMachines(w, format, machines, opts)
	}, o.again("sqlite3perf show "+strings.Join(runs, " ")))
}

// worstOf returns the exit status of what became of hosts.
func worstOf(list []*hosted) error {
	worst := exitOK
	for _, h := range list {
		status := exitFailed
		if h.failure == nil {
			h.failure = outcome(h.analysis)
		}
		if s, ok := errors.AsType[statusError](h.failure); ok {
			status = int(s)
		} else if _, ok := errors.AsType[incompleteError](h.failure); ok {
			status = exitIncomplete
		} else if h.failure == nil {
			status = exitOK
		}
		for _, s := range []int{exitInterrupted, exitFailed, exitIncomplete} { // the worst first
			if worst == s || status == s {
				worst = s
				break
			}
		}
	}
	if worst == exitOK {
		return nil
	}
	return statusError(worst)
}
