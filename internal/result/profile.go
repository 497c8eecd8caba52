package result

import "github.com/sqlite3perf/sqlite3perf/worker/protocol"

// Profiles make a run one of profiles: it says where the time of a phase goes, and has no
// trials, because times under a profiler are not samples.
type Profiles struct {
	Phase  string `json:"phase"`
	NoPerf string `json:"no_perf,omitempty"` // why there is no perf, or what it does not see; "" if it sees everything

	// Cases has the profile of each case, unless the run was interrupted before. It is no part
	// of the JSON forms of a run, in which stacks would be most of the text.
	Cases []Profile `json:"-"`
}

// Profile is where the time of a phase of a case went, as extra trials have sampled it.
type Profile struct {
	Case   int              `json:"case"`
	Status Status           `json:"status"` // OK, or why there is nothing else
	Reason *protocol.Reason `json:"reason,omitempty"`
	Perf   bool             `json:"perf"` // sampled by perf, not by Go's profiler

	WallNS int64   `json:"wall_ns"`      // of all trials, by the worker's clock
	CPUNS  []int64 `json:"trial_cpu_ns"` // of each trial, from the samples

	Functions   []Function `json:"functions"`   // of the stacks
	CPU         []Stack    `json:"cpu"`         // with nanoseconds of CPU time
	Allocations []Stack    `json:"allocations"` // with bytes

	// Shortened is the greatest number of innermost functions that stacks keep, or 0 if stacks
	// are complete.
	Shortened int `json:"shortened,omitempty"`
}

// Function is a function as a profiler names it.
type Function struct {
	Name   string `json:"name"`             // as its compiler spells it
	Object string `json:"object,omitempty"` // the file that it is in; "" for Go's profiler
}

// Stack is where samples were taken.
type Stack struct {
	Functions []int `json:"functions"` // places in [Profile].Functions, the innermost first
	Samples   int64 `json:"samples"`
	Value     int64 `json:"value"` // of all of them: nanoseconds or bytes
}

// The most that a profile keeps. What is larger is shortened, and refused if it was written by
// others, whose profiles must not fill the memory.
const (
	MaxStackDepth   = 128     // functions of a stack
	MaxStackFrames  = 200_000 // of all stacks of CPU time together, and of those of allocations
	MaxFunctionName = 500     // bytes
)
