package lab

import (
	"os"
	"os/exec"
	"syscall"
	"time"
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

// ownUserTime is not needed on Windows, where the machine's CPU time is not read.
func ownUserTime() time.Duration { return 0 }

// involuntarySwitches returns nil: Windows does not count them for a process.
func involuntarySwitches(*os.ProcessState) *int64 { return nil }

// checkOthers returns nil: directories of users are theirs.
func checkOthers(string) error { return nil }
