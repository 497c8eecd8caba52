//go:build unix && !linux

package process

import "syscall"

// continueAlone does nothing, because nothing is needed: when sqlite3perf dies, the kernels of these systems
// send SIGHUP and SIGCONT to the process groups of its stopped children.
func continueAlone(*syscall.SysProcAttr) {}
