package result

import "github.com/sqlite3perf/sqlite3perf/worker/protocol"

// Profiles has the measurements of a run that only shows in which functions a phase spends its
// time. In such a run, [Run].Trials is empty: its processes ran under a profiler, so their times must
// not count as measurements of the phase.
type Profiles struct {
	Phase  string `json:"phase"`
	NoPerf string `json:"no_perf,omitempty"` // why perf was not used, or what perf does not see; "" if perf sees everything

	// Cases has the profile of each case. If the run was interrupted, some cases may have none. The field is
	// not part of the JSON forms of a run, because most of their text would be stacks.
	Cases []Profile `json:"-"`
}

// Profile shows in which functions a phase of a case spent its time, according to extra trials
// under a profiler.
type Profile struct {
	Case   int              `json:"case"`
	Status Status           `json:"status"` // OK, or why there is no profile; if it is not OK, Reason has the details, and the fields below are empty
	Reason *protocol.Reason `json:"reason,omitempty"`
	Perf   bool             `json:"perf"` // true: perf took the samples; false: Go's profiler did

	WallNS int64   `json:"wall_ns"`      // time of the phase in all trials together, by the worker's clock
	CPUNS  []int64 `json:"trial_cpu_ns"` // CPU time of each trial, computed from its samples

	Functions   []Function `json:"functions"`   // the functions that the stacks refer to
	CPU         []Stack    `json:"cpu"`         // stacks whose values are nanoseconds of CPU time
	Allocations []Stack    `json:"allocations"` // stacks whose values are allocated bytes

	// Shortened is the number of innermost functions that long stacks were shortened to. It is 0 if
	// all stacks are complete.
	Shortened int `json:"shortened,omitempty"`
}

// Function is a function that a profiler found.
type Function struct {
	Name   string `json:"name"`             // the function's name as its compiler spells it
	Object string `json:"object,omitempty"` // the executable or library that contains the function; "" for Go's profiler
}

// Stack is the stack of function calls in which a profiler took samples.
type Stack struct {
	Functions []int `json:"functions"` // indexes into [Profile].Functions, the innermost function first
	Samples   int64 `json:"samples"`
	Value     int64 `json:"value"` // sum over the samples: nanoseconds or bytes
}

// The limits of a profile. sqlite3perf shortens its own profiles to these limits. If a profile is larger,
// somebody else must have written it. sqlite3perf refuses it, because it could fill the memory.
const (
	MaxStackDepth   = 128     // functions in a stack
	MaxStackFrames  = 200_000 // functions in all stacks of CPU time together, and in all stacks of allocations together
	MaxFunctionName = 500     // bytes of a function's name
)
