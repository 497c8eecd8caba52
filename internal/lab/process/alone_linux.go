package process

import "syscall"

// continueAlone makes the kernel resume a stopped child process when sqlite3perf dies.
func continueAlone(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGCONT }
