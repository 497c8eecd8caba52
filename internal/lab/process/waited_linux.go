package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// WaitedFor returns how long the threads of a process and of its children were ready to run
// but waited for a CPU. Ended threads do not count. It returns nil if the process has ended,
// or the kernel lacks this statistic (CONFIG_SCHED_INFO).
//
// The time is the second number in each thread's schedstat; see
// https://docs.kernel.org/scheduler/sched-stats.html.
func WaitedFor(pid int) *time.Duration {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var sum *time.Duration
	add := func(d time.Duration) {
		if sum == nil {
			sum = new(time.Duration)
		}
		*sum += d
	}
	for _, t := range threads {
		dir := fmt.Sprintf("/proc/%d/task/%s/", pid, t.Name())
		text, _ := os.ReadFile(dir + "schedstat")
		if f := strings.Fields(string(text)); len(f) == 3 {
			if ns, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				add(time.Duration(ns))
			}
		}
		children, _ := os.ReadFile(dir + "children")
		for _, child := range strings.Fields(string(children)) {
			if pid, err := strconv.Atoi(child); err == nil {
				if d := WaitedFor(pid); d != nil {
					add(*d)
				}
			}
		}
	}
	return sum
}
