//go:build !linux

package machine

import (
	"runtime"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// blockDevice is a disk. Its counters cannot be read on this system.
type blockDevice struct{}

func (blockDevice) counted() (ioCounts, bool) { return ioCounts{}, false }

func examine(*result.Checkup, string) blockDevice { return blockDevice{} }

func memoryCap() *int64 { return nil }

func usableCores() int { return runtime.NumCPU() }

// ReadCPUTime returns ok = false, because CPU times are read on Linux only.
func ReadCPUTime() (t CPUTime, ok bool) { return CPUTime{}, false }
