//go:build unix

package lab

import (
	"os"
	"os/exec"
	"syscall"
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
