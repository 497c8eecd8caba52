// Package conformance checks a worker, in any language, against the worker protocol. It sends requests to the
// executable as package lab does in a run. For each promise in docs/worker-protocol.md it reports whether the
// worker keeps the promise. It relies on the checks that package lab makes in every trial: if package lab
// refuses a trial, the conformance check fails with the message of package lab.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Subject is the worker being checked.
type Subject struct {
	Ref    build.Ref
	Worker string      // path of the executable
	Info   driver.Info // includes the limits that the driver declares
	Dir    string      // directory in which each check creates, and then removes, a directory for its databases
}

// Check tests one promise of the protocol.
type Check struct {
	Name string

	// Key is the limit that a driver must declare if its worker does not keep the promise. "" means that
	// every worker must keep the promise.
	Key string

	// Needs is a limit such as "transactions=reads". The check is left out for drivers that declare this
	// limit. "" means that the check is always made.
	Needs string

	test func(ctx context.Context, s *Subject) error
}

// limit is the time limit of one check. trialLimit is the time limit of each trial of a check.
const (
	limit      = 3 * time.Minute
	trialLimit = time.Minute
)

// Seed is the seed of the generated values in every check.
const Seed = 42

// Checks returns all checks.
func Checks() []Check {
	return slices.Concat(messageChecks(), generatorChecks(), settingChecks(), trialChecks(), failureChecks(), jobChecks())
}

// ErrUnusable says that the worker cannot run even the simplest trial, so nothing else can
// be checked.
var ErrUnusable = errors.New("no other check can be made")

// Run runs the checks for whose names the function "chosen" returns true, in order. It calls the function
// "report" with the name and the outcome of each check: nil, or an error that says what is wrong and what to do
// about it. It leaves out a check if the driver declares the limit in [Check.Needs]. If all checks were chosen,
// Run reports one more outcome at the end, with the name "limits": an error if the driver declares limits that
// no check confirmed.
//
// Run returns an error only if ctx ended, if a directory could not be created, or if the worker cannot run any
// trial. In the last case, the error wraps [ErrUnusable].
func Run(ctx context.Context, s *Subject, chosen func(name string) bool, report func(name string, err error)) error {
	info := s.Info
	info.Limits = maps.Clone(info.Limits)
	maps.DeleteFunc(info.Limits, func(key, _ string) bool { return !shows(key) })
	l := driver.NewLimits(info)
	all := true
	if err := s.inDirectory(ctx, smoke); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	for _, c := range Checks() {
		if !chosen(c.Name) {
			all = false
			continue
		}
		if _, limited := s.Info.Limits[c.Needs]; limited {
			continue
		}
		err := s.inDirectory(ctx, c.test)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		report(c.Name, l.Judge(c.Key, err))
	}
	if all {
		report("limits", l.Unproven())
	}
	return nil
}

// shows reports whether some check can confirm the declared limit. The Key of such a check is the limit itself,
// or the limit followed by an equals sign and a value.
func shows(limit string) bool {
	return slices.ContainsFunc(Checks(), func(c Check) bool { return c.Key == limit || strings.HasPrefix(c.Key, limit+"=") })
}

// NotShown returns the declared limits that the protocol cannot confirm, such as limits on
// canceling a context.
func NotShown(i driver.Info) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(i.Limits)), shows)
}

// inDirectory runs one check in a new directory, with the time limit of a check.
func (s *Subject) inDirectory(ctx context.Context, test func(context.Context, *Subject) error) error {
	dir, err := os.MkdirTemp(s.Dir, "check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end within %v", limit))
	defer cancel()
	own := *s
	own.Dir = dir
	return test(ctx, &own)
}
