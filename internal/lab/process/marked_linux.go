package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// existing returns the processes that exist now, by their IDs.
func existing() map[int]bool {
	list := map[int]bool{}
	dir, err := os.Open("/proc")
	if err != nil {
		return list
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that were read are enough
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list[pid] = true
		}
	}
	return list
}

// endMarked kills every process that has this mark, or one below it, in its
// environment. Processes that a worker has started have it too, even if they have left
// the worker's group. Those of before are not looked at: to read the environments of
// all processes takes some milliseconds, which every trial would need.
func endMarked(mark string, before map[int]bool) {
	for range 100 {
		if !killMarked(mark, before) {
			return
		}
		time.Sleep(10 * time.Millisecond) // they may have started others in the meantime
	}
}

// killMarked kills the marked processes that exist now, and reports whether there
// were any.
func killMarked(mark string, before map[int]bool) (found bool) {
	for pid := range existing() {
		if before[pid] || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid) // before its environment is read, since the pid may be reused
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
