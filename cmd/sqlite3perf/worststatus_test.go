package main

import (
	"errors"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// TestWorstStatus checks the exit status of a command that ends differently on several machines.
func TestWorstStatus(t *testing.T) {
	usage, incomplete, failed := cli.Usagef("the time is too short"), cli.Incomplete(errors.New("refused")), errors.New("broken")
	for _, c := range []struct {
		failures []error
		want     int
	}{
		{nil, cli.ExitOK},
		{[]error{nil, nil}, cli.ExitOK},
		{[]error{nil, incomplete}, cli.ExitIncomplete},
		{[]error{usage, usage}, cli.ExitUsage},
		{[]error{usage, cli.StatusError(cli.ExitRegression)}, cli.ExitRegression},
		{[]error{failed, cli.StatusError(cli.ExitRegression), usage}, cli.ExitFailed},
		{[]error{failed, cli.StatusError(cli.ExitInterrupted)}, cli.ExitInterrupted},
	} {
		if got := cli.StatusOf(worstStatus(c.failures)); got != c.want {
			t.Errorf("%v: exit status %d, want %d", c.failures, got, c.want)
		}
	}
}
