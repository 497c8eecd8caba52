package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// clockTick is what /proc counts CPU time in: USER_HZ, 100 a second on every
// Linux platform that Go runs on.
const clockTick = 1e9 / 100

// livingChildren lists the processes below this one. A driver that reaches
// SQLite through a child of its own is charged for it.
func livingChildren() []int {
	var list []int
	var add func(pid int)
	add = func(pid int) {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, t := range tasks {
			data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
			for _, f := range bytes.Fields(data) {
				if child, err := strconv.Atoi(string(f)); err == nil {
					list = append(list, child)
					add(child)
				}
			}
		}
	}
	add(os.Getpid())
	return list
}

// threadCPU is the CPU time in nanoseconds that the calling thread has used.
func threadCPU() (user, system int64) {
	const thread = 1 // RUSAGE_THREAD
	var ru syscall.Rusage
	if syscall.Getrusage(thread, &ru) != nil {
		return 0, 0
	}
	return ru.Utime.Nano(), ru.Stime.Nano()
}

// livingChildrenCPU is the CPU time in nanoseconds that they have used.
func livingChildrenCPU() (user, system int64) {
	for _, pid := range livingChildren() {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// The command's name, in parentheses, may hold spaces.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(fields) < 13 {
			continue
		}
		u, _ := strconv.ParseInt(string(fields[11]), 10, 64)
		s, _ := strconv.ParseInt(string(fields[12]), 10, 64)
		u, s = u*clockTick, s*clockTick
		// A phase may be shorter than a tick: the sum is known to the
		// nanosecond, and is shared out as the ticks are.
		if total := cpuClock(pid); total > 0 {
			part := 0.0
			if u+s > 0 {
				part = float64(s) / float64(u+s)
			}
			s = int64(part * float64(total))
			u = total - s
		}
		user += u
		system += s
	}
	return user, system
}

// cpuClock is the CPU time in nanoseconds that a process has used, 0 where it
// cannot be told.
func cpuClock(pid int) int64 {
	// The number of a process's clock, as clock_getcpuclockid(3) makes it.
	const sched = 2
	clock := int32(^pid<<3 | sched)
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return ts.Nano()
}

// peakRSS is the most memory in bytes that the process and its living children
// have held, each at its own peak. It is not getrusage's figure, which begins
// at what the process that started this one held.
func peakRSS() int64 {
	sum := highWaterMark("self")
	for _, pid := range livingChildren() {
		sum += highWaterMark(strconv.Itoa(pid))
	}
	return sum
}

func highWaterMark(pid string) int64 {
	data, _ := os.ReadFile("/proc/" + pid + "/status")
	_, rest, ok := bytes.Cut(data, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}
