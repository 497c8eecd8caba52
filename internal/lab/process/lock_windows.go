package process

import (
	"os"

	"golang.org/x/sys/windows"
)

// Lock locks a file for this process until it is closed or the process ends.
func Lock(f *os.File, wait bool) error {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
}

// LockShared locks a file together with other processes that do so. It waits for one that has
// locked it alone.
func LockShared(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), 0, 0, 1, 0, &windows.Overlapped{})
}

// isOwn reports whether this user has made a file: every user has a directory of temporary
// files on Windows.
func isOwn(*os.File) bool { return true }
