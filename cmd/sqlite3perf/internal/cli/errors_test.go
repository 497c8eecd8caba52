package cli

import (
	"errors"
	"testing"
)

// TestWorst checks the exit status of a command that ends with different statuses on several
// machines.
func TestWorst(t *testing.T) {
	usage, incomplete, failed := Usagef("the time is too short"), Incomplete(errors.New("refused")), errors.New("broken")
	for _, c := range []struct {
		failures []error
		want     int
	}{
		{nil, ExitOK},
		{[]error{nil, nil}, ExitOK},
		{[]error{nil, incomplete}, ExitIncomplete},
		{[]error{usage, usage}, ExitUsage},
		{[]error{usage, StatusError(ExitRegression)}, ExitRegression},
		{[]error{failed, StatusError(ExitRegression), usage}, ExitFailed},
		{[]error{failed, StatusError(ExitInterrupted)}, ExitInterrupted},
	} {
		if got := StatusOf(Worst(c.failures)); got != c.want {
			t.Errorf("%v: exit status %d, want %d", c.failures, got, c.want)
		}
	}
}
