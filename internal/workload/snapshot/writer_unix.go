//go:build unix

package snapshot

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The positions of the bytes in a database file that SQLite locks.
const (
	pendingByte = 0x40000000
	sharedFirst = pendingByte + 2
	sharedSize  = 510
)

// writer returns the ID of the process that has locked a database file for writing, or 0 if
// there is none. It only queries the lock, and takes none itself.
func writer(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for _, r := range [][2]int64{{pendingByte, 1}, {sharedFirst, sharedSize}} {
		lock := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart, Start: r[0], Len: r[1]}
		if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err == nil && lock.Type == unix.F_WRLCK {
			return int(lock.Pid)
		}
	}
	return 0
}

// allocated returns how many bytes of a file have blocks on the disk, or -1 if that is not
// known.
func allocated(fi os.FileInfo) int64 {
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return -1
}
