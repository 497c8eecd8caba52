package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// existing returns the IDs of the processes that exist now.
func existing() map[int]bool {
	list := map[int]bool{}
	dir, err := os.Open("/proc")
	if err != nil {
		return list
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // in case of an error, the names read so far are used
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
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
		p, err := os.FindProcess(pid) // opened before its environment is read, because the ID may be reused
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
