//go:build fdatasync

package modernc

import "modernc.org/sqlite"

// With the build tag fdatasync, all connections sync files with fdatasync instead of fsync. The library has
// this choice since v1.62.0.
func init() {
	if _, err := sqlite.Fdatasync(true); err != nil {
		panic(err)
	}
}
