package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// endMarked ends every process with this mark, or one below it, in its environment:
// what a worker has started has it too, though it has left the worker's group.
func endMarked(mark string) {
	for range 100 {
		if !killMarked(mark) {
			return
		}
		time.Sleep(10 * time.Millisecond) // they may have started others meanwhile
	}
}

// killMarked kills those that there are now, and reports whether there were any.
func killMarked(mark string) (found bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid) // before its environment is read: the number may be given to another
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
