// Package worker runs one trial of one driver: it proves the settings, runs the
// phases, times only the driver, and verifies the answers. An executable with
// exactly one driver in it calls [Main]; the lab speaks to it by the worker
// protocol. The package repeats nothing and judges nothing.
package worker

import (
	_ "embed"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
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
	TypeDescribe  = "describe"  // lab → worker: who are you?
	TypeTrial     = "trial"     // lab → worker: do this
	TypeJob       = "job"       // lab → worker: do this on a user's database
	TypeServe     = "serve"     // lab → worker: the same, with http phases, which the lab puts load on
	TypeBegin     = "begin"     // lab → worker: the load begins now
	TypeStop      = "stop"      // lab → worker: the load has ended
	TypeInfo      = "info"      // worker → lab: answer to describe
	TypeReady     = "ready"     // worker → lab: opened, with the proof
	TypeSettings  = "settings"  // worker → lab: what is in force after the schema, or after a phase
	TypePhase     = "phase"     // worker → lab: a phase begins
	TypeSample    = "sample"    // worker → lab: a timed phase has ended
	TypeInserted  = "inserted"  // worker → lab: what an insert has left in its tables
	TypeListening = "listening" // worker → lab: an http phase can be put under load
	TypeBegun     = "begun"     // worker → lab: answer to begin: what the server uses is measured from now on
	TypeServed    = "served"    // worker → lab: answer to stop, with what the server has used
	TypeProgress  = "progress"  // worker → lab: how a job goes on
	TypeResult    = "result"    // worker → lab: a job has ended
	TypeDone      = "done"      // worker → lab: all phases have ended
	TypeFailed    = "failed"    // worker → lab: given up, with the reason
)

// Request is a line from the lab.
type Request struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`

	// Of a trial, of a server and of a job:
	Seed     uint64          `json:"seed"`
	Path     string          `json:"path,omitempty"` // of the database, which does not exist yet, except for a job
	Settings driver.Settings `json:"settings,omitempty"`
	Plan     *workload.Plan  `json:"plan,omitempty"`

	// TypesKnown says that a trial with this plan, these settings and this seed has
	// had its answers' types checked: they need not be checked again.
	TypesKnown bool `json:"types_known,omitempty"`

	// Of a job:
	Job *job.Job `json:"job,omitempty"`

	// Of a server: host:port; "": a port that is free, on 127.0.0.1.
	Listen string `json:"listen,omitempty"`
}

// Response is a line from the worker.
type Response struct {
	Type     string        `json:"type"`
	Protocol int           `json:"protocol,omitempty"` // info, ready
	Info     *driver.Info  `json:"info,omitempty"`     // info
	Proof    *result.Proof `json:"proof,omitempty"`    // info (without connections), ready
	Phase    string        `json:"phase,omitempty"`    // phase, inserted, listening, begun; settings: after which, "": after the schema
	Address  string        `json:"address,omitempty"`  // listening: host:port

	// Of settings: every PRAGMA of the vocabulary, read from each connection of the pool.
	Connections []driver.Settings `json:"connections,omitempty"`

	Tables   []Inserted     `json:"tables,omitempty"`   // inserted
	Sample   *Sample        `json:"sample,omitempty"`   // sample, served
	Progress *job.Progress  `json:"progress,omitempty"` // progress
	Result   *job.Result    `json:"result,omitempty"`   // result, failed
	Reason   *result.Reason `json:"reason,omitempty"`   // failed
}

// Sample is what a worker says of one phase. The lab checks it, and makes a
// [result.Sample] of it: what can be computed is not asked for.
type Sample struct {
	Phase         string              `json:"phase"`
	WallNS        int64               `json:"wall_ns"`
	UserNS        int64               `json:"user_ns"`
	SystemNS      int64               `json:"system_ns"`
	Operations    int64               `json:"operations"`
	Failed        int64               `json:"failed,omitempty"`
	Rows          int64               `json:"rows"`
	Allocs        int64               `json:"allocs"`
	AllocBytes    int64               `json:"alloc_bytes"`
	PeakRSSBytes  int64               `json:"peak_rss_bytes"`
	DatabaseBytes int64               `json:"database_bytes"`
	WALBytes      int64               `json:"wal_bytes"`
	CheckpointNS  int64               `json:"checkpoint_ns,omitempty"`
	Checksum      string              `json:"checksum,omitempty"`
	Errors        []result.ErrorCount `json:"errors,omitempty"`
	Results       []result.ErrorCount `json:"results,omitempty"`
	Retries       int64               `json:"retries,omitempty"`
	Latency       []Latency           `json:"latency,omitempty"`
}

// Latency is the distribution of one operation's latency. Mean and percentiles
// are the lab's to compute.
type Latency struct {
	Operation  string `json:"operation"`
	Count      int64  `json:"count"`
	Failed     int64  `json:"failed,omitempty"`
	EndedEarly int64  `json:"ended_early,omitempty"`
	Histogram  string `json:"histogram"`
}

// Inserted is what a phase has added to a table.
type Inserted struct {
	Table    string `json:"table"`
	Rows     int64  `json:"rows"`
	Checksum string `json:"checksum,omitempty"` // [workload.RowSum] of the columns that are asked for
}

// said is a sample in the form in which it is sent.
func said(s *result.Sample) *Sample {
	m := &Sample{
		Phase: s.Phase, WallNS: s.WallNS, UserNS: s.UserNS, SystemNS: s.SystemNS,
		Operations: s.Operations, Failed: s.Failed, Rows: s.Rows, Allocs: s.Allocs, AllocBytes: s.AllocBytes,
		PeakRSSBytes: s.PeakRSSBytes, DatabaseBytes: s.DatabaseBytes, WALBytes: s.WALBytes, CheckpointNS: s.CheckpointNS,
		Checksum: s.Checksum, Errors: s.Errors, Results: s.Results, Retries: s.Retries,
	}
	for _, l := range s.Latency {
		m.Latency = append(m.Latency, Latency{l.Operation, l.Count, l.Failed, l.EndedEarly, l.Histogram})
	}
	return m
}
