// Package drivertest is the conformance suite of the driver contract. The package
// worker/suite runs it together with two other suites: one tests jobs, and one measures the cost that
// the driver's adapter adds to its library. A driver outside this repository may run
// it alone:
//
//	func TestConformance(t *testing.T) { drivertest.Run(t, New()) }
//
// The suite is a list of checks. If some libraries cannot fulfill a check, the check has a key,
// and the driver.json of such a library declares the key among its limits. The suite requires
// that such a check fails, so a declaration that is no longer true is an error too. The keys are
// settings ("cache=shared"), types ("blob=empty", "blob=expression"), and: "codes=extended",
// "pool=waits", "columns=count", "columns=any", "any=text", "context=rows", "context=query",
// "context=exec", "context=lock", "context=commit", "script=trailing comment", "last insert ID",
// "transactions=reads", "connection=state", "checkpoint", "files" and "close=failed transaction".
// For the meaning of a key, see the checks with that key.
package drivertest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Check tests whether a driver has one property.
type Check struct {
	Name string

	// Key is the limit that a driver declares if it lacks the property. If Key is "", every
	// driver must have the property. A declared limit "name" also covers every key "name=value".
	Key string

	// Needs is the key of another check. If a driver declares that key as a limit, this check is
	// skipped.
	Needs string

	// Test returns an error if d lacks the property. It creates its databases in dir, which is
	// empty and used by no other check.
	Test func(ctx context.Context, d driver.Driver, dir string) error

	waits bool // the check mostly waits, so other checks can run at the same time
}

func waiting(list []Check) []Check {
	for i := range list {
		list[i].waits = true
	}
	return list
}

// judge runs the check with driver d. It returns an error if the result contradicts the limits
// that d declares. If d declares the limit c.Needs, judge skips the check and returns nil.
func (c Check) judge(ctx context.Context, d driver.Driver, dir string, l *driver.Limits) error {
	if _, limited := d.Info().Limits[c.Needs]; limited {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute) // without a time limit, a check could wait forever
	defer cancel()
	return l.Judge(c.Key, c.Test(ctx, d, dir))
}

// declared returns d.Info() without the limits that concern only the worker. The checks of this
// package do not test these limits. The checks of package internal/lab/conformance test them.
func declared(d driver.Driver) driver.Info {
	i := d.Info()
	i.Limits = maps.Clone(i.Limits)
	for _, limit := range []string{"job", "count_syncs", "cold_caches"} {
		delete(i.Limits, limit)
	}
	return i
}

// Checks lists all checks.
func Checks() []Check {
	return slices.Concat(infoChecks(), valueChecks(), statementChecks(), settingChecks(), openChecks(),
		poolChecks(), transactionChecks(), waiting(lockChecks()), errorChecks(), waiting(cancelChecks()), waiting(waitingChecks()), featureChecks(), fileChecks())
}

// Run runs all checks of d in subtests. If d cannot open and use a database, Run reports only
// that failure.
func Run(t *testing.T, d driver.Driver) {
	t.Helper()
	if err := opens(t.Context(), d, t.TempDir()); err != nil {
		t.Fatalf("the driver cannot open and use a database, so nothing else is checked: %v", err)
	}
	l := driver.NewLimits(declared(d))
	checks := Checks()
	var ran atomic.Int64
	t.Cleanup(func() { // this function runs after all checks, including those that run in parallel
		if ran.Load() < int64(len(checks)) {
			return // the flag -run of go test has selected only some of the checks
		}
		if err := l.Unproven(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			if c.waits {
				t.Parallel()
			}
			ran.Add(1)
			if err := c.judge(t.Context(), d, t.TempDir(), l); err != nil {
				t.Error(err)
			}
		})
	}
}

// Failures runs all checks, each in a directory that newDir returns. It returns a map from the name
// of a check to its error. Declared limits that no check tests are reported under the name
// "limits". If no database can be opened and used, the map has only the name "open".
func Failures(ctx context.Context, d driver.Driver, newDir func() string) map[string]error {
	if err := opens(ctx, d, newDir()); err != nil {
		return map[string]error{"open": err}
	}
	l := driver.NewLimits(declared(d))
	failures := map[string]error{}
	for _, c := range Checks() {
		if err := c.judge(ctx, d, newDir(), l); err != nil {
			failures[c.Name] = err
		}
	}
	if err := l.Unproven(); err != nil {
		failures["limits"] = err
	}
	return failures
}

var opens = on(nil, intTable, isEmpty)

func infoChecks() []Check {
	return []Check{{Name: "info", Test: alone(func(t test) {
		i := t.driver.Info()
		if i.Name == "" || i.Module == "" || i.Kind == "" || i.Interface == "" {
			fatalf("name, module, kind and interface must be given: %+v", i)
		}
		if !strings.HasSuffix(i.About, ".") {
			fatalf("about must be a sentence: %q", i.About)
		}
	})}}
}
