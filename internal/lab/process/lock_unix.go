//go:build unix

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// Lock locks a file until the file is closed or this process ends. If another process holds the lock, Lock
// waits if the parameter "wait" is true, and otherwise returns an error.
func Lock(f *os.File, wait bool) error {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	return flock(f, how)
}

// LockShared takes a shared lock on a file. It waits while another process holds an exclusive lock, which
// [Lock] takes.
func LockShared(f *os.File) error { return flock(f, unix.LOCK_SH) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR { //nolint:errorlint // Flock returns the bare error number
			return err
		}
	}
}

// isOwn reports whether this user owns a file. In a shared directory for temporary files, another user may
// have created a file that looks like a lock file of sqlite3perf.
func isOwn(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && int(st.Uid) == os.Geteuid()
}
