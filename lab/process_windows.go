package lab

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate puts the process into its own group, so that Ctrl-C at the terminal
// reaches only the lab.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// endGroup does nothing: Windows has no groups that could be killed.
func endGroup(int) {}

// killed reports whether SIGKILL ended the process. Windows does not have SIGKILL.
func killed(*os.ProcessState) bool { return false }
