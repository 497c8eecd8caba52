//go:build unix

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// Lock locks a file for this process until it is closed or the process ends.
func Lock(f *os.File, wait bool) error {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	return flock(f, how)
}

// LockShared locks a file together with other processes that do so. It waits for one that has
// locked it alone.
func LockShared(f *os.File) error { return flock(f, unix.LOCK_SH) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR { //nolint:errorlint // as the system returns it
			return err
		}
	}
}

// isOwn reports whether this user has made a file. In a directory for everybody's temporary
// files, another user may have made one that looks like ours.
func isOwn(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && int(st.Uid) == os.Geteuid()
}
