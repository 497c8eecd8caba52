//go:build unix

package main

import (
	"os"
	"syscall"
)

// interruptSignals end a run in good order.
var interruptSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
