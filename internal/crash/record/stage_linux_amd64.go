package record

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notified are the system calls that the filter always reports to the recorder. It reports open and
// mmap only with certain arguments.
var notified = []int{
	unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2,
	unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE, unix.SYS_FALLOCATE,
	unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNCFS, unix.SYS_SYNC,
	unix.SYS_CREAT, unix.SYS_UNLINK, unix.SYS_UNLINKAT, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
	unix.SYS_LINK, unix.SYS_LINKAT, unix.SYS_SYMLINK, unix.SYS_SYMLINKAT, unix.SYS_MKNOD, unix.SYS_MKNODAT,
	unix.SYS_MKDIR, unix.SYS_MKDIRAT, unix.SYS_RMDIR,
}

// refused are calls that could write to files without being recorded. The filter makes them fail as
// if the kernel did not know them, because programs then use other calls.
var refused = []int{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_SETUP, unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_OPENAT2,
}

// tmpfile is the bit that O_TMPFILE has in addition to O_DIRECTORY.
const tmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY

// program returns the filter as a program of classic BPF (seccomp(2)).
func program() []unix.SockFilter {
	const number, architecture, arguments = 0, 4, 16 // offsets in struct seccomp_data
	const creating = unix.O_CREAT | unix.O_TRUNC | tmpfile
	var p []unix.SockFilter
	load := func(offset int) {
		p = append(p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(offset)})
	}
	argument := func(n int) { load(arguments + 8*n) }
	finish := func(action uint32) { p = append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}) }
	jump := func(test uint16, k uint32, yes, no uint8) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: k, Jt: yes, Jf: no})
	}
	const unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	load(architecture)
	jump(unix.BPF_JEQ, unix.AUDIT_ARCH_X86_64, 1, 0)
	finish(unix.SECCOMP_RET_KILL_PROCESS)
	load(number)
	jump(unix.BPF_JGE, 0x40000000, 0, 1) // the calls of the x32 architecture
	finish(unknown)
	for _, nr := range refused {
		jump(unix.BPF_JEQ, uint32(nr), 0, 1)
		finish(unknown)
	}
	for _, nr := range notified {
		jump(unix.BPF_JEQ, uint32(nr), 0, 1)
		finish(unix.SECCOMP_RET_USER_NOTIF)
	}
	for nr, flags := range map[int]int{unix.SYS_OPEN: 1, unix.SYS_OPENAT: 2} {
		jump(unix.BPF_JEQ, uint32(nr), 0, 4)
		argument(flags)
		jump(unix.BPF_JSET, creating, 0, 1)
		finish(unix.SECCOMP_RET_USER_NOTIF)
		finish(unix.SECCOMP_RET_ALLOW)
	}
	jump(unix.BPF_JEQ, unix.SYS_MMAP, 0, 7)
	argument(2)
	jump(unix.BPF_JSET, unix.PROT_WRITE, 0, 4)
	argument(3)
	jump(unix.BPF_JSET, unix.MAP_ANONYMOUS, 2, 0)
	jump(unix.BPF_JSET, unix.MAP_SHARED, 0, 1) // this bit is also part of MAP_SHARED_VALIDATE
	finish(unix.SECCOMP_RET_USER_NOTIF)
	finish(unix.SECCOMP_RET_ALLOW)
	finish(unix.SECCOMP_RET_ALLOW) // all other calls
	return p
}

// install puts the filter on the calling thread, and returns the descriptor of the notifications.
func install() (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("no_new_privs: %w", err)
	}
	p := program()
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	// Without WAIT_KILLABLE_RECV, a signal, such as the signals of Go's scheduler, would interrupt
	// a call even after the recorder has carried it out. The program would then repeat the call.
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	return int(fd), nil
}

// Stage connects to the recorder's socket, installs the filter, hands the notifications to the
// recorder and becomes the program. The parameter "args" has the socket's path, the program, and
// its arguments. Stage returns an exit status only if one of these steps fails.
func Stage(args []string) int {
	if len(args) < 2 {
		return 125
	}
	runtime.LockOSThread() // the filter applies to one thread, and the program inherits it from the thread that starts the program
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(socket, &unix.SockaddrUnix{Name: args[0]})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "connecting to the recorder:", err)
		return 125
	}
	path, err := exec.LookPath(args[1])
	if err == nil {
		var notifications int
		if notifications, err = install(); err == nil {
			// The recorder cannot answer notifications before it has the descriptor. So until then,
			// this thread must not make a call that needs an answer.
			err = unix.Sendmsg(socket, []byte{0}, unix.UnixRights(notifications), nil, 0)
		}
		if err == nil {
			unix.CloseOnExec(notifications)
			err = unix.Exec(path, args[1:], os.Environ())
		}
	}
	_ = unix.Sendmsg(socket, []byte(err.Error()), nil, nil, 0)
	return 125
}

// Available returns an error if the kernel cannot notify a recorder, or does not let it copy descriptors.
func Available() error {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return fmt.Errorf("%w: seccomp: %w (containers may forbid it)", ErrUnsupported, errno)
	}
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err == nil {
		defer unix.Close(self)
		var fd int
		if fd, err = unix.PidfdGetfd(self, self, 0); err == nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: pidfd_getfd: %w (containers may forbid it)", ErrUnsupported, err)
	}
	return nil
}
