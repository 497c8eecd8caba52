//go:build unix

package worker

import (
	"os"
	"syscall"
)

// input returns the standard input. If it is a pipe, input sets it to non-blocking mode, so that
// reading does not block a thread. If reading blocked, the goroutine that waits for orders of the
// lab (sqlite3perf itself) could begin a long system call just when the worker stops all goroutines
// to count allocations. In Go 1.26 the worker then sometimes waits forever.
func input() *os.File {
	info, err := os.Stdin.Stat()
	fd := os.Stdin.Fd()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 || syscall.SetNonblock(int(fd), true) != nil {
		return os.Stdin
	}
	return os.NewFile(fd, os.Stdin.Name())
}
