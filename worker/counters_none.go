//go:build !linux || !(amd64 || arm64)

package worker

import (
	"errors"
	"runtime"
)

// event is an event that the processor or the kernel counts. On this system, no event can be
// counted.
type event struct{}

var instructions event

// counter is empty, because events cannot be counted on this system.
type counter struct{}

func newCounter(event) *counter { return nil }

func (*counter) close() {}

func (*counter) read() count { return count{} }

func (*counter) thread() (end func() count) { return func() count { return count{} } }

type ioCounter struct{}

func newIOCounter() (*ioCounter, error) {
	return nil, errors.New("only on Linux (amd64 and arm64), and this is " + runtime.GOOS + "/" + runtime.GOARCH)
}

func (*ioCounter) read() (ioCount, bool) { return ioCount{}, false }
func (*ioCounter) close()                {}
