// Package conformance checks a worker, in any language, against the worker protocol.
// It speaks to the executable as the lab does, and reports for each promise in
// docs/worker-protocol.md whether the worker keeps it. It does not repeat what the
// lab checks in every trial: if the lab refuses a trial, the check fails with the
// lab's message.
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

// Subject is the worker that is checked.
type Subject struct {
	Ref    build.Ref
	Worker string      // its executable
	Info   driver.Info // with the limits that it declares
	Dir    string      // where databases are created: in one directory for each check, removed after it
}

// Check is one promise of the protocol.
type Check struct {
	Name string

	// Key is what a worker declares among its limits if it does not keep the
	// promise. If it is "", every worker must keep it.
	Key string

	// Needs is a limit, such as "transactions=reads". Of a worker that declares it the check
	// cannot be made.
	Needs string

	test func(ctx context.Context, s *Subject) error
}

// limit is how long a check may take. A trial within it must be shorter.
const (
	limit      = 3 * time.Minute
	trialLimit = time.Minute
)

// Seed is what the values of every check are made from.
const Seed = 42

// Checks lists all checks.
func Checks() []Check {
	return slices.Concat(messageChecks(), generatorChecks(), settingChecks(), trialChecks(), failureChecks(), jobChecks())
}

// ErrUnusable is the error of a worker that cannot do what every check needs.
var ErrUnusable = errors.New("no other check can be made")

// Run runs the checks whose names chosen accepts, in order, and passes each
// outcome to report: nil, or what is wrong and what to do about it. It leaves out the checks
// that need what the worker declares it lacks. The last
// outcome, named "limits", is about declared limits that no check has shown. It is
// left out if not all checks were run. Run returns an error only if ctx ended, if a
// directory could not be created, or, wrapping [ErrUnusable], if the worker cannot
// run any trial.
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

// shows reports whether any check has the key of a limit, or one below it.
func shows(limit string) bool {
	return slices.ContainsFunc(Checks(), func(c Check) bool { return c.Key == limit || strings.HasPrefix(c.Key, limit+"=") })
}

// NotShown returns the declared limits that the protocol has no way to show, such
// as what happens to a context.
func NotShown(i driver.Info) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(i.Limits)), shows)
}

// inDirectory runs one check in its own directory.
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
