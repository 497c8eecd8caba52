//go:build !linux && !darwin

package snapshot

import "os"

// clone returns false, because on this system a copy cannot share the original's blocks.
func clone(*os.File, string) bool { return false }
