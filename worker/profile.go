package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// memProfileRate is Go's own default: one sample per 512 KiB allocated.
const memProfileRate = 512 << 10

// sampleNoAllocations turns off the sampling of allocations, which costs time. Without this
// call, package runtime samples allocations in every program that links package pprof.
func sampleNoAllocations() { runtime.MemProfileRate = 0 }

// profiler profiles one phase, but only while the phase's stopwatch runs. Each period in which the
// stopwatch runs, called a stretch, has its own files, because a CPU profile cannot be paused.
type profiler struct {
	directory string
	stretches []protocol.Stretch
	cpu       *os.File
	err       error // the first error
}

// newProfiler returns the profiler of a phase, and turns the sampling of allocations on again. It
// returns nil if the request does not ask for the profile of this phase.
func newProfiler(want *protocol.Profile, phase string) *profiler {
	if want == nil || want.Phase != phase {
		return nil
	}
	runtime.MemProfileRate = memProfileRate
	return &profiler{directory: want.Directory}
}

// create creates the file for a kind of profile of one stretch (a period in which the stopwatch runs).
func (p *profiler) create(kind string, stretch int) (*os.File, error) {
	return os.Create(filepath.Join(p.directory, fmt.Sprintf("%s-%d.pprof", kind, stretch)))
}

// start begins a stretch of the profile when the stopwatch starts. It does nothing if the phase is not
// profiled.
func (p *profiler) start() {
	if p == nil || p.err != nil {
		return
	}
	next := len(p.stretches)
	if p.err = p.allocations("allocs-before", next); p.err != nil {
		return
	}
	if p.cpu, p.err = p.create("cpu", next); p.err != nil {
		return
	}
	p.err = pprof.StartCPUProfile(p.cpu)
	p.stretches = append(p.stretches, protocol.Stretch{BeginNS: systemClock()})
}

// stop ends the current stretch of the profile when the stopwatch stops.
func (p *profiler) stop() {
	if p == nil || p.err != nil {
		return
	}
	last := len(p.stretches) - 1
	p.stretches[last].EndNS = systemClock()
	pprof.StopCPUProfile()
	p.err = errors.Join(p.cpu.Close(), p.allocations("allocs-after", last))
}

// The method "allocations" writes a profile of all allocations since the process began.
func (p *profiler) allocations(kind string, stretch int) error {
	runtime.GC() // a garbage collection completes the statistics of allocations
	f, err := p.create(kind, stretch)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}

// finish writes the times of the stretches to the file [protocol.StretchesFile]. It returns the first
// error of the profiler.
func (p *profiler) finish() error {
	if p == nil {
		return nil
	}
	if p.err == nil {
		var data []byte
		if data, p.err = json.Marshal(p.stretches); p.err == nil {
			p.err = os.WriteFile(filepath.Join(p.directory, protocol.StretchesFile), data, 0o600)
		}
	}
	if p.err != nil {
		return fmt.Errorf("profiling: %w", p.err)
	}
	return nil
}
