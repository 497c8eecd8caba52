package machines

import (
	"context"
	"errors"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Meeting lets hosts wait for each other, so that nothing is measured if one of them cannot be
// reached.
type Meeting struct {
	names    []string
	mu       sync.Mutex
	boots    []string      // identifier of the machine behind each host; "" if unknown
	left     int           // number of hosts that have not arrived yet
	all      chan struct{} // closed when all hosts have arrived
	failures []error
}

// Meet returns a meeting of the hosts with the given names.
func Meet(names []string) *Meeting {
	return &Meeting{names: names, boots: make([]string, len(names)), left: len(names), all: make(chan struct{})}
}

// Host returns the part of host i in the meeting.
func (m *Meeting) Host(i int) *Arrival { return &Arrival{Meeting: m, host: i} }

// Unreached returns why hosts cannot be reached, or nil.
func (m *Meeting) Unreached() error { return errors.Join(m.failures...) }

// Arrival is one host's part in a [Meeting]. A nil Arrival waits for nobody.
type Arrival struct {
	*Meeting
	host int
	once sync.Once
}

// Note notes that the host has arrived or, if the parameter "failure" is not nil, why it cannot be reached.
// The parameter "boot" identifies the host's machine. Only the first call has an effect.
func (a *Arrival) Note(failure error, boot string) {
	a.once.Do(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.boots[a.host] = boot
		if failure != nil {
			a.failures = append(a.failures, failure)
		}
		if a.left--; a.left == 0 {
			close(a.all)
		}
	})
}

// Wait calls [Arrival.Note] for the host and waits for the other hosts. It returns the parameter "failure" if
// that is not nil. Otherwise, if another host cannot be reached, it returns an error that says so.
func (a *Arrival) Wait(ctx context.Context, failure error, boot string) error {
	if a == nil {
		return failure
	}
	if ctx.Err() != nil {
		a.Note(nil, "") // after Ctrl-C a failure says nothing about the host
		return ctx.Err()
	}
	a.Note(failure, boot)
	select {
	case <-a.all:
	case <-ctx.Done():
		return ctx.Err()
	}
	if failure == nil && len(a.failures) > 0 {
		return errors.New("nothing was measured, because another machine did not answer")
	}
	return failure
}

// Noise returns n. But if the host's machine is measured under several names at the same time, it returns n
// with a warning about that. For the first of these names, Noise also prints the warning with the function
// "say".
func (a *Arrival) Noise(n lab.Noise, say func(string, ...any)) lab.Noise {
	if a == nil || a.boots[a.host] == "" {
		return n
	}
	var same []string
	for i, boot := range a.boots {
		if boot == a.boots[a.host] {
			same = append(same, a.names[i])
		}
	}
	if len(same) < 2 {
		return n
	}
	if same[0] == a.names[a.host] {
		say("warning: %s are one machine: they are measured at the same time and take time from each other; name it once", document.And(same))
	}
	message := document.And(same) + " are one machine: they were measured at the same time and took time from each other"
	return doubleNoise{n, result.Warning{Code: result.WarningShared, Message: message}}
}

// doubleNoise adds a warning to the noise of a machine that is measured under several names at once.
type doubleNoise struct {
	lab.Noise
	warning result.Warning
}

func (s doubleNoise) BeforeRun() []result.Warning {
	return append([]result.Warning{s.warning}, s.Noise.BeforeRun()...)
}
