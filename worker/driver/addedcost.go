package driver

import "github.com/sqlite3perf/sqlite3perf/worker/estimate"

// AddedCostFile is the name of the file with a driver's [AddedCost]. `make added-cost` writes the
// file next to the driver's driver.json.
const AddedCostFile = "added-cost.json"

// AddedCost is the time that the worker's code (called the engine) and a driver's adapter add to
// the time of the library. It is measured in comparison with a handwritten program: see package
// addedcost.
type AddedCost struct {
	Measured string       `json:"measured"` // day of the measurement
	Machine  string       `json:"machine"`
	Runtime  string       `json:"runtime"` // version of Go, such as go1.26.8
	Pairs    int          `json:"pairs"`   // how many times the engine and the handwritten program were measured, taking turns
	Phases   []AddedPhase `json:"phases"`

	// Causes explains, by phase, why more time is added than sqlite3perf aims for. A person
	// writes the explanations, and new measurements keep them.
	Causes map[string]string `json:"causes,omitempty"`
}

// AddedPhase is the added cost of one phase. The phases "insert" and "query" are measured per
// row. The phase "mix" is measured per read by key, and the phase "tx" per transaction of a read
// and an update.
type AddedPhase struct {
	Phase string  `json:"phase"`
	Hand  float64 `json:"hand_ns"` // wall time of the handwritten program, per row or operation

	WallRatio estimate.Estimate `json:"wall_ratio"` // time of the engine ÷ time of the handwritten program
	CPURatio  estimate.Estimate `json:"cpu_ratio"`
	WallAdded estimate.Estimate `json:"wall_added_ns"` // time of the engine minus time of the handwritten program, per row or operation
	CPUAdded  estimate.Estimate `json:"cpu_added_ns"`
}
