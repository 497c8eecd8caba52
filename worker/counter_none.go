//go:build !linux || !(amd64 || arm64)

package worker

// event is an event that the processor or the kernel counts. Here nothing is counted.
type event struct{}

var instructions event

// counter counts an event in all threads of this process, and in its children.
type counter struct{}

func newCounter(event) *counter { return nil }

func (*counter) close() {}

func (*counter) read() count { return count{} }

func (*counter) thread() (end func() count) { return func() count { return count{} } }
