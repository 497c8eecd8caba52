//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// interruptSignals end a run in good order.
var interruptSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// outliveReaders has a write to a reader who has gone away, as head does, fail from
// then on instead of ending the process.
func outliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // an ignored one would be ignored by the workers too
}
