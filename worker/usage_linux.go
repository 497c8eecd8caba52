package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// clockTick is the unit of CPU time in /proc: USER_HZ, which is 100 per second on
// every Linux platform that Go runs on.
const clockTick = 1e9 / 100

// livingChildren lists the descendants of this process. Some drivers run SQLite in a child
// process, whose CPU time and memory count too.
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

// threadCPU returns the CPU time in nanoseconds that the calling thread has used.
func threadCPU() (user, system int64) {
	const thread = 1 // RUSAGE_THREAD
	var ru syscall.Rusage
	if syscall.Getrusage(thread, &ru) != nil {
		return 0, 0
	}
	return ru.Utime.Nano(), ru.Stime.Nano()
}

// livingChildrenCPU returns the CPU time in nanoseconds that the living children have
// used.
func livingChildrenCPU() (user, system int64) {
	for _, pid := range livingChildren() {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// The command's name, in parentheses, may contain spaces.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(fields) < 13 {
			continue
		}
		u, _ := strconv.ParseInt(string(fields[11]), 10, 64)
		s, _ := strconv.ParseInt(string(fields[12]), 10, 64)
		u, s = u*clockTick, s*clockTick
		// The ticks are too coarse for a short phase. cpuClock returns the exact sum of user and
		// system time, so that sum is divided in proportion to the ticks.
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

// cpuClock returns the CPU time in nanoseconds that a process has used, or 0 if it cannot be
// read.
func cpuClock(pid int) int64 {
	// The number of a process's clock is computed as in clock_getcpuclockid(3).
	const sched = 2
	return readClock(int32(^pid<<3 | sched))
}

// peakRSS returns the sum of the peak memory, in bytes, of this process and of its living
// children. It does not use getrusage, because that figure includes the memory of the process
// that started this one.
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
