package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// onHosts calls the function "do" for every host at the same time. Each call gets its own
// environment and the options of its host. If a host cannot be reached, nothing is measured on any
// host, and onHosts returns the reason.
func (o *hostOptions) onHosts(env *cli.Environment, do func(i int, own *cli.Environment, hosts hostOptions)) error {
	m := machines.Meet(o.names)
	var each sync.WaitGroup
	for i, own := range env.ForHosts(o.names) {
		each.Go(func() {
			here := m.Host(i)
			do(i, own, hostOptions{names: o.names[i : i+1], ssh: o.ssh, other: here})
			here.Note(nil, "") // if the host failed before it connected, the other hosts stop waiting for it
		})
	}
	each.Wait()
	return m.Unreached()
}

// The method "on" returns a copy of the request for the host with this name. Hosts run at the same
// time, so the copy shares nothing that a run changes.
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

// measureOnHosts measures the cases of a request on several hosts at the same time, stores a run for
// each host, and prints the results.
func measureOnHosts(ctx context.Context, env *cli.Environment, o *runOptions, r *request) error {
	list, failures := make([]machines.OnMachine, len(o.hosts.names)), make([]error, len(o.hosts.names))
	unreached := o.hosts.onHosts(env, func(i int, own *cli.Environment, hosts hostOptions) {
		options := *o
		options.hosts = hosts
		m := machines.OnMachine{Name: hosts.names[0]}
		m.Analysis, failures[i] = take(ctx, own, &options, r.on(m.Name))
		if _, silent := errors.AsType[cli.StatusError](failures[i]); failures[i] != nil && !silent {
			m.Failure = fmt.Sprintf("%v%s", failures[i], hint(failures[i]))
		}
		list[i] = m
	})
	if unreached != nil {
		return cli.Incomplete(unreached)
	}
	for i, m := range list {
		if failures[i] == nil {
			failures[i] = outcome(m.Analysis)
		}
	}
	if slices.ContainsFunc(list, machines.OnMachine.Measured) {
		if err := writeMachines(env, &o.output, list); err != nil {
			return err
		}
		return cli.Worst(failures)
	}
	for _, m := range list {
		if m.Failure != "" {
			env.Say("sqlite3perf: %s: %s", m.Name, m.Failure)
		}
	}
	return cli.Worst(failures)
}

// writeMachines prints the results of runs on several machines. It sets the field Options of each element
// of the parameter "list".
func writeMachines(env *cli.Environment, o *cli.OutputOptions, list []machines.OnMachine) error {
	var runs []string
	for _, m := range list {
		if m.Analysis != nil {
			runs = append(runs, fmt.Sprint(m.Analysis.Run.ID))
		}
	}
	return o.Print(env, func(w io.Writer, format string, opts document.Options) error {
		for i := range list {
			if m := &list[i]; m.Analysis != nil {
				m.Options = ofRun(o, env, m.Analysis, opts)
			}
		}
		opts.Lines = o.Screen(env)
		return machines.Formats.Write(w, format, list, opts)
	}, o.Again("sqlite3perf show "+strings.Join(runs, " ")))
}
