package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Isolate makes the command run in its own process group, so that Ctrl-C at the terminal
// reaches only sqlite3perf itself.
func Isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// EndGroup does nothing, because Windows cannot kill a process group.
func EndGroup(int) {}

// Pause does nothing, because Windows cannot stop a process.
func (c *Child) Pause() {}

// Resume does nothing, because [Child.Pause] does nothing.
func (c *Child) Resume() {}

// OwnUserTime returns 0. On Windows nothing needs the real value, because the CPU time that other
// processes take from a trial is known only on Linux.
func OwnUserTime() time.Duration { return 0 }

// InvoluntarySwitches returns nil, because Windows does not count these switches per process.
func InvoluntarySwitches(*os.ProcessState) *int64 { return nil }

// BytesRead returns 0, because Windows does not count the reads from disks separately.
func BytesRead(*os.ProcessState) int64 { return 0 }

// OwnBytesRead returns 0, because Windows does not count the reads from disks separately.
func OwnBytesRead() int64 { return 0 }
