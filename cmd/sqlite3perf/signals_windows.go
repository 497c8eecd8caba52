package main

import (
	"os"
	"os/exec"
	"syscall"
)

// interruptSignals end a run in an orderly way.
var interruptSignals = []os.Signal{os.Interrupt}

// outliveReaders does nothing, because on Windows a write to a reader that has gone away
// fails anyway.
func outliveReaders() {}

// ownGroup keeps Ctrl-C in the console from a process that is to be started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
