package main

import (
	"os"
	"os/exec"
	"syscall"
)

var interruptSignals = []os.Signal{os.Interrupt}

// catchPipes does nothing, because on Windows a write to a reader that has gone away
// returns an error anyway.
func catchPipes() {}

// raise ends the process as Ctrl-C does.
func raise(os.Signal) { os.Exit(exitInterrupted) }

// ownGroup keeps Ctrl-C in the console from a process that is to be started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// enoughAddresses does nothing, because Windows has no such limit.
func enoughAddresses() error { return nil }
