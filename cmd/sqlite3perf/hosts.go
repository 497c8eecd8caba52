package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/host"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// addFlags adds the flags for measuring on other machines.
func (o *hostOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.names, "hosts", nil, "other machines to measure on, named as for ssh: pi,user@nvme; the same plan and seed on each, side by side (--dir is then a directory there)")
	f.StringVar(&o.ssh, "ssh", "ssh", "the SSH `client` that reaches hosts, with its options, such as 'ssh -F file'")
	reaching(f, executes, "hosts", "ssh")
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
	if err := machines.Formats.Check(o.output.format); err != nil {
		return usagef("--format %s has one run, and several hosts have several: want %s here, or show RUN --format %[1]s", o.output.format, strings.Join(machines.Formats.Names(), ", "))
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
	environments := env.forHosts(o.hosts.names)
	env.outliveReaders()
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
		shows[i] = newProgress(environments[i], o.quiet)
		shows[i].least = r.least
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
	shareMachines(o.hosts.names, sites, show.say)
	each(func(i int) {
		list[i].analysis, list[i].failure = takeAt(ctx, stop, environments[i], o, requests[i], taking{sites[i], st, shows[i], func() { measuring.Store(true) }})
	})
	return list, nil
}

// shareMachines warns of hosts that are one machine, now and in their runs.
func shareMachines(names []string, sites []*site, say func(string, ...any)) {
	same := map[string][]int{}
	for i, s := range sites {
		if s.boot != "" {
			same[s.boot] = append(same[s.boot], i)
		}
	}
	for i, s := range sites {
		on := same[s.boot]
		if len(on) < 2 {
			continue
		}
		var of []string
		for _, k := range on {
			of = append(of, names[k])
		}
		message := document.And(of) + " are one machine: they were measured at the same time and took time from each other"
		s.noise = doubleNoise{s.noise, result.Warning{Code: result.WarningShared, Message: message}}
		if i == on[0] {
			say("warning: %s are one machine: they are measured at the same time and take time from each other; name it once", document.And(of))
		}
	}
}

// doubleNoise is the noise of a machine that is measured under another name at the same time.
type doubleNoise struct {
	lab.Noise
	warning result.Warning
}

func (s doubleNoise) BeforeRun() []result.Warning {
	return append([]result.Warning{s.warning}, s.Noise.BeforeRun()...)
}

// forHosts returns an environment for the work on each host. Its lines begin with the host's
// name, it has no terminal, and it hears of every Ctrl-C.
func (env *environment) forHosts(names []string) []*environment {
	signals := make([]chan os.Signal, len(names))
	for i := range signals {
		signals[i] = make(chan os.Signal, 2)
	}
	hear := sync.OnceFunc(func() {
		interrupts := env.catch()
		go func() {
			for s := range interrupts {
				for _, c := range signals {
					select {
					case c <- s:
					default: // it has heard of two
					}
				}
			}
		}()
	})
	var list []*environment
	var writing sync.Mutex
	for i, name := range names {
		own := *env
		own.stderr = &prefixed{w: env.stderr, writing: &writing, prefix: name + ": "}
		own.stdoutWidth, own.stderrWidth = 0, 0
		own.catch = func() <-chan os.Signal {
			hear()
			return signals[i]
		}
		list = append(list, &own)
	}
	return list
}

// prefixed writes whole lines, each with a prefix.
type prefixed struct {
	w       io.Writer
	writing *sync.Mutex // of all that write to w
	prefix  string
	part    []byte // of a line that has not ended
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.part = append(p.part, b...)
	for {
		line, rest, whole := bytes.Cut(p.part, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		if _, err := fmt.Fprintf(p.w, "%s%s\n", p.prefix, line); err != nil {
			return 0, err
		}
		p.part = rest
	}
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
	if slices.ContainsFunc(list, func(h *hosted) bool { return h.analysis != nil && len(h.analysis.Run.Trials) > 0 }) {
		if err := writeMachines(env, &o.output, list); err != nil {
			return err
		}
		return failure
	}
	for _, h := range list {
		if why := h.why(); why != "" {
			fmt.Fprintf(env.stderr, "sqlite3perf: %s: %s\n", h.name, why)
		}
	}
	return failure
}

// why says why nothing was measured on a host, or not all; "" if there is nothing to say.
func (h *hosted) why() string {
	if _, silent := errors.AsType[statusError](h.failure); h.failure == nil || silent {
		return ""
	}
	return fmt.Sprintf("%v%s", h.failure, hint(h.failure))
}

// writeMachines prints what runs on several machines say.
func writeMachines(env *environment, o *outputOptions, list []*hosted) error {
	var runs []string
	for _, h := range list {
		if h.analysis != nil {
			runs = append(runs, fmt.Sprint(h.analysis.Run.ID))
		}
	}
	return o.print(env, func(w io.Writer, format string, opts document.Options) error {
		var all []machines.OnMachine
		for _, h := range list {
			m := machines.OnMachine{Name: h.name, Analysis: h.analysis, Failure: h.why()}
			if h.analysis != nil {
				m.Options = o.ofRun(env, h.analysis, opts)
			}
			all = append(all, m)
		}
		opts.Lines = o.screen(env)
		return machines.Formats.Write(w, format, all, opts)
	}, o.again("sqlite3perf show "+strings.Join(runs, " ")))
}

// worstOf returns the exit status of what became of hosts.
func worstOf(list []*hosted) error {
	var failures []error
	for _, h := range list {
		if h.failure == nil {
			failures = append(failures, outcome(h.analysis))
		} else {
			failures = append(failures, h.failure)
		}
	}
	return worstStatus(failures)
}

// worstStatus returns the worst exit status of several failures, whose messages have been
// printed, or nil if there is none.
func worstStatus(failures []error) error {
	found := map[int]bool{}
	for _, err := range failures {
		status, ok := errors.AsType[statusError](err)
		_, incomplete := errors.AsType[incompleteError](err)
		switch {
		case err == nil:
		case ok:
			found[int(status)] = true
		case incomplete:
			found[exitIncomplete] = true
		default:
			found[exitFailed] = true
		}
	}
	for _, status := range []int{exitInterrupted, exitFailed, exitRegression, exitIncomplete} {
		if found[status] {
			return statusError(status)
		}
	}
	return nil
}
