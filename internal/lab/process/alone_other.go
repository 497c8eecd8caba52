//go:build unix && !linux

package process

import "syscall"

// continueAlone does nothing. When the lab dies, the system sends SIGHUP and SIGCONT to a
// process group that has a stopped process.
func continueAlone(*syscall.SysProcAttr) {}
