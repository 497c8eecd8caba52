//go:build unix

package host

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate puts the SSH client into its own process group, so that Ctrl-C at the terminal
// reaches only this process.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endedBy says how a signal ended a local process, in words that follow "was": "killed (SIGKILL)" or
// "ended by a signal: terminated". It returns "" if no signal ended it.
func endedBy(state *os.ProcessState) string {
	ws, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case !ok || !ws.Signaled():
		return ""
	case ws.Signal() == syscall.SIGKILL:
		return "killed (SIGKILL)"
	}
	return "ended by a signal: " + ws.Signal().String()
}
