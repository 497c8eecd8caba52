//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

var interruptSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// catchPipes makes writes to a reader that has gone away return an error, as [outlet] needs.
func catchPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // SIGPIPE is caught, not ignored, because workers would inherit an ignored signal
}

// raise sends a signal to this process, after resetting the signal to its default.
func raise(sig os.Signal) {
	signal.Reset(sig)
	_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal))
	time.Sleep(time.Second) // another thread may receive the signal a little later
}

// OwnGroup makes a command start in its own process group, so that Ctrl-C at the terminal does not
// reach it.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// EnoughAddresses returns an error if the address space is limited to less than Go's runtime,
// SQLite and their threads need. Otherwise the runtime would end the process at an arbitrary
// moment.
func EnoughAddresses() error {
	const least = 2 << 30
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err == nil && limit.Cur < least {
		return fmt.Errorf("the address space is limited to %d MiB, and sqlite3perf needs %d: ulimit -v unlimited", limit.Cur>>20, least>>20)
	}
	return nil
}
