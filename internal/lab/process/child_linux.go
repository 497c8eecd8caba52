package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// continueAlone makes the kernel resume a stopped child process when sqlite3perf dies.
func continueAlone(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGCONT }

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

// existing returns the IDs of the processes that exist now.
func existing() map[int]bool {
	list := map[int]bool{}
	entries, _ := os.ReadDir("/proc") // in case of an error, the entries read so far are used
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			list[pid] = true
		}
	}
	return list
}

// endMarked kills every process whose environment has this mark, or a longer mark that begins with this mark
// and a slash. Child processes of a worker inherit the mark, and keep it even outside the worker's process
// group. The processes in the parameter "before" are skipped. They existed before the marked process, so they
// cannot have the mark, and reading the environments of all processes would add some milliseconds to every
// trial.
func endMarked(mark string, before map[int]bool) {
	for range 100 {
		if !killMarked(mark, before) {
			return
		}
		time.Sleep(10 * time.Millisecond) // killed processes may have started others in the meantime
	}
}

// killMarked kills the marked processes that exist now, and reports whether it killed any.
func killMarked(mark string, before map[int]bool) (found bool) {
	for pid := range existing() {
		if before[pid] || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid) // opened before its environment is read, so that Kill cannot hit a new process with the same ID
		if err != nil {
			continue
		}
		if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && isMarked(environ, mark) {
			found = p.Kill() == nil || found
		}
		_ = p.Release()
	}
	return found
}

func isMarked(environ []byte, mark string) bool {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		value, ok := bytes.CutPrefix(v, []byte(MarkVariable+"="))
		if ok && (string(value) == mark || bytes.HasPrefix(value, []byte(mark+"/"))) {
			return true
		}
	}
	return false
}
