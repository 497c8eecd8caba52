//go:build linux && (amd64 || arm64)

package worker

import (
	"encoding/binary"
	"os"
	"slices"
	"strconv"
	"syscall"
	"unsafe"
)

// event is an event that the kernel counts; see perf_event_open(2).
type event struct {
	kind   uint32 // PERF_TYPE_…
	config uint64
}

// instructions is the event of an executed instruction: PERF_TYPE_HARDWARE,
// PERF_COUNT_HW_INSTRUCTIONS.
var instructions = event{0, 1}

// Flags in attr.bits, the bit field of perf_event_attr.
const (
	perfInherit       = 1 << 1
	perfExcludeKernel = 1 << 5
	perfExcludeHV     = 1 << 6
)

// open begins to count the event e in a thread. The kernel does not count while the thread executes
// kernel code. If the parameter "inherit" is true, it also counts in the threads and processes that
// this thread starts later.
func (e event) open(thread int, inherit bool) (fd int, err error) {
	attr := struct { // perf_event_attr, PERF_ATTR_SIZE_VER0
		kind, size                                         uint32
		config, period, sampleType, readFormat, bits, _, _ uint64
	}{kind: e.kind, size: 64, config: e.config, bits: perfExcludeKernel | perfExcludeHV}
	attr.readFormat = 1 | 2 // PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING
	if inherit {
		attr.bits |= perfInherit
	}
	const anyCPU, noGroup = ^uintptr(0), ^uintptr(0)
	const closeOnExec = 8 // PERF_FLAG_FD_CLOEXEC
	r, _, errno := syscall.Syscall6(syscall.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), uintptr(thread), anyCPU, noGroup, closeOnExec, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

// counter counts an event in all threads of this process, and in its children. A nil counter
// counts no event.
type counter struct {
	event event
	fds   []int
	buf   [24]byte // read uses this buffer, because allocating a new one would be counted among the driver's allocations
}

// newCounter begins to count an event. It returns nil if this system cannot count the event, or if
// threads started or ended during each of ten attempts.
func newCounter(e event) *counter {
	for range 10 {
		before := threads()
		c := &counter{event: e}
		for _, thread := range before {
			fd, err := e.open(thread, true)
			if err != nil {
				break
			}
			c.fds = append(c.fds, fd)
		}
		switch {
		case len(c.fds) == 0:
			return nil
		case len(c.fds) == len(before) && slices.Equal(before, threads()):
			// No thread was started while the counters were opened. Later threads inherit the counters.
			return c
		}
		c.close()
	}
	return nil
}

// The function "threads" lists the IDs of the threads of this process, in ascending order.
func threads() (list []int) {
	files, _ := os.ReadDir("/proc/self/task")
	for _, f := range files {
		if id, err := strconv.Atoi(f.Name()); err == nil {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

func (c *counter) close() {
	if c == nil {
		return
	}
	for _, fd := range c.fds {
		syscall.Close(fd)
	}
}

// read returns the count since newCounter was called.
func (c *counter) read() (sum count) {
	if c == nil {
		return sum
	}
	for _, fd := range c.fds {
		sum.add(readCount(fd, c.buf[:]))
	}
	return sum
}

// readCount returns the count that it reads from a file descriptor. b is a buffer of 24 bytes.
func readCount(fd int, b []byte) count {
	if n, err := syscall.Read(fd, b); err != nil || n != len(b) {
		return count{missed: 1}
	}
	number := func(i int) int64 { return int64(binary.NativeEndian.Uint64(b[8*i:])) }
	return count{number(0), number(1) - number(2)}
}

// thread begins to count the event in the calling thread only. The function "end" returns the count
// since then. The caller must stay on this thread until it has called "end".
func (c *counter) thread() (end func() count) {
	if c == nil {
		return func() count { return count{} }
	}
	fd, err := c.event.open(0, false)
	if err != nil {
		return func() count { return count{missed: 1} }
	}
	return func() count {
		defer syscall.Close(fd)
		return readCount(fd, make([]byte, 24))
	}
}
