package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// unprivileged runs a command that must obey the modes of files even if the user is root, as in:
// unprivileged sqlite3perf generate
func unprivileged() {
	const (
		prCapBSetDrop  = 24 // PR_CAPBSET_DROP of prctl(2)
		capDACOverride = 1  // CAP_DAC_OVERRIDE of capabilities(7)
	)
	runtime.LockOSThread()
	// The call fails for a user without privileges, who does not need it.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prCapBSetDrop, capDACOverride, 0)
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
