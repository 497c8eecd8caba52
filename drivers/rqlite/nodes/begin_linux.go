package nodes

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// starter returns a channel of functions. One thread runs the functions, and lives as long as the
// process.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// begin starts a command that the kernel kills when this process ends, even if SIGKILL ends this
// process. The kernel kills the command when the thread that started it ends, so begin uses the
// thread of starter.
func begin(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := make(chan error)
	starter() <- func() { err <- cmd.Start() }
	return <-err
}
