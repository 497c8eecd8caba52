package lab

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate puts the process into a group of its own, so that Ctrl-C at the
// terminal reaches only the lab.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// endGroup does nothing: Windows has no groups that could be ended.
func endGroup(int) {}

// killed reports whether the process ended by SIGKILL, of which Windows has
// none.
func killed(*os.ProcessState) bool { return false }
