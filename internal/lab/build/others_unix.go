//go:build unix

package build

import (
	"fmt"
	"os"
	"syscall"
)

// checkOthers checks a directory that holds executables or their sources. It returns an error if every
// user of this machine can write to the directory, or if the directory belongs to a user other than
// this user and root. A missing directory is fine, because it is created later.
func checkOthers(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return nil //nolint:nilerr // when the directory is used, the error occurs again and is reported
	}
	owner := -1
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		owner = int(s.Uid)
	}
	return othersWrite(dir, fi.Mode(), owner, os.Geteuid())
}

// othersWrite checks a directory's mode and owner, as checkOthers describes. The parameter "user" is the ID
// of this user. If this user is root (0), the directory may belong to any user.
func othersWrite(dir string, mode os.FileMode, owner, user int) error {
	switch {
	case mode.Perm()&0o002 != 0:
		return fmt.Errorf("every user of this machine can put files into %s, which would be run (chmod o-w %[1]s)", dir)
	case user != 0 && owner != user && owner > 0:
		return fmt.Errorf("%s belongs to another user (%d), whose files would be run", dir, owner)
	}
	return nil
}
