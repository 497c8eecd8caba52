//go:build !linux

package machine

import (
	"runtime"

	"github.com/sqlite3perf/sqlite3perf/result"
)

// blockDevice is a disk whose counters are not known.
type blockDevice struct{}

func (blockDevice) counted() (ioCounts, bool) { return ioCounts{}, false }

func examine(*result.Checkup, string) blockDevice { return blockDevice{} }

func usableCores() int { return runtime.NumCPU() }

type cpuTime struct{ worked, stolen int64 }

func nowCPUTime() (cpuTime, bool) { return cpuTime{}, false }
