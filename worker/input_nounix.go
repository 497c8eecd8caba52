//go:build !unix

package worker

import "os"

// input returns the standard input.
func input() *os.File { return os.Stdin }
