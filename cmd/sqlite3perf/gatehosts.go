package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/host"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// checkGateHosts checks that a gate can be judged on the hosts that are asked for.
func (o *gateOptions) checkGateHosts() error {
	if !o.hosts.asked() {
		return nil
	}
	if isStored(o.baseline) {
		return usagef("--baseline %s is stored, and other machines are measured only beside a baseline there: name a driver such as mattn@v1.14.22, or leave out --hosts", o.baseline)
	}
	var err error
	if o.hosts.names, err = host.Parse(o.hosts.names); err != nil {
		return usagef("--hosts: %w", err)
	}
	if len(o.hosts.names) == 1 {
		return nil
	}
	if len(o.also) > 0 {
		return usagef("--also %s is the result of one machine, and several hosts have several: judge one host at a time", o.also[0])
	}
	if err := o.output.checkFormat(); err != nil {
		return err
	}
	if err := machines.Formats.Check(o.output.format); err != nil {
		return usagef("--format %s is the result of one machine, and several hosts have several: want %s, or one host at a time", o.output.format, strings.Join(machines.Formats.Names(), ", "))
	}
	return nil
}

// gateOnHosts judges the candidate on several hosts side by side.
func gateOnHosts(ctx context.Context, env *environment, o *gateOptions) error {
	list := make([]machines.GatedOn, len(o.hosts.names))
	failures := make([]error, len(list))
	same, err := seed(o.seed)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	answers := &answers{left: len(list), all: make(chan struct{})}
	for i, own := range env.forHosts(o.hosts.names) {
		name := o.hosts.names[i]
		options := *o // which judging changes
		options.drivers = slices.Clone(o.drivers)
		options.hosts.names, options.hosts.other, options.seed = []string{name}, &answering{answers: answers}, fmt.Sprint(same)
		out := gate.Gated{Gate: stats.NewGate(0), Where: "go.mod"}
		out.Baseline, out.Candidate = o.baseline, strings.Join(o.drivers, ", ")
		all.Go(func() {
			failures[i] = options.judge(ctx, own, &out)
			options.hosts.other.answered(nil) // if it has not come that far
			blame(&out, failures[i])
			list[i] = machines.GatedOn{Name: name, Gated: out, Options: document.Options{Hints: document.Hints{Scale: scaleHint, More: options.more(out), Pass: passHint}}}
		})
	}
	all.Wait()
	statuses := make([]error, len(list))
	for i := range list {
		if usage, ok := errors.AsType[usageError](failures[i]); ok { // the same for all
			return usage
		}
		statuses[i] = gateStatus(&list[i].Gated, failures[i])
	}
	unreached := errors.Join(answers.failures...)
	if unreached != nil && o.output.file == "" {
		return incompleteError{unreached}
	}
	err = o.output.print(env, func(w io.Writer, format string, opts document.Options) error {
		return machines.GateFormats.Write(w, format, list, opts)
	}, "sqlite3perf gate")
	switch {
	case err != nil && unreached != nil:
		return fmt.Errorf("%w; and %w", unreached, err)
	case err != nil:
		return err
	case unreached != nil:
		return incompleteError{unreached}
	}
	return worstStatus(statuses)
}

// answers are those of several hosts. Nothing is measured before all are there.
type answers struct {
	mu       sync.Mutex
	left     int           // how many are not there yet
	all      chan struct{} // closed when all are there
	failures []error
}

// answering is the answer of one of several hosts. Its methods may be called of nil, and more
// than once.
type answering struct {
	*answers
	once sync.Once
}

// answered notes the answer, or why there is none.
func (a *answering) answered(failure error) {
	if a == nil {
		return
	}
	a.once.Do(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if failure != nil {
			a.failures = append(a.failures, failure)
		}
		if a.left--; a.left == 0 {
			close(a.all)
		}
	})
}

// wait notes the answer and waits for the others. It returns the failure of this host or, if
// another one has failed, an error that says so.
func (a *answering) wait(ctx context.Context, failure error) error {
	if a == nil {
		return failure
	}
	if ctx.Err() != nil {
		a.answered(nil) // the user does not want it any longer
		return ctx.Err()
	}
	a.answered(failure)
	select {
	case <-a.all:
	case <-ctx.Done():
		return ctx.Err()
	}
	if failure == nil && len(a.failures) > 0 {
		return incompleteError{errors.New("nothing was measured, because another machine did not answer")}
	}
	return failure
}
