//go:build unix

package lab

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file for this process until it is closed or the process ends.
func lockFile(f *os.File, wait bool) error {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR { //nolint:errorlint // as the system returns it
			return err
		}
	}
}
