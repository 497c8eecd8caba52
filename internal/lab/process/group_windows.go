package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Isolate puts the process into its own group, so that Ctrl-C at the terminal
// reaches only the lab.
func Isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// EndGroup does nothing: Windows has no groups that could be killed.
func EndGroup(int) {}

// Killed reports whether SIGKILL ended the process. Windows does not have SIGKILL.
func Killed(*os.ProcessState) bool { return false }

// OwnUserTime is not needed on Windows, where the machine's CPU time is not read.
func OwnUserTime() time.Duration { return 0 }

// InvoluntarySwitches returns nil: Windows does not count them for a process.
func InvoluntarySwitches(*os.ProcessState) *int64 { return nil }
