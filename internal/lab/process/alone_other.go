//go:build unix && !linux

package process

import "syscall"

// continueAlone does nothing. On these systems, the kernel sends SIGHUP and SIGCONT to a process group with a
// stopped process when the lab dies.
func continueAlone(*syscall.SysProcAttr) {}
