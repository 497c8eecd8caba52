package process

import (
	"os"

	"golang.org/x/sys/windows"
)

// Lock locks a file until the file is closed or this process ends. If another process holds the lock, Lock
// waits if the parameter "wait" is true, and otherwise returns an error.
func Lock(f *os.File, wait bool) error {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
}

// LockShared takes a shared lock on a file. It waits while another process holds an exclusive lock, which
// [Lock] takes.
func LockShared(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), 0, 0, 1, 0, &windows.Overlapped{})
}

// isOwn returns true, because on Windows every user has their own directory for temporary
// files.
func isOwn(*os.File) bool { return true }
