//go:build linux && (amd64 || arm64)

package worker

import (
	"syscall"
	"testing"
)

// Event is what a counter counts.
type Event = event

// Events that the kernel itself counts, and one that it does not know.
var (
	TaskClock  = event{1, 1} // PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK
	PageFaults = event{1, 2} // PERF_COUNT_SW_PAGE_FAULTS
	Impossible = event{1, 1 << 20}
)

// TryCounting counts an event for a moment.
func TryCounting(e Event) error {
	fd, err := e.open(0, true)
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

// NewCounter begins to count an event, or returns nil.
func NewCounter(e Event) *counter { return newCounter(e) }

// Close ends counting.
func (c *counter) Close() { c.close() }

// Read returns what has been counted.
func (c *counter) Read() int64 { return c.read().n }

// NewStopwatch returns a stopwatch that reads a counter.
func NewStopwatch(c *counter) *Stopwatch { return &Stopwatch{counter: c} }

// SetInstructions makes trials count another event, for one test.
func SetInstructions(t *testing.T, e Event) {
	was := instructions
	instructions = e
	t.Cleanup(func() { instructions = was })
}
