//go:build linux || darwin

package snapshot

import "golang.org/x/sys/unix"

// room returns how many bytes can be written to the file system of a directory, or -1 if that
// is not known.
func room(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // the type of these fields differs between systems
}
