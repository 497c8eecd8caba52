package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// endMarked kills every process that has this mark, or one below it, in its
// environment. Processes that a worker has started have it too, even if they have left
// the worker's group.
func endMarked(mark string) {
	for range 100 {
		if !killMarked(mark) {
			return
		}
		time.Sleep(10 * time.Millisecond) // they may have started others in the meantime
	}
}

// killMarked kills the marked processes that exist now, and reports whether there
// were any.
func killMarked(mark string) (found bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid) // before its environment is read, since the pid may be reused
		if err != nil {
			continue
		}
		if environ, err := os.ReadFile(file); err == nil && isMarked(environ, mark) {
			found = p.Kill() == nil || found
		}
		_ = p.Release()
	}
	return found
}

func isMarked(environ []byte, mark string) bool {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		value, ok := bytes.CutPrefix(v, []byte(markVariable+"="))
		if ok && (string(value) == mark || bytes.HasPrefix(value, []byte(mark+"/"))) {
			return true
		}
	}
	return false
}
