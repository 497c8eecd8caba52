//go:build unix

package lab

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// isolate puts the process into its own group, so that Ctrl-C at the terminal
// reaches only the lab and its children end with it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup kills the processes that a process left running in its group.
func endGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // fails if nothing is left
}

// killed reports whether SIGKILL ended the process.
func killed(state *os.ProcessState) bool {
	ws, ok := state.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

// ownUserTime returns how much CPU time this process has used outside the kernel.
func ownUserTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano())
}

// involuntarySwitches returns how often a thread of a process that has ended, or of its
// children, had to make way for another. It returns nil if that is not known.
func involuntarySwitches(state *os.ProcessState) *int64 {
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

// checkOthers returns an error if other users of the machine can put files into a directory
// of which executables or their sources are taken. One that does not exist is created later.
func checkOthers(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return nil //nolint:nilerr // whoever uses it says what is wrong
	}
	owner := -1
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		owner = int(s.Uid)
	}
	return othersWrite(dir, fi.Mode(), owner, os.Geteuid())
}

// othersWrite decides that for a directory of an owner, for a user. Root may use anybody's.
func othersWrite(dir string, mode os.FileMode, owner, user int) error {
	switch {
	case mode.Perm()&0o002 != 0:
		return fmt.Errorf("every user of this machine can put files into %s, which would be run (chmod o-w %[1]s)", dir)
	case user != 0 && owner != user && owner > 0:
		return fmt.Errorf("%s belongs to another user (%d), whose files would be run", dir, owner)
	}
	return nil
}
