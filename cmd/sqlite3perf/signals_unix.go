//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// interruptSignals end a run in an orderly way.
var interruptSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// outliveReaders makes a write to a reader that has gone away, as head does, fail from
// then on instead of ending the process.
func outliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // if it were ignored, the workers would ignore it too
}

// ownGroup keeps Ctrl-C at the terminal from a process that is to be started.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
