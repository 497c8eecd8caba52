package result

import "time"

// Footprint is what a driver costs that is not time: its size, its builds, its license. What
// was not looked at is zero.
type Footprint struct {
	SizeBytes int64         `json:"size_bytes,omitempty"` // of the worker, without symbols: the library, and what all workers have
	WarmNS    int64         `json:"warm_ns,omitempty"`    // to build the worker again, with all packages in the build cache
	ColdNS    int64         `json:"cold_ns,omitempty"`    // to build it with an empty build cache
	Targets   []TargetBuild `json:"targets,omitempty"`    // builds without a C compiler
	Module    string        `json:"module,omitempty"`
	Version   string        `json:"version,omitempty"`
	Released  time.Time     `json:"released,omitzero"`
	License   string        `json:"license,omitempty"` // as SPDX names it, or "unknown"
}

// TargetBuild says whether a driver could be built for a platform without a C compiler.
type TargetBuild struct {
	Target  string `json:"target"` // GOOS/GOARCH
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"` // why not
}
