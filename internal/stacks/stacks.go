// Package stacks says where the time of a process went. It reads what Go's profiler and
// Linux's perf have sampled, and groups it: SQLite, the driver, database/sql, the Go
// runtime, the system.
package stacks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Frame is a function in a stack.
type Frame struct {
	Function string // as its compiler names it: database/sql.(*Rows).Next, sqlite3VdbeExec
	Object   string // the file that it is in, as perf names it; "" for Go's profiler
}

// Stack is where a process was in a number of samples.
type Stack struct {
	Frames  []Frame // the innermost first
	Samples int64
	Value   int64 // nanoseconds of CPU time, or bytes allocated
}

// Recording is what trials of one driver have sampled of one phase.
type Recording struct {
	Trials int
	WallNS int64   // of all trials, by the worker's clock
	CPUNS  []int64 // of each trial, from the samples
	CPU    *pprof.Profile
	Allocs *pprof.Profile
	Perf   []Stack
}

// Stacks returns the CPU samples of the sampler that sees more: perf, where it was used.
func (r *Recording) Stacks() []Stack {
	if len(r.Perf) > 0 || r.CPU == nil {
		return r.Perf
	}
	return stacks(r.CPU)
}

// EndTrial counts a trial, with what has been sampled since the last one. Its phase took
// so long by the worker's clock.
func (r *Recording) EndTrial(wallNS int64) {
	sampled := int64(0)
	for _, s := range r.Stacks() {
		sampled += s.Value
	}
	for _, earlier := range r.CPUNS {
		sampled -= earlier
	}
	r.Trials++
	r.WallNS += wallNS
	r.CPUNS = append(r.CPUNS, sampled)
}

// Allocations returns the stacks that allocated memory.
func (r *Recording) Allocations() []Stack {
	if r.Allocs == nil {
		return nil
	}
	return stacks(r.Allocs)
}

// Samples returns the number of samples in stacks.
func Samples(list []Stack) (n int64) {
	for _, s := range list {
		n += s.Samples
	}
	return n
}

func stacks(p *pprof.Profile) []Stack {
	var list []Stack
	for _, s := range p.Sample {
		count, value := s.Value[0], s.Value[1]
		if count == 0 && value == 0 {
			continue
		}
		st := Stack{Samples: count, Value: value}
		for _, l := range s.Location {
			for _, line := range l.Line { // the innermost of inlined functions comes first
				if line.Function != nil {
					st.Frames = append(st.Frames, Frame{Function: line.Function.Name})
				}
			}
		}
		list = append(list, st)
	}
	return list
}

// Add adds what a worker has written into a directory in one trial. It returns when the
// clock of the phase ran. A worker that writes no profiles is not an error: written is
// then false.
func (r *Recording) Add(dir string) (clock []protocol.Stretch, written bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, protocol.StretchesFile))
	if os.IsNotExist(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(data, &clock); err != nil {
		return nil, false, fmt.Errorf("%s: %w", protocol.StretchesFile, err)
	}
	for i := range clock {
		var read [3]*pprof.Profile
		for k, kind := range []string{"cpu", "allocs-before", "allocs-after"} {
			if read[k], err = readProfile(dir, kind, i); err != nil {
				return nil, false, err
			}
		}
		cpu, before, after := read[0], read[1], read[2]
		withoutProfiler(cpu)
		if r.CPU, err = merge(r.CPU, cpu); err != nil {
			return nil, false, err
		}
		if before == nil || after == nil {
			continue
		}
		before.Scale(-1)
		during, err := pprof.Merge([]*pprof.Profile{before, after})
		if err != nil {
			return nil, false, err
		}
		withoutProfiler(during)
		if r.Allocs, err = merge(r.Allocs, allocated(during)); err != nil {
			return nil, false, err
		}
	}
	return clock, true, nil
}

// profilers begins the names of functions that only run because of the profiles.
var profilers = []string{"runtime/pprof.", "runtime.sigprof", "runtime.profilealloc", ours + "/worker.(*profiler)"}

func ofProfiler(function string) bool { return hasAnyPrefix(function, profilers...) }

func withoutProfiler(p *pprof.Profile) {
	if p == nil {
		return
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *pprof.Sample) bool {
		return slices.ContainsFunc(s.Location, func(l *pprof.Location) bool {
			return slices.ContainsFunc(l.Line, func(line pprof.Line) bool { return line.Function != nil && ofProfiler(line.Function.Name) })
		})
	})
}

// kinds is how many kinds of values are used of a profile: the first two are the number
// and the nanoseconds of CPU samples, or the number and the bytes of allocations.
const kinds = 2

// allocated leaves out what Go's profile says of memory in use, which means nothing in
// the difference between two moments.
func allocated(p *pprof.Profile) *pprof.Profile {
	p.SampleType, p.DefaultSampleType = p.SampleType[:kinds], p.SampleType[kinds-1].Type
	for _, s := range p.Sample {
		s.Value = s.Value[:kinds]
	}
	return p.Compact()
}

// readProfile returns nil if there is no such file.
func readProfile(dir, kind string, i int) (*pprof.Profile, error) {
	name := fmt.Sprintf("%s-%d.pprof", kind, i)
	data, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := pprof.Parse(bytes.NewReader(data))
	if err == nil && len(p.SampleType) < kinds {
		err = fmt.Errorf("it has %d kinds of values: want at least %d", len(p.SampleType), kinds)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func merge(to, from *pprof.Profile) (*pprof.Profile, error) {
	switch {
	case from == nil:
		return to, nil
	case to == nil:
		return from, nil
	}
	return pprof.Merge([]*pprof.Profile{to, from})
}
