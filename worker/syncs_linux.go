//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// syncsMade counts the calls that wait for the disk, of this process and of its children.
var syncsMade atomic.Int64

// countSyncs begins to count in syncsMade. Before the kernel executes a call that waits for the
// disk, it notifies this process of the call (see seccomp_unotify(2)). This needs no privileges,
// and also works for libraries that make system calls without the C library. Counting cannot be
// turned off again.
var countSyncs = sync.OnceValue(func() error {
	ready := make(chan error)
	go answerSyncs(ready)
	return <-ready
})

// answerSyncs makes the kernel report each call that waits for the disk. Until the process ends, it
// counts the reported calls and lets them continue.
func answerSyncs(ready chan<- error) {
	runtime.LockOSThread()
	listener, err := installFilter()
	ready <- err
	if err != nil {
		runtime.UnlockOSThread()
		return
	}
	defer syscall.Close(listener) // if counting fails, closing the listener makes later syncs fail; otherwise they would wait forever
	// Ask the kernel to wake the caller on the processor of this thread, which is faster. Before
	// Linux 6.6 the kernel cannot do this, and the error is ignored.
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), notifSetFlags, 1)
	for {
		call := seccompNotif{} // the kernel requires that all fields are zero
		if errno := ioctl(listener, notifRecv, unsafe.Pointer(&call)); errno == syscall.EINTR || errno == syscall.ENOENT {
			continue // a signal interrupted the call, or the caller has ended
		} else if errno != 0 {
			return
		}
		syncsMade.Add(1)
		answer := seccompNotifResp{id: call.id, flags: notifContinue}
		if errno := ioctl(listener, notifSend, unsafe.Pointer(&answer)); errno != 0 && errno != syscall.ENOENT {
			return
		}
	}
}

type seccompNotif struct { // struct seccomp_notif
	id         uint64
	pid, flags uint32
	data       [8]uint64
}

type seccompNotifResp struct { // struct seccomp_notif_resp
	id    uint64
	val   int64
	err   int32
	flags uint32
}

const (
	notifRecv     = 0xc0502100 // SECCOMP_IOCTL_NOTIF_RECV
	notifSend     = 0xc0182101 // SECCOMP_IOCTL_NOTIF_SEND
	notifSetFlags = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS
	notifContinue = 1          // SECCOMP_USER_NOTIF_FLAG_CONTINUE
)

func ioctl(fd int, request uintptr, arg unsafe.Pointer) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}

// abi has numbers that package syscall lacks: the numbers of two system calls and of the architecture.
var abi = map[string]struct{ seccomp, syncfs, audit uint32 }{
	"amd64": {317, 306, 0xc000003e},
	"arm64": {277, 267, 0xc00000b7},
}[runtime.GOARCH]

// installFilter makes the kernel send a notification for each call that waits for the disk. It
// covers all threads of this process, and the children that are started later. It returns the file
// descriptor from which the notifications are read.
func installFilter() (int, error) {
	const load, jumpIfEqual, end = 0x20, 0x15, 0x06 // BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K
	const number, architecture = 0, 4               // offsets in struct seccomp_data
	const allow, notify = 0x7fff0000, 0x7fc00000    // SECCOMP_RET_ALLOW, SECCOMP_RET_USER_NOTIF
	filter := []syscall.SockFilter{
		{Code: load, K: architecture},
		{Code: jumpIfEqual, K: abi.audit, Jf: 5},
		{Code: load, K: number},
		{Code: jumpIfEqual, K: syscall.SYS_FDATASYNC, Jt: 4},
		{Code: jumpIfEqual, K: syscall.SYS_FSYNC, Jt: 3},
		{Code: jumpIfEqual, K: abi.syncfs, Jt: 2},
		{Code: jumpIfEqual, K: syscall.SYS_SYNC, Jt: 1},
		{Code: end, K: allow},
		{Code: end, K: notify},
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	const setNoNewPrivs, setModeFilter = 38, 1
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return 0, fmt.Errorf("no_new_privs: %w", errno)
	}
	// The flags are TSYNC, NEW_LISTENER, TSYNC_ESRCH and WAIT_KILLABLE_RECV. Without WAIT_KILLABLE_RECV, a
	// signal, such as Go's scheduler sends, would repeat a call that has already been counted.
	const flags = 1<<0 | 1<<3 | 1<<4 | 1<<5
	fd, _, errno := syscall.RawSyscall(uintptr(abi.seccomp), setModeFilter, flags, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return 0, fmt.Errorf("seccomp: %w (old kernels lack it, and containers may forbid it)", errno)
	}
	return int(fd), nil
}

// ioCounter reads how much this process has synced and written. A nil ioCounter counts nothing.
type ioCounter struct {
	file *os.File
	buf  [512]byte // read uses this buffer, because allocating a new one would be counted among the driver's allocations
}

func newIOCounter() (*ioCounter, error) {
	if err := countSyncs(); err != nil {
		return nil, err
	}
	file, err := os.Open("/proc/self/io")
	if err != nil {
		return nil, err
	}
	c := &ioCounter{file: file}
	if _, ok := c.read(); !ok {
		return nil, errors.Join(errors.New("/proc/self/io does not count writes"), file.Close())
	}
	return c, nil
}

func (c *ioCounter) close() {
	if c != nil {
		c.file.Close()
	}
}

// read returns how much this process has synced and written so far, or false if the kernel does not
// report it.
func (c *ioCounter) read() (now ioCount, ok bool) {
	if c == nil {
		return now, false
	}
	n, err := syscall.Pread(int(c.file.Fd()), c.buf[:], 0)
	if err != nil {
		return now, false
	}
	now.syncs = syncsMade.Load()
	bytesOK := procNumber(c.buf[:n], "wchar: ", &now.bytes)
	return now, procNumber(c.buf[:n], "syscw: ", &now.writes) && bytesOK
}

// procNumber reads the number that follows the text in the parameter "key" in a file of /proc.
func procNumber(text []byte, key string, to *int64) bool {
	at := bytes.Index(text, []byte(key))
	if at < 0 {
		return false
	}
	digits, _, _ := bytes.Cut(text[at+len(key):], []byte{'\n'})
	n, err := strconv.ParseInt(string(digits), 10, 64)
	*to = n
	return err == nil
}
