//go:build !linux

package machine

import (
	"runtime"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// blockDevice is a disk whose counters are not known.
type blockDevice struct{}

func (blockDevice) counted() (ioCounts, bool) { return ioCounts{}, false }

func examine(*result.Checkup, string) blockDevice { return blockDevice{} }

func usableCores() int { return runtime.NumCPU() }

// ReadCPUTime returns the CPU time of the machine. ok is false if it is not known.
func ReadCPUTime() (t CPUTime, ok bool) { return CPUTime{}, false }
