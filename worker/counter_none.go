//go:build !linux || !(amd64 || arm64)

package worker

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
