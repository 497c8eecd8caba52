//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Isolate makes the command run in its own process group. Ctrl-C at the terminal then
// reaches only sqlite3perf itself, and canceling the command kills the whole group.
func Isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	continueAlone(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// EndGroup kills the processes that are left in the process group with the ID pid.
func EndGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // fails if no process is left
}

// Pause stops the process and its children until [Child.Resume] is called. If sqlite3perf ends meanwhile,
// the process continues.
func (c *Child) Pause() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGSTOP) }

// Resume lets the process and its children continue.
func (c *Child) Resume() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGCONT) }

// OwnUserTime returns how much CPU time this process has used outside the kernel.
func OwnUserTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano())
}

// InvoluntarySwitches returns how often the system preempted threads of an ended process and of its children.
// It returns nil if the system does not count these switches.
func InvoluntarySwitches(state *os.ProcessState) *int64 {
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		return integer(ru.Nivcsw)
	}
	return nil
}

// BytesRead returns how many bytes an ended process and its children have read from disks. It returns 0 if
// that is not known. Linux counts in units of 512 bytes.
func BytesRead(state *os.ProcessState) int64 {
	if state == nil {
		return 0
	}
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		return 512 * *integer(ru.Inblock)
	}
	return 0
}

// OwnBytesRead returns how many bytes this process has read from disks.
func OwnBytesRead() int64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return 512 * *integer(ru.Inblock)
}

// integer converts a number whose type depends on the platform.
func integer[T int32 | int64](n T) *int64 {
	v := int64(n)
	return &v
}
