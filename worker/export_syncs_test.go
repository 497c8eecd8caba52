//go:build linux && (amd64 || arm64)

package worker

import "testing"

// NewIOStopwatch returns a stopwatch that counts syncs and writes.
func NewIOStopwatch(t *testing.T) *Stopwatch {
	c, err := newIOCounter()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return &Stopwatch{ioCounter: c}
}
