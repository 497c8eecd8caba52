package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/host"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// site is where the trials of a run take place.
type site struct {
	machine  result.Machine
	executor lab.Executor
	noise    lab.Noise

	// prepare finds or builds the workers of cases; needs asks them for what the workloads
	// need.
	prepare func(ctx context.Context, cases []*lab.Case, progress lab.Building) error
	needs   func(ctx context.Context, cases []*lab.Case) error

	boot      string         // of another machine: what [host.Machine.Boot] says
	processes *lab.Processes // nil on another machine
	remove    func()         // removes what was made for the run
}

// featuresHint says what to do if a driver lacks a feature.
const featuresHint = "sqlite3perf drivers --features shows which driver has what"

// elsewhereHint says what to do if there is no room for databases.
const elsewhereHint = "or name another directory with --dir"

// site makes a site for what is requested: on this machine, unless it is for a host.
func (env *environment) site(ctx context.Context, o *runOptions, r *request, show *progress) (*site, error) {
	if r.host != nil {
		return env.remoteSite(ctx, o, r, show)
	}
	scratch, err := process.NewScratch(r.dir, runDirectory)
	if err != nil {
		return nil, fmt.Errorf("directory for databases: %w: name another with --dir", err)
	}
	observer, err := machine.Observe(scratch.Dir)
	if err != nil {
		scratch.Remove()
		return nil, fmt.Errorf("%w: name another directory with --dir", err)
	}
	processes := &lab.Processes{Dir: scratch.Dir, Limit: o.trialLimit, Hint: featuresHint, Elsewhere: elsewhereHint, CPUTime: env.cpuTime}
	return &site{
		machine: machineIn(observer.Machine, r.dir), executor: processes, noise: observer, processes: processes, remove: scratch.Remove,
		prepare: func(ctx context.Context, cases []*lab.Case, progress lab.Building) error {
			return lab.Prepare(ctx, cases, r.builder, progress)
		},
		needs: processes.CheckNeeds,
	}, nil
}

// machineIn describes a machine on which databases are made in a directory. The run's own
// directory in it no longer exists when this is read.
func machineIn(m result.Machine, dir string) result.Machine {
	m.Directory = dir
	return m
}

// remoteSite connects to the host of a request.
func (env *environment) remoteSite(ctx context.Context, o *runOptions, r *request, show *progress) (*site, error) {
	options, err := o.hosts.options(r)
	if err != nil {
		return nil, err
	}
	if !o.quiet {
		options.Say = show.say
	}
	m, err := host.Connect(ctx, r.host.Name, options)
	if err != nil {
		return nil, o.hosts.other.wait(ctx, incompleteError{err})
	}
	var about result.Machine
	if r.resumed != nil {
		err = notInUse(ctx, m, r.resumed, o.dir)
	}
	if err == nil {
		if about, err = m.Open(ctx, host.Place{Dir: o.dir, Limit: o.trialLimit, Hint: featuresHint, Elsewhere: elsewhereHint}); err != nil {
			err = incompleteError{err}
		}
	}
	if err := o.hosts.other.wait(ctx, err); err != nil {
		m.Close()
		return nil, err
	}
	return &site{
		machine: about, executor: m, noise: m, remove: m.Close, boot: m.Boot(),
		prepare: func(ctx context.Context, cases []*lab.Case, progress lab.Building) error {
			return ofHost(m.Prepare(ctx, cases, r.builder, progress))
		},
		needs: func(ctx context.Context, cases []*lab.Case) error { return ofHost(m.CheckNeeds(ctx, cases)) },
	}, nil
}

// ofHost gives an error of another machine the exit status that it has before and after:
// nothing could be measured.
func ofHost(err error) error {
	if _, ok := errors.AsType[*host.Error](err); ok {
		return incompleteError{err}
	}
	return err
}

// notInUse returns an error if a run is still being measured on its machine, or another one in
// the same directory.
func notInUse(ctx context.Context, m *host.Machine, run *result.Run, dir string) error {
	used, err := m.InUse(ctx, dir)
	switch {
	case err != nil:
		return incompleteError{err}
	case used:
		return usagef("run %d: something is being measured in %s on %s: wait until that has ended (if its connection was lost, that takes up to %v)",
			run.ID, document.Line(run.Machine.Directory), document.Line(run.Host.Name), host.Silence)
	}
	return nil
}

// hostOptions are the flags that say on which machines is measured.
type hostOptions struct {
	names []string
	ssh   string
	other *answering // hosts that have to answer before anything is measured; nil: none
}

// options returns how the hosts are reached.
func (o *hostOptions) options(r *request) (*host.Options, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &host.Options{SSH: strings.Fields(o.ssh), Version: version(), Executable: executable,
		Build: func(ctx context.Context, goos, goarch string) (string, func(), error) {
			return buildFor(ctx, r.builder.Source, goos, goarch)
		}}, nil
}

// buildFor builds this command for another platform, if its sources are in a clone.
func buildFor(ctx context.Context, source build.Source, goos, goarch string) (path string, remove func(), err error) {
	if fi, err := os.Stat(filepath.Join(source.Root, "cmd", "sqlite3perf")); err != nil || !fi.IsDir() {
		return "", nil, nil
	}
	scratch, err := process.NewTemporary()
	if err != nil {
		return "", nil, err
	}
	b := &build.Builder{Source: source, Target: goos + "/" + goarch}
	if path, err = b.Command(ctx, scratch.Dir); err != nil {
		scratch.Remove()
		return "", nil, err
	}
	return path, scratch.Remove, nil
}
