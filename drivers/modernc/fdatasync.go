//go:build fdatasync

package modernc

import "modernc.org/sqlite"

// With the build tag fdatasync, all connections sync files with fdatasync instead of fsync. The library can
// do this from v1.62.0 on.
func init() {
	if _, err := sqlite.Fdatasync(true); err != nil {
		panic(err)
	}
}
