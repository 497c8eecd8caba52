package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
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
	become(os.Args[1:])
}

// withoutSeccomp runs a command that may not use seccomp, as in some containers.
func withoutSeccomp() {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // loads the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_SECCOMP},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	program := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(program)), 0, 0); err != nil {
		panic(err)
	}
	become(os.Args[1:])
}

// become executes a command in place of this one.
func become(args []string) {
	path, err := exec.LookPath(args[0])
	if err == nil {
		err = syscall.Exec(path, args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
