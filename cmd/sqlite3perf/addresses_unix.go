//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// enoughAddresses returns an error if the address space is limited to less than Go's
// runtime, SQLite and their threads need, because the runtime would end the process somewhere
// in the middle.
func enoughAddresses() error {
	const least = 2 << 30
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err == nil && limit.Cur < least {
		return fmt.Errorf("the address space is limited to %d MiB, and sqlite3perf needs %d: ulimit -v unlimited", limit.Cur>>20, least>>20)
	}
	return nil
}
