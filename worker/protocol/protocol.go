// Package protocol defines the messages between lab and worker. Each is a JSON object
// on one line, described in docs/worker-protocol.md and, for each field, in [Schema].
package protocol

import (
	_ "embed"
	"maps"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Schema is the JSON Schema of every line of the protocol, in both directions.
//
//go:embed protocol.schema.json
var Schema []byte

// Version is the version of the protocol that this package describes.
const Version = 2

// The types of messages, in the field "type" of each line.
const (
	TypeDescribe  = "describe"  // lab → worker: who are you?
	TypeTrial     = "trial"     // lab → worker: do this
	TypeJob       = "job"       // lab → worker: do this on a user's database
	TypeServe     = "serve"     // lab → worker: a trial with http phases, on which the lab puts load
	TypeProceed   = "proceed"   // lab → worker: answer to waiting
	TypeBegin     = "begin"     // lab → worker: the load begins now, or the mix in several processes
	TypeStop      = "stop"      // lab → worker: the load has ended, or the mix in all processes
	TypeInfo      = "info"      // worker → lab: answer to describe
	TypeReady     = "ready"     // worker → lab: opened, with the proof
	TypeWaiting   = "waiting"   // worker → lab: nothing more is done before the order to proceed
	TypeSettings  = "settings"  // worker → lab: the settings in force after the schema, or after a phase
	TypePhase     = "phase"     // worker → lab: a phase begins
	TypeSample    = "sample"    // worker → lab: a timed phase has ended
	TypeInserted  = "inserted"  // worker → lab: what an insert has left in its tables
	TypeLoaded    = "loaded"    // worker → lab: what the tables have when the first phases are done
	TypeListening = "listening" // worker → lab: an http phase can be put under load
	TypeBegun     = "begun"     // worker → lab: answer to begin; what the server uses is measured from now on
	TypeServed    = "served"    // worker → lab: answer to stop, with what the server has used
	TypePrepared  = "prepared"  // worker → lab: a mix in several processes can begin here
	TypeShared    = "shared"    // worker → lab: this process has done its share of the mix
	TypeProgress  = "progress"  // worker → lab: the progress of a job
	TypeResult    = "result"    // worker → lab: a job has ended
	TypeDone      = "done"      // worker → lab: all phases have ended
	TypeFailed    = "failed"    // worker → lab: given up, with the reason
)

// Request is a line from the lab.
type Request struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`

	// For a trial, a server and a job:

	Seed     uint64          `json:"seed"`
	Path     string          `json:"path,omitempty" jsonschema:"minLength=1"` // of the database, which must not exist yet, except for a job or if Loaded is set
	Settings driver.Settings `json:"settings,omitempty"`
	Plan     *plan.Plan      `json:"plan,omitempty"`

	// Load, if not 0, asks for the database that trials begin from: only the schema and
	// the first Load phases, which are untimed, are run. After that the file is the whole
	// database. Loaded, if not 0, says that the database is a copy of such a file: it has
	// the schema, and what the first Loaded phases have left.
	Load   int `json:"load,omitempty"`
	Loaded int `json:"loaded,omitempty"`

	// Process, if not 0, says that the worker is a further process of a trial, which does
	// its share of one mix while others do theirs. The database exists and is in use. The
	// plan has that phase only.
	Process int `json:"process,omitempty"`

	// TypesKnown says that the types of the answers were checked in an earlier trial
	// with this plan, these settings and this seed. They need not be checked again.
	TypesKnown bool `json:"types_known,omitempty"`

	// Brief names phases that this trial need not verify in full, because an earlier one
	// has. A query then has no checksum, and the database is not checked after a mix. A
	// worker may ignore it.
	Brief []string `json:"brief,omitempty"`

	// Alternate asks the worker to wait for the order to proceed before each phase, and
	// before it closes the database, because the phases of two trials alternate. A worker
	// may ignore it.
	Alternate bool `json:"alternate,omitempty"`

	// Environment names environment variables that the worker was started with. The proof
	// must say what came of them.
	Environment []string `json:"environment,omitempty"`

	// Profile asks for profiles of a phase. A worker may ignore it.
	Profile *Profile `json:"profile,omitempty"`

	Job *Job `json:"job,omitempty"` // for a job

	// Listen is, for a server, host:port; if "", a free port on 127.0.0.1.
	Listen string `json:"listen,omitempty"`
}

// FilesAllowed reports whether the SQL of the request may reach files other than its database.
func (req *Request) FilesAllowed() bool {
	if req.Job != nil && req.Job.Answers != nil {
		a := req.Job.Answers
		return a.Files || a.Plan != nil && a.Plan.Files
	}
	return req.Plan != nil && req.Plan.Files
}

// Profile asks a worker to write into a directory where the time of a phase goes. A
// trial with profiles is not measured.
type Profile struct {
	Phase     string `json:"phase" jsonschema:"minLength=1"`
	Directory string `json:"directory" jsonschema:"minLength=1"` // absolute; it exists, and is empty
}

// Stretch is a time during which the clock of a phase ran, by the system's monotonic
// clock (CLOCK_MONOTONIC) in nanoseconds. Both are 0 where the worker cannot read it.
type Stretch struct {
	BeginNS int64 `json:"begin_ns"`
	EndNS   int64 `json:"end_ns"`
}

// StretchesFile is the file in a profile's directory that lists its stretches in JSON.
// Workers in Go also write, for the stretch i, counted from 0, cpu-i.pprof and the
// allocations since the process began: allocs-before-i.pprof and allocs-after-i.pprof.
const StretchesFile = "clock.json"

// Response is a line from the worker.
type Response struct {
	Type     string       `json:"type"`
	Protocol int          `json:"protocol,omitempty"`                         // info, ready
	Info     *driver.Info `json:"info,omitempty"`                             // info
	Proof    *Proof       `json:"proof,omitempty"`                            // info (without connections), ready
	Phase    string       `json:"phase,omitempty" jsonschema:"minLength=1"`   // phase, inserted, listening, begun, prepared, shared; settings: the phase before, or "" after the schema
	Address  string       `json:"address,omitempty" jsonschema:"minLength=1"` // listening: host:port

	// Connections are, for settings, every PRAGMA of the vocabulary, read from each connection
	// of the pool.
	Connections []driver.Settings `json:"connections,omitempty" jsonschema:"minItems=1"`

	Tables   []Inserted `json:"tables,omitempty" jsonschema:"nullable"` // inserted, loaded
	Sample   *Sample    `json:"sample,omitempty"`                       // sample, served
	Progress *Progress  `json:"progress,omitempty"`                     // progress
	Result   *JobResult `json:"result,omitempty"`                       // result, failed
	Reason   *Reason    `json:"reason,omitempty"`                       // failed
}

// Sample is what a worker reports about one phase. The lab checks it and makes its own
// kind of sample from it. A worker does not send what can be computed.
type Sample struct {
	Phase      string `json:"phase" jsonschema:"minLength=1"`
	WallNS     int64  `json:"wall_ns" jsonschema:"minimum=1"`
	UserNS     int64  `json:"user_ns"`
	SystemNS   int64  `json:"system_ns"`
	Operations int64  `json:"operations" jsonschema:"minimum=1"`
	Failed     int64  `json:"failed,omitempty"`
	Rows       int64  `json:"rows"`
	Costs
	Checksum    string       `json:"checksum,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$"`
	Errors      []ErrorCount `json:"errors,omitempty"`
	Results     []ErrorCount `json:"results,omitempty"`
	Retries     int64        `json:"retries,omitempty"`
	Clients     []int64      `json:"clients,omitempty"` // of a mix that lasts: how many operations of each client did not fail
	WALRestarts int64        `json:"wal_restarts,omitempty"`
	BeganUS     int64        `json:"began_us,omitempty"` // of a mix in several processes: when this one's clock started, since 1970
	Waits       []Wait       `json:"waits,omitempty"`    // of a mix or a replay: one for each thing whose waits the worker can tell
	Latency     []Latency    `json:"latency,omitempty"`

	// For a replay: the events that were skipped, because their transaction had failed,
	// and those that did not end as they did when they were recorded: with another number of
	// rows read or affected, with another last insert ID, with another error, or with an error
	// only now or only then. Those that failed because of a lock then, and succeeded now, are
	// counted in Unlocked instead, by their codes of then: they say nothing about the database.
	Skipped   int64        `json:"skipped,omitempty"`
	Different int64        `json:"different,omitempty"`
	Unlocked  []ErrorCount `json:"unlocked,omitempty"`
}

// Costs are what a phase cost besides time. They are counted, and less is better. What each is
// called in answers, and how those of several processes add up, is in package result.
type Costs struct {
	Allocs     int64 `json:"allocs"`      // heap objects, Go's own; 0 where not known
	AllocBytes int64 `json:"alloc_bytes"` // their size

	// Instructions is how many the processor carried out in the programs of the process
	// and its children, not in the kernel. It is 0 where that is not counted.
	Instructions int64 `json:"instructions,omitempty"`

	PeakRSSBytes  int64 `json:"peak_rss_bytes"` // of the process tree, so far in the trial
	DatabaseBytes int64 `json:"database_bytes"` // after the phase
	WALBytes      int64 `json:"wal_bytes"`      // after the phase, before the checkpoint

	CheckpointNS int64 `json:"checkpoint_ns,omitempty"` // after a phase that wrote, in WAL mode
}

// Latency is the distribution of one operation's latency. The lab computes the mean and
// the percentiles.
type Latency struct {
	Operation  string `json:"operation"`
	Count      int64  `json:"count"`
	Failed     int64  `json:"failed,omitempty"`
	EndedEarly int64  `json:"ended_early,omitempty"`
	Histogram  string `json:"histogram"`
}

// Wait is how long the clients of a mix or a replay waited for one thing.
type Wait struct {
	For    string `json:"for" jsonschema:"constants=Wait"`
	Count  int64  `json:"count"`   // of waits
	WaitNS int64  `json:"wait_ns"` // of all of them
}

// What clients wait for. What SQLite itself waits for within a call, such as the lock of
// another connection, no library tells.
const (
	WaitConnection = "connection" // of the pool
	WaitMutex      = "mutex"      // the application's
	WaitRetry      = "retry"      // before an operation is tried again
)

// WaitsFor lists what clients wait for.
func WaitsFor() []string { return []string{WaitConnection, WaitMutex, WaitRetry} }

// Inserted is what a phase has added to a table or, in the answer loaded, how many rows the
// table has.
type Inserted struct {
	Table    string `json:"table"`
	Rows     int64  `json:"rows" jsonschema:"signed"`
	Checksum string `json:"checksum,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$"` // [plan.RowSum] of the requested columns
}

// ErrorCount counts the operations of a phase that ended with one code.
type ErrorCount struct {
	Code   int    `json:"code" jsonschema:"minimum=-1"` // SQLite's extended result code, or driver.CodeCanceled
	Name   string `json:"name"`                         // such as SQLITE_BUSY_SNAPSHOT
	Count  int64  `json:"count"`
	WaitNS int64  `json:"wait_ns"` // spent in these operations

	// Message is what the library said the first time, of a replay's errors of another kind
	// than a lock. It may have a value of the recording in it.
	Message string `json:"message,omitempty"`
}

// MaxMessage is how many bytes a worker sends of a message.
const MaxMessage = 500

// ErrorCounts counts operations by the result code that they ended with.
type ErrorCounts map[int]*ErrorCount

// Add counts operations that ended with a code, and the time spent in them.
func (m ErrorCounts) Add(code int, count, waitNS int64) {
	if m[code] == nil {
		m[code] = &ErrorCount{Code: code, Name: driver.CodeName(code)}
	}
	m[code].Count += count
	m[code].WaitNS += waitNS
}

// Merge adds the counts of other.
func (m ErrorCounts) Merge(other ErrorCounts) {
	for code, e := range other {
		m.Add(code, e.Count, e.WaitNS)
	}
}

// List returns the counts in the order of their codes.
func (m ErrorCounts) List() (list []ErrorCount) {
	for _, code := range slices.Sorted(maps.Keys(m)) {
		list = append(list, *m[code])
	}
	return list
}

// Proof is what a worker read back before the first phase.
type Proof struct {
	Connections    []driver.Settings `json:"connections" jsonschema:"nullable"` // for each pooled connection, all settings that can be read
	SQLiteVersion  string            `json:"sqlite_version"`
	SQLiteSourceID string            `json:"sqlite_source_id"`
	CompileOptions []string          `json:"compile_options" jsonschema:"nullable"`
	Module         string            `json:"module"`         // the measured module, as linked
	ModuleVersion  string            `json:"module_version"` // its version, as linked
	Runtime        string            `json:"runtime"`        // such as go1.26.8

	// Build has flags of the build, as Go's build information names them: -tags,
	// CGO_CFLAGS, GOAMD64, GOARM64, GOEXPERIMENT.
	Build map[string]string `json:"build,omitempty"`

	// Environment has the variables that the request names. For GOGC, GOMEMLIMIT (in
	// bytes) and GOMAXPROCS it has the value that Go's runtime uses, for others the
	// variable's value. A variable that is not set is left out.
	Environment map[string]string `json:"environment,omitempty"`
}

// Reason says why a trial is not OK.
type Reason struct {
	Code    string `json:"code" jsonschema:"minLength=1"` // such as [CodeRows]
	Phase   string `json:"phase,omitempty"`
	Message string `json:"message"`          // one line
	Detail  string `json:"detail,omitempty"` // the end of standard error, build output
	SQLite  int    `json:"sqlite,omitempty"` // SQLite's extended result code, if an error of SQLite's is the cause

	Operation string `json:"operation,omitempty"` // the operation of a mix that failed
	Column    int    `json:"column,omitempty"`    // with [CodeType]: the column of the result, from 1

	// Feature is, with [CodeFeature], the key of what the driver's SQLite
	// lacks (see driver.Features), or the name of the module or function.
	Feature string `json:"feature,omitempty"`

	// Fields are the fields of a job that the message is about, as in [FieldError].
	Fields []Field `json:"fields,omitempty"`
}
