package snapshot

import (
	"os"

	"golang.org/x/sys/unix"
)

// clone creates a copy of a file that shares the original's blocks. It returns false, and
// creates no file, if the file system cannot do that.
func clone(from *os.File, to string) bool {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	err = unix.IoctlFileClone(int(f.Fd()), int(from.Fd()))
	if cerr := f.Close(); err == nil && cerr == nil {
		return true
	}
	os.Remove(to)
	return false
}
