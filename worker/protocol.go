// Package worker runs one trial of one driver: it proves the settings, runs the
// phases, times only the driver, and verifies the answers. An executable with
// exactly one driver in it calls [Main]; the lab speaks to it by the worker
// protocol. The package repeats nothing and judges nothing.
package worker

import (
	_ "embed"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/result"
	"github.com/sqlite3perf/sqlite3perf/worker/workload"
)

// Schema is the JSON Schema of every line of the protocol, in both directions.
//
//go:embed protocol.schema.json
var Schema []byte

// Protocol is the version of the worker protocol that this package speaks.
const Protocol = 1

// The types of messages, in the field "type" of each line.
const (
	TypeDescribe = "describe" // lab → worker: who are you?
	TypeTrial    = "trial"    // lab → worker: do this
	TypeInfo     = "info"     // worker → lab: answer to describe
	TypeReady    = "ready"    // worker → lab: opened, with the proof
	TypePhase    = "phase"    // worker → lab: a phase begins
	TypeSample   = "sample"   // worker → lab: a timed phase has ended
	TypeDone     = "done"     // worker → lab: all phases have ended
	TypeFailed   = "failed"   // worker → lab: given up, with the reason
)

// Request is a line from the lab.
type Request struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`

	// Of a trial:
	Seed     uint64          `json:"seed"`
	Path     string          `json:"path,omitempty"` // of the database, which does not exist yet
	Settings driver.Settings `json:"settings,omitempty"`
	Plan     *workload.Plan  `json:"plan,omitempty"`
}

// Response is a line from the worker.
type Response struct {
	Type     string         `json:"type"`
	Protocol int            `json:"protocol,omitempty"` // info, ready
	Info     *driver.Info   `json:"info,omitempty"`     // info
	Proof    *result.Proof  `json:"proof,omitempty"`    // info (without connections), ready
	Phase    string         `json:"phase,omitempty"`    // phase
	Sample   *result.Sample `json:"sample,omitempty"`   // sample
	Reason   *result.Reason `json:"reason,omitempty"`   // failed
}
