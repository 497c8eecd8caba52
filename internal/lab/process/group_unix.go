//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Isolate puts the process into its own group, so that Ctrl-C at the terminal
// reaches only the lab and its children end with it.
func Isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// EndGroup kills the processes that a process left running in its group.
func EndGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // fails if nothing is left
}

// Killed reports whether SIGKILL ended the process.
func Killed(state *os.ProcessState) bool {
	ws, ok := state.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

// OwnUserTime returns how much CPU time this process has used outside the kernel.
func OwnUserTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano())
}

// InvoluntarySwitches returns how often a thread of a process that has ended, or of its
// children, had to make way for another. It returns nil if that is not known.
func InvoluntarySwitches(state *os.ProcessState) *int64 {
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		return integer(ru.Nivcsw)
	}
	return nil
}

// integer returns a pointer to a number whose size depends on the platform.
func integer[T int32 | int64](n T) *int64 {
	v := int64(n)
	return &v
}
