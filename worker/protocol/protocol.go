// Package protocol defines the messages between the lab (the program sqlite3perf) and a worker,
// which runs one driver. Each message is a JSON object on one line. Messages are described in
// docs/worker-protocol.md, and their fields in [Schema].
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
	TypeTrial     = "trial"     // lab → worker: run this trial
	TypeJob       = "job"       // lab → worker: do this job on a database
	TypeServe     = "serve"     // lab → worker: run a trial with http phases, to which the lab sends requests
	TypeProceed   = "proceed"   // lab → worker: answer to "waiting"
	TypeBegin     = "begin"     // lab → worker: the load, or the mix in several processes, begins now
	TypeStop      = "stop"      // lab → worker: the load has ended, or all processes have done their share of the mix
	TypeInfo      = "info"      // worker → lab: answer to "describe"
	TypeReady     = "ready"     // worker → lab: the database is open; this message has the proof of its settings
	TypeWaiting   = "waiting"   // worker → lab: the worker does nothing until the lab sends "proceed"
	TypeSettings  = "settings"  // worker → lab: the settings in force after the schema, or after a phase
	TypePhase     = "phase"     // worker → lab: a phase begins
	TypeSample    = "sample"    // worker → lab: a timed phase has ended
	TypeInserted  = "inserted"  // worker → lab: the rows that an insert has added to its tables
	TypeLoaded    = "loaded"    // worker → lab: how many rows the tables have after the first phases
	TypeListening = "listening" // worker → lab: an http phase can be put under load
	TypeBegun     = "begun"     // worker → lab: answer to "begin"; the worker measures the server from now on
	TypeServed    = "served"    // worker → lab: answer to "stop", with the sample of the server
	TypePrepared  = "prepared"  // worker → lab: this process is ready to begin its share of a mix
	TypeShared    = "shared"    // worker → lab: this process has done its share of the mix
	TypeProgress  = "progress"  // worker → lab: the progress of a job
	TypeResult    = "result"    // worker → lab: a job has ended
	TypeDone      = "done"      // worker → lab: all phases have ended
	TypeFailed    = "failed"    // worker → lab: the worker has given up, with the reason
)

// Request is a line from the lab.
type Request struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`

	// The fields below are for a trial, a server or a job.

	Seed     uint64          `json:"seed"`
	Path     string          `json:"path,omitempty" jsonschema:"minLength=1"` // path of the database; the database must not exist yet, unless this is a job, or Loaded or Process is set
	Settings driver.Settings `json:"settings,omitempty"`
	Plan     *plan.Plan      `json:"plan,omitempty"`

	// Load, if not 0, asks for a database that trials begin with. The worker runs only the
	// schema and the first Load phases, which are untimed. It leaves the database in a single file.
	// Loaded, if not 0, says that the database is a copy of such a file: it has the schema, and
	// the rows of the first Loaded phases.
	Load   int `json:"load,omitempty"`
	Loaded int `json:"loaded,omitempty"`

	// Process is the number of this process in a trial of several processes, counted from 0. If it
	// is not 0, the worker does its share of a mix while the other processes do theirs. The database
	// then exists and is in use, and the mix is the only phase of the plan.
	Process int `json:"process,omitempty"`

	// TypesKnown says that the types of the statements' results were checked in an earlier trial with
	// this plan, these settings and this seed. The worker need not check them again.
	TypesKnown bool `json:"types_known,omitempty"`

	// Brief names phases that this trial need not verify in full, because an earlier trial did. For a
	// query in Brief, the worker computes no checksum. After a mix in Brief, it does not check the
	// database. A worker may ignore Brief.
	Brief []string `json:"brief,omitempty"`

	// Alternate asks the worker to wait for a request of type "proceed" before each phase, and before
	// it closes the database, because the phases of two trials alternate. A worker may ignore
	// Alternate.
	Alternate bool `json:"alternate,omitempty"`

	// Slices asks the worker to measure phases in slices. The key is the name of a phase. The value
	// is the size of a slice. For an insert, and for a query that one client executes once, it is a
	// number of rows. For other phases it is a number of operations. After each slice except the
	// last, the worker stops its clock, sends a response of type "waiting", and goes on when it gets
	// a request of type "proceed". A slice may have a few operations more or fewer, so that it ends
	// between two transactions or statements. A worker may ignore Slices. It ignores Slices for a
	// phase that it must not interrupt, such as a load at a given rate.
	Slices map[string]int64 `json:"slices,omitempty"`

	// Repeats asks the worker to execute some queries several times, although the plan executes
	// them only once. The key is the name of a phase, and the value is the number of executions.
	// The worker waits after every second execution, as between two slices. It waits less often if
	// there are more than 24 executions, or more than 12 with several clients. It may also wait
	// after each execution. If Slices divides the query by rows, it waits only between slices. The
	// sample has the means of all executions, rounded down. A worker may ignore Repeats.
	Repeats map[string]int64 `json:"repeats,omitempty"`

	// Environment names environment variables that the worker was started with. The worker must
	// report their effect in [Proof].Environment.
	Environment []string `json:"environment,omitempty"`

	// Profile asks for profiles of a phase. A worker may ignore Profile.
	Profile *Profile `json:"profile,omitempty"`

	Job *Job `json:"job,omitempty"` // the work to do, in a request of type "job"

	// Listen is the host:port on which a server listens. "" means a free port on 127.0.0.1.
	Listen string `json:"listen,omitempty"`
}

// FilesAllowed reports whether the SQL of the request may reach files other than its database.
func (req *Request) FilesAllowed() bool {
	if req.Job != nil && req.Job.Answers != nil {
		a := req.Job.Answers
		return a.Files || a.Plan != nil && a.Plan.Files
	}
	if req.Job != nil && req.Job.Commit != nil && req.Job.Commit.Plan != nil {
		return req.Job.Commit.Plan.Files || len(req.Job.Commit.Attach) > 0
	}
	if req.Job != nil && req.Job.Judge != nil {
		return req.Job.Judge.Attached
	}
	return req.Plan != nil && req.Plan.Files
}

// Profile asks a worker to profile a phase and to write the profiles into a directory. The
// lab does not use the times of a trial with profiles as measurements.
type Profile struct {
	Phase     string `json:"phase" jsonschema:"minLength=1"`
	Directory string `json:"directory" jsonschema:"minLength=1"` // absolute path of an existing, empty directory
}

// Stretch is a period in which the clock of a phase ran. Both times are read from the system's
// monotonic clock (CLOCK_MONOTONIC). Both are 0 if the worker cannot read that clock.
type Stretch struct {
	BeginNS int64 `json:"begin_ns"`
	EndNS   int64 `json:"end_ns"`
}

// StretchesFile is the file in a profile's directory that lists the stretches of the phase in
// JSON. For stretch i, counted from 0, workers in Go also write a CPU profile, cpu-i.pprof, and
// two profiles of all allocations since the process began: allocs-before-i.pprof, at the start
// of the stretch, and allocs-after-i.pprof, at its end.
const StretchesFile = "clock.json"

// Response is a line from the worker. The comment of a field names the types of responses that
// have the field.
type Response struct {
	Type     string       `json:"type"`
	Protocol int          `json:"protocol,omitempty"`                         // in responses "info" and "ready"
	Info     *driver.Info `json:"info,omitempty"`                             // in response "info"
	Proof    *Proof       `json:"proof,omitempty"`                            // in responses "info" (without connections) and "ready"
	Phase    string       `json:"phase,omitempty" jsonschema:"minLength=1"`   // in responses "phase", "inserted", "listening", "begun", "prepared" and "shared"; in "waiting" the phase that the worker has interrupted, or "" between phases; in "settings" the previous phase, or "" after the schema
	WallNS   int64        `json:"wall_ns,omitempty"`                          // in response "waiting" with a phase: the phase's wall time so far, in all of its slices or executions
	Address  string       `json:"address,omitempty" jsonschema:"minLength=1"` // in response "listening": the server's host:port

	// Connections, in response "settings", has one entry for each connection of the pools, with the
	// value of every setting that is a PRAGMA.
	Connections []driver.Settings `json:"connections,omitempty" jsonschema:"minItems=1"`

	Tables   []Inserted `json:"tables,omitempty" jsonschema:"nullable"` // in responses "inserted" and "loaded"
	Sample   *Sample    `json:"sample,omitempty"`                       // in responses "sample" and "served"
	Progress *Progress  `json:"progress,omitempty"`                     // in response "progress"
	Result   *JobResult `json:"result,omitempty"`                       // in responses "result" and "failed"
	Reason   *Reason    `json:"reason,omitempty"`                       // in response "failed"
}

// Sample has the figures that a worker reports about one phase. The lab checks them, and computes
// from them the sample that it stores. A worker does not send values that the lab can compute from
// other values.
type Sample struct {
	Phase    string `json:"phase" jsonschema:"minLength=1"`
	WallNS   int64  `json:"wall_ns" jsonschema:"minimum=1"`
	UserNS   int64  `json:"user_ns"`
	SystemNS int64  `json:"system_ns"`

	// ColdNS is the part of WallNS by which the first operations of the slices took longer than
	// later operations, because the caches were cold. The lab subtracts it. For each slice except
	// the first, the worker takes the time of the operations in the first third of the slice, and
	// subtracts the average time of the same number of later operations. ColdNS is the sum of these
	// differences, but at most half of WallNS. It is negative if the first operations were faster.
	// If a query is divided by rows, the time before the first row of each execution is left out.
	ColdNS int64 `json:"cold_ns,omitempty" jsonschema:"signed"`

	// FirstRowNS is set only for a query that one client executes once. It is the part of WallNS
	// before the first row. If the query was repeated, it is the time before the first row of the
	// first execution. 0 means that the time is not known.
	FirstRowNS int64 `json:"first_row_ns,omitempty"`

	// Executions is how many times the query was executed because the request has Repeats. A worker
	// that waits between all executions may leave it 0, because the number of waits then shows the
	// number of executions.
	Executions int64 `json:"executions,omitempty"`

	Operations int64 `json:"operations" jsonschema:"minimum=1"`
	Failed     int64 `json:"failed,omitempty"`
	Rows       int64 `json:"rows"`
	Costs
	Checksum    string       `json:"checksum,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$"`
	Errors      []ErrorCount `json:"errors,omitempty"`
	Results     []ErrorCount `json:"results,omitempty"`
	Retries     int64        `json:"retries,omitempty"`
	Clients     []int64      `json:"clients,omitempty"` // mix with a duration: how many operations of each client did not fail
	WALRestarts int64        `json:"wal_restarts,omitempty"`
	BeganUS     int64        `json:"began_us,omitempty"` // mix in several processes: time at which this process's clock started, in µs since 1970
	Waits       []Wait       `json:"waits,omitempty"`    // mix, replay: one entry for each kind of wait, such as for a connection, that the worker can count
	Latency     []Latency    `json:"latency,omitempty"`
	Caches      *Caches      `json:"caches,omitempty"` // how cold the page cache was; set only with the setting cold_caches

	// The next three fields are for a replay. Skipped counts the events that were not run, because
	// their transaction had failed. Different counts the events whose outcome differs from the
	// recorded one: the number of rows read or affected, the last insert ID or the error is
	// different, or there was an error only in the recording or only in the replay. Unlocked
	// counts, by recorded code, the events that failed because of a lock in the recording and
	// succeeded in the replay. Such events say nothing about the database, so Different does not
	// include them.
	Skipped   int64        `json:"skipped,omitempty"`
	Different int64        `json:"different,omitempty"`
	Unlocked  []ErrorCount `json:"unlocked,omitempty"`
}

// Costs are the costs of a phase besides time. For each cost, less is better. Package result has
// the names of the costs in reports, and adds up the costs of several processes.
type Costs struct {
	Allocs     int64 `json:"allocs"`      // heap objects that Go has allocated; 0 if not known
	AllocBytes int64 `json:"alloc_bytes"` // size of these objects in bytes

	// Instructions is how many instructions the processor executed for the process and its
	// children outside the kernel; 0 if they cannot be counted.
	Instructions int64 `json:"instructions,omitempty"`

	PeakRSSBytes  int64 `json:"peak_rss_bytes"` // peak memory of the process and its children, since the trial began
	DatabaseBytes int64 `json:"database_bytes"` // size of the database after the phase
	WALBytes      int64 `json:"wal_bytes"`      // size of the WAL after the phase, before the checkpoint

	// The next three fields are counted only with the setting count_syncs. If Writes is 0, nothing was
	// written or nothing was counted, and Syncs is not known.
	Syncs        int64 `json:"syncs,omitempty"`         // calls that wait for the disk: fsync, fdatasync, sync and syncfs
	Writes       int64 `json:"writes,omitempty"`        // calls that write
	WrittenBytes int64 `json:"written_bytes,omitempty"` // bytes that these calls wrote

	CheckpointNS int64 `json:"checkpoint_ns,omitempty"` // time of the checkpoint after a phase that wrote, in WAL mode
}

// Caches says how cold the system's page cache was when the clock of a phase started, after the
// worker had dropped the database from the page cache.
type Caches struct {
	FileBytes   int64 `json:"file_bytes"`   // size of the database and its write-ahead log
	CachedBytes int64 `json:"cached_bytes"` // part of FileBytes that stayed in the page cache
}

// Share returns the share of the files that stayed in the page cache.
func (c *Caches) Share() float64 {
	if c.FileBytes == 0 {
		return 0
	}
	return float64(c.CachedBytes) / float64(c.FileBytes)
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

// Wait has the number of times, and the total time, that the clients of a mix or a replay waited for a
// connection, for a mutex, or before a retry.
type Wait struct {
	For    string `json:"for" jsonschema:"constants=Wait"`
	Count  int64  `json:"count"`   // number of waits
	WaitNS int64  `json:"wait_ns"` // total time of these waits
}

// Add counts further waits and their total time.
func (w *Wait) Add(count, waitNS int64) {
	w.Count += count
	w.WaitNS += waitNS
}

// The things that clients wait for. No library reports how long SQLite itself waits within a
// call, such as for the lock of another connection.
const (
	WaitConnection = "connection" // a connection of the pool
	WaitMutex      = "mutex"      // the mutex of the application
	WaitRetry      = "retry"      // the pause before an operation is tried again
)

// WaitsFor lists the things that clients wait for.
func WaitsFor() []string { return []string{WaitConnection, WaitMutex, WaitRetry} }

// Inserted describes the rows that a phase has added to a table. In a response of type "loaded", Rows
// is the number of all rows of the table.
type Inserted struct {
	Table    string `json:"table"`
	Rows     int64  `json:"rows" jsonschema:"signed"`
	Checksum string `json:"checksum,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$"` // [plan.RowSum] of the added rows, over the requested columns
}

// ErrorCount counts the operations of a phase that ended with the same code.
type ErrorCount struct {
	Code   int    `json:"code" jsonschema:"minimum=-1"` // SQLite's extended result code, or driver.CodeCanceled
	Name   string `json:"name"`                         // the name of Code, such as SQLITE_BUSY_SNAPSHOT
	Count  int64  `json:"count"`
	WaitNS int64  `json:"wait_ns"` // total time of these operations

	// Message is set only for a replay, and not for lock errors. It is the library's message for
	// the first error with this code. It may contain a recorded value.
	Message string `json:"message,omitempty"`
}

// MaxMessage is the maximum number of bytes of a message that a worker sends.
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

// Merge adds the counts in other to m.
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

// Proof has the values that a worker read back before the first phase.
type Proof struct {
	Connections    []driver.Settings `json:"connections" jsonschema:"nullable"` // for each pooled connection, all settings that can be read
	SQLiteVersion  string            `json:"sqlite_version"`
	SQLiteSourceID string            `json:"sqlite_source_id"`
	CompileOptions []string          `json:"compile_options" jsonschema:"nullable"`
	Module         string            `json:"module"`         // path of the measured module
	ModuleVersion  string            `json:"module_version"` // version of that module in the executable
	Runtime        string            `json:"runtime"`        // version of Go, such as go1.26.8

	// Build has flags of the build, as Go's build information names them: -tags,
	// CGO_CFLAGS, GOAMD64, GOARM64, GOEXPERIMENT.
	Build map[string]string `json:"build,omitempty"`

	// Environment has the values of the variables that the request names. For GOGC, GOMEMLIMIT
	// (in bytes) and GOMAXPROCS these are the values that Go's runtime uses. Other variables
	// are left out if they are not set.
	Environment map[string]string `json:"environment,omitempty"`
}

// Reason says why a trial or a job is not OK.
type Reason struct {
	Code    string `json:"code" jsonschema:"minLength=1"` // a code such as [CodeRows]
	Phase   string `json:"phase,omitempty"`
	Message string `json:"message"`          // what went wrong, in one line
	Detail  string `json:"detail,omitempty"` // the end of the worker's standard error, or the output of the build
	SQLite  int    `json:"sqlite,omitempty"` // SQLite's extended result code if the cause is an error of SQLite

	Operation string `json:"operation,omitempty"` // the operation of a mix that failed
	Column    int    `json:"column,omitempty"`    // with [CodeType]: the column of the result, from 1

	// Feature is set with [CodeFeature]. It is the key of the feature that the driver's SQLite
	// lacks (see driver.Features), or the name of the missing module or function.
	Feature string `json:"feature,omitempty"`

	// Fields are the fields of a job that the message is about, as in [FieldError].
	Fields []Field `json:"fields,omitempty"`
}
