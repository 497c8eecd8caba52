package result

import "time"

// Footprint has the costs of a driver other than time: its size, its builds, its license. Fields
// that were not determined are zero.
type Footprint struct {
	SizeBytes int64         `json:"size_bytes,omitempty"` // size of the worker without symbols, including the code that all workers share
	WarmNS    int64         `json:"warm_ns,omitempty"`    // time to build the worker with all packages in the build cache
	ColdNS    int64         `json:"cold_ns,omitempty"`    // time to build the worker with an empty build cache
	Targets   []TargetBuild `json:"targets,omitempty"`    // results of builds without a C compiler, by platform
	Module    string        `json:"module,omitempty"`
	Version   string        `json:"version,omitempty"`
	Released  time.Time     `json:"released,omitzero"`
	License   string        `json:"license,omitempty"` // SPDX identifier of the driver's license, or "unknown"
}

// TargetBuild says whether a driver could be built for a platform if there was no C compiler.
type TargetBuild struct {
	Target  string `json:"target"` // GOOS/GOARCH
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"` // why the build failed
}
