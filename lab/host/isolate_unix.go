//go:build unix

package host

import (
	"os/exec"
	"syscall"
)

// isolate puts the SSH client into a group of its own, so that Ctrl-C at the terminal
// reaches only this process.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
