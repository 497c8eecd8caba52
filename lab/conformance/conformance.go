// Package conformance holds a worker, in any language, to the worker protocol:
// it speaks to the executable as the lab does, and says of each promise in
// docs/worker-protocol.md whether the worker keeps it. What the lab checks in
// every trial it does not check again: a trial that the lab refuses is a check
// that fails, with the lab's words.
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

	"github.com/sqlite3perf/sqlite3perf/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Subject is the worker that is checked.
type Subject struct {
	Ref    lab.Ref
	Worker string      // its executable
	Info   driver.Info // with the limits that it declares
	Dir    string      // where databases are made: one directory for each check, removed after it
}

// Check is one promise of the protocol.
type Check struct {
	Name string

	// Key is what a worker declares among its limits if it does not keep the
	// promise; "": every worker must keep it.
	Key string

	test func(ctx context.Context, s *Subject) error
}

// limit is how long a check may take; a trial within it has less.
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

// Run makes the checks whose names chosen accepts, in order, and hands each
// outcome to report: nil, or what is wrong and what to do about it. The last
// outcome, of the name "limits", is that of the declared limits which no check
// has shown; it is left out where not all checks were made. Run returns an
// error only where ctx ended, a directory could not be made, or, wrapping
// [ErrUnusable], where the worker runs no trial at all.
func Run(ctx context.Context, s *Subject, chosen func(name string) bool, report func(name string, err error)) error {
	info := s.Info
	info.Limits = map[string]string{}
	for key, why := range s.Info.Limits {
		if shows(key) {
			info.Limits[key] = why
		}
	}
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

// shows reports whether any check carries the key of a limit, or one below it.
func shows(limit string) bool {
	return slices.ContainsFunc(Checks(), func(c Check) bool { return c.Key == limit || strings.HasPrefix(c.Key, limit+"=") })
}

// NotShown lists the declared limits that the protocol has no way to show, such
// as what becomes of a context.
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
