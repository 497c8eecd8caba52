package process

import "syscall"

// continueAlone makes the kernel resume a stopped process when the lab dies.
func continueAlone(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGCONT }
