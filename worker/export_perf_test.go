//go:build linux && (amd64 || arm64)

package worker

import (
	"syscall"
	"testing"
)

// Event is an event that a counter counts.
type Event = event

// TaskClock and PageFaults are events that the kernel itself counts. Impossible is an event that
// the kernel does not know.
var (
	TaskClock  = event{1, 1} // PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK
	PageFaults = event{1, 2} // PERF_COUNT_SW_PAGE_FAULTS
	Impossible = event{1, 1 << 20}
)

// TryCounting returns an error if an event cannot be counted.
func TryCounting(e Event) error {
	fd, err := e.open(0, true)
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

// NewCounter begins to count an event. It returns nil if the event cannot be counted.
func NewCounter(e Event) *counter { return newCounter(e) }

// Close ends counting.
func (c *counter) Close() { c.close() }

// Read returns the count so far.
func (c *counter) Read() int64 { return c.read().n }

// NewStopwatch returns a stopwatch that uses the counter c.
func NewStopwatch(c *counter) *Stopwatch { return &Stopwatch{counter: c} }

// SetInstructions makes trials count another event instead of instructions, until the test
// ends.
func SetInstructions(t *testing.T, e Event) {
	was := instructions
	instructions = e
	t.Cleanup(func() { instructions = was })
}
