//go:build !linux && !darwin

package snapshot

// room returns -1: on this system it does not know how many bytes a directory has room for.
func room(string) int64 { return -1 }
