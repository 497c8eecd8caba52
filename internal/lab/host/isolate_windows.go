package host

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate puts the SSH client into its own process group, so that Ctrl-C at the terminal
// reaches only this process.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// endedBy returns "", because Windows has no signals.
func endedBy(*os.ProcessState) string { return "" }
