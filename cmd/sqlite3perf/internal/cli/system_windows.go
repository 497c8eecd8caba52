package cli

import (
	"os"
	"os/exec"
	"syscall"
)

var interruptSignals = []os.Signal{os.Interrupt}

// catchPipes does nothing, because on Windows a write to a reader that has gone away returns an
// error anyway.
func catchPipes() {}

// raise ends the process with the exit status of Ctrl-C.
func raise(os.Signal) { os.Exit(ExitInterrupted) }

// OwnGroup makes a command start in its own process group, so that Ctrl-C in the console does not
// reach it.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// EnoughAddresses returns nil, because Windows does not limit address spaces.
func EnoughAddresses() error { return nil }
