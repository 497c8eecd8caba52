// Package stacks says where a process spent its time. It reads the samples of Go's profiler
// and of Linux's perf, and assigns them to groups: SQLite, the driver, database/sql, the Go
// runtime, the system.
package stacks

import (
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
	Function string // name as the compiler spells it: database/sql.(*Rows).Next, sqlite3VdbeExec
	Object   string // file that contains the function, as perf names it; "" if Go's profiler sampled it
}

// Stack is a chain of calls in which samples of a process were taken.
type Stack struct {
	Frames  []Frame // the innermost function first
	Samples int64
	Value   int64 // all samples together: nanoseconds of CPU time, or bytes allocated
}

// Recording has the samples of one phase from trials of one driver.
type Recording struct {
	Trials int
	WallNS int64   // time of the phase in all trials together, by the worker's clock
	CPUNS  []int64 // CPU time of the phase in each trial, from the samples
	CPU    *pprof.Profile
	Allocs *pprof.Profile
	Perf   []Stack
}

// Stacks returns the stacks of CPU samples. They are from perf or, if perf was not used, from Go's
// profiler, which sees fewer functions.
func (r *Recording) Stacks() []Stack {
	if len(r.Perf) > 0 {
		return r.Perf
	}
	return stacks(r.CPU)
}

// EndTrial ends a trial, to which all samples since the end of the previous trial belong. wallNS is
// the time of the trial's phase in nanoseconds, by the worker's clock.
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
func (r *Recording) Allocations() []Stack { return stacks(r.Allocs) }

// Samples returns the number of samples in all stacks together.
func Samples(list []Stack) (n int64) {
	for _, s := range list {
		n += s.Samples
	}
	return n
}

// stacks returns the stacks of a profile. For nil it returns none.
func stacks(p *pprof.Profile) (list []Stack) {
	if p == nil {
		return nil
	}
	for _, s := range p.Sample {
		count, value := s.Value[0], s.Value[1]
		if count == 0 && value == 0 {
			continue
		}
		st := Stack{Samples: count, Value: value}
		for _, l := range s.Location {
			for _, line := range l.Line { // the innermost of inlined functions is first
				if line.Function != nil {
					st.Frames = append(st.Frames, Frame{Function: line.Function.Name})
				}
			}
		}
		list = append(list, st)
	}
	return list
}

// Add adds the profiles of one trial, which a worker wrote into a directory. The result "clock" has
// the times at which the phase's clock ran. If the worker wrote no profiles, the result "written"
// is false and err is nil.
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

// profilers has prefixes of the names of functions that run only because profiles are
// recorded.
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

// kinds is how many values of each sample are read from a profile. They are the first values of the
// sample: number and nanoseconds of CPU samples, or number and bytes of allocations.
const kinds = 2

// allocated removes from a profile the values for memory in use, which have no meaning in the
// difference between two profiles.
func allocated(p *pprof.Profile) *pprof.Profile {
	p.SampleType, p.DefaultSampleType = p.SampleType[:kinds], p.SampleType[kinds-1].Type
	for _, s := range p.Sample {
		s.Value = s.Value[:kinds]
	}
	return p.Compact()
}

// readProfile returns the i-th profile of a kind from a directory, or nil if there is no such
// file.
func readProfile(dir, kind string, i int) (*pprof.Profile, error) {
	name := fmt.Sprintf("%s-%d.pprof", kind, i)
	data, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := pprof.ParseData(data)
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
