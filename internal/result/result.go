// Package result defines plain types for measurements. Values of these types carry what workers
// measure to the lab, to the store and to reports. Their JSON form is a documented contract. All
// statistics are in package stats.
package result

import (
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Status says how a trial, or a case with all its trials, ended.
type Status string

// The statuses.
const (
	OK          Status = "ok"
	Refused     Status = "refused"     // a setting of the trial did not take effect
	Wrong       Status = "wrong"       // a statement returned something other than expected
	Failed      Status = "failed"      // the worker had an error, crashed, hung, or had no memory or disk space left
	Unavailable Status = "unavailable" // the worker could not be built or started
)

// Sample has the measurements of one trial in one phase.
type Sample struct {
	Phase string `json:"phase"`

	WallNS   int64 `json:"wall_ns"`   // wall time of the driver's work only
	UserNS   int64 `json:"user_ns"`   // user CPU time of the process and its children
	SystemNS int64 `json:"system_ns"` // system CPU time of the process and its children

	// Operations is the number by which WallNS is divided: the rows of a bulk phase, the
	// executions of a query, the operations of a mix, or the requests of an http phase. Failed
	// operations are included.
	Operations int64 `json:"operations"`
	Failed     int64 `json:"failed,omitempty"` // how many of Operations failed
	Rows       int64 `json:"rows"`             // rows that the phase wrote or read

	Metric string `json:"metric"` // the metric by which the phase is judged, such as [MetricTime]

	protocol.Costs

	// SeenNS is the time from the phase's beginning to its sample, by the clock of the process that
	// started the worker. It includes the wall time, the checkpoint, and everything that the worker
	// does not time.
	SeenNS int64 `json:"seen_ns,omitempty"`

	// Slices is the number of slices (parts) into which the phase was divided, so that several
	// trials could take turns. It is 0 if the phase was measured in one piece.
	Slices int64 `json:"slices,omitempty"`

	// SliceNS is the wall time of each slice, in order. If a query was repeated, and Slices is 0, it
	// is the wall time of each execution. It is nil if the worker does not report it.
	SliceNS []int64 `json:"slice_ns,omitempty"`

	// ColdNS is the additional time that the slices (parts of the phase) took because each of them
	// began with cold caches. It is not part of WallNS. It is an estimate, which can be negative.
	ColdNS int64 `json:"cold_ns,omitempty" jsonschema:"signed"`

	// FirstRowNS is the time until a query had its first row. It is 0 if it is not known, if the phase
	// has several executions or clients, and for phases that are not queries.
	FirstRowNS int64 `json:"first_row_ns,omitempty"`

	// Repeats is for a phase that normally executes a query once, but repeated it so that several
	// trials could take turns. It is the number of executions, and the sample's figures are means
	// per execution. It is 0 for other phases.
	Repeats int64 `json:"repeats,omitempty"`

	Checksum string                `json:"checksum,omitempty"` // SHA-256 of every value that the phase read in an extra, untimed execution
	Errors   []protocol.ErrorCount `json:"errors,omitempty"`   // errors of the operations that failed
	Results  []protocol.ErrorCount `json:"results,omitempty"`  // errors that the workload declares to be results of operations; these operations succeeded
	Retries  int64                 `json:"retries,omitempty"`  // number of attempts after the first one, summed over all operations
	Latency  []latency.Summary     `json:"latency,omitempty"`  // latencies of each kind of operation
	Load     *Load                 `json:"load,omitempty"`     // load of an http phase; nil for other phases

	// Clients has the number of successful operations of each client. It is set for a mix phase
	// with a duration, if the worker reports it; otherwise it is nil.
	Clients []int64 `json:"clients,omitempty"`

	// WALRestarts is how often SQLite restarted the write-ahead log after a checkpoint had
	// copied all of it. It is 0 if the worker does not report it.
	WALRestarts int64 `json:"wal_restarts,omitempty"`

	// ApartNS is the time between the first and the last start of the processes of a mix phase. It
	// is nil if the phase had only one process, or if a worker does not report it.
	ApartNS *int64 `json:"apart_ns,omitempty"`

	// Waits has the time that the clients of a mix or a replay waited, for each cause. Time that
	// SQLite waits within a call is not included.
	Waits []protocol.Wait `json:"waits,omitempty"`

	// Caches says how cold the page cache was when the phase began. It is set only if the setting cold_caches
	// is on. Otherwise it is nil.
	Caches *protocol.Caches `json:"caches,omitempty"`

	// Replayed says that the phase replays a recording. The next three fields count recorded
	// events. Skipped counts the events that were not run, because their transaction had failed.
	// Different counts the events that ended differently than in the recording. Unlocked counts the
	// events that succeeded although a lock made them fail in the recording, by recorded error
	// code; Different does not include these. In a replay, the field Results has the errors that
	// occurred both in the recording and in the replay.
	Replayed  bool                  `json:"replayed,omitempty"`
	Skipped   int64                 `json:"skipped,omitempty"`
	Different int64                 `json:"different,omitempty"`
	Unlocked  []protocol.ErrorCount `json:"unlocked,omitempty"`
}

// Value returns the sample's value of its Metric: in seconds per operation for [MetricTimePerOp],
// and otherwise in seconds. For [MetricLatency] it is the greatest 99th percentile in s.Latency.
func (s *Sample) Value() float64 {
	switch s.Metric {
	case MetricTimePerOp:
		return float64(s.WallNS) / 1e9 / float64(max(s.Operations, 1))
	case MetricLatency:
		return s.SlowestP99()
	default:
		return float64(s.WallNS) / 1e9
	}
}

// Unit returns the unit of the sample's value.
func (s *Sample) Unit() string {
	if s.Metric == MetricTimePerOp {
		return "s/op"
	}
	return "s"
}

// Slowest returns the kind of operations that has the greatest 99th percentile. It returns nil if the
// sample has no latencies.
func (s *Sample) Slowest() (worst *latency.Summary) {
	for i := range s.Latency {
		if l := &s.Latency[i]; worst == nil || l.P99NS > worst.P99NS {
			worst = l
		}
	}
	return worst
}

// WorstLatency returns the greatest value of a figure of the sample's latencies, such as a percentile, over
// all kinds of operations. It returns 0 without latencies.
func (s *Sample) WorstLatency(of func(*latency.Summary) int64) (worst int64) {
	for i := range s.Latency {
		worst = max(worst, of(&s.Latency[i]))
	}
	return worst
}

// SlowestP99 returns the 99th percentile of [Sample.Slowest] in seconds, or 0 without latencies.
func (s *Sample) SlowestP99() float64 {
	return float64(s.WorstLatency(func(l *latency.Summary) int64 { return l.P99NS })) / 1e9
}

// Load describes the load that clients in another process put on a server. The sample's wall
// time, operations and latencies are figures of the clients. All its other figures are figures
// of the server.
type Load struct {
	Clients   int     `json:"clients"`                 // number of clients, each with its own connection
	Rate      float64 `json:"rate,omitempty"`          // requested rate, in requests per second; 0 if each client sends as soon as it has an answer
	LateP99NS int64   `json:"late_p99_ns,omitempty"`   // 99th percentile of the time by which the load generator itself sent too late; 0 without a fixed rate
	Ceiling   float64 `json:"ceiling_per_s,omitempty"` // requests per second that the same number of clients reaches with a server that does nothing, if each client sends as soon as it has an answer
}

// Case is a combination of a workload, a driver, settings and parameters.
type Case struct {
	ID       int    `json:"id"` // number of the case within its run, from 1
	Workload string `json:"workload"`

	// WorkloadSHA256 is the hash of the workload's text and of the user's database that the
	// workload begins with, if any. It is "" in older runs.
	WorkloadSHA256 string `json:"workload_sha256,omitempty"`

	Scale      string            `json:"scale"`
	Parameters map[string]int64  `json:"parameters,omitempty" jsonschema:"signed"`
	Driver     string            `json:"driver"` // the driver as the user requested it: "mattn@v1.14.22"
	Info       driver.Info       `json:"info"`
	Settings   driver.Settings   `json:"settings" jsonschema:"nullable"` // settings as requested; the settings in force may differ, see InForce
	Phases     []string          `json:"phases" jsonschema:"nullable"`   // names of the timed phases, in order
	Expects    []Expectation     `json:"expects,omitempty"`              // what the workload expects of its timed phases
	Added      []AddedTime       `json:"added,omitempty"`                // time that sqlite3perf's own code and the driver's adapter add, by phase
	Worker     string            `json:"worker,omitempty"`
	Build      map[string]string `json:"build,omitempty"` // how the worker was built: Go version, flags, C compiler; for a checkout also its directory and revision

	// Linked has the version of each module that is linked into the worker, by the module's
	// path. sqlite3perf's own modules are left out. It is nil in older runs, and if the modules
	// are not known.
	Linked map[string]string `json:"linked,omitempty"`

	// Options has the build options and run options of this variant of the driver, by key, such as
	// tags and GOGC.
	Options map[string]string `json:"options,omitempty"`

	// Needed lists the features of the workload for which sqlite3perf chose this variant of the
	// driver, if the user named the driver without options.
	Needed []string `json:"needed,omitempty"`

	// InForce has the settings that were in force at the end of a timed phase, by name of the
	// phase. It has only phases in which they differed from the requested settings. They may differ
	// only because the workload declares that it changes them.
	InForce map[string]driver.Settings `json:"in_force,omitempty"`

	// Today says that the case has the workload's own settings. It is used in runs that also try other
	// settings.
	Today bool `json:"today,omitempty"`
}

// BaseDriver returns the name of a driver without its version, options or directory: mattn for
// mattn@v1.14.22, mattn:GOGC=400 and mattn=../go-sqlite3.
func BaseDriver(driver string) string {
	if i := strings.IndexAny(driver, "@:="); i >= 0 && !strings.ContainsAny(driver[:i], `/\`) {
		return driver[:i]
	}
	return driver
}

// OwnSettings returns the settings that apply to drivers of the given kind. For clusters these
// are all settings. For other kinds, settings of clusters are removed.
func OwnSettings(kind driver.Kind, all driver.Settings) driver.Settings {
	s := all.With(nil)
	for _, d := range driver.Vocabulary {
		if d.Cluster && kind != driver.Cluster {
			delete(s, d.Name)
		}
	}
	return s
}

// SettingsIn returns the settings in force at the end of a timed phase of the case.
func (c *Case) SettingsIn(phase string) driver.Settings {
	if s, ok := c.InForce[phase]; ok {
		return s
	}
	return c.Settings
}

// Trial is one execution of a case, by one new process on its own database.
type Trial struct {
	Case    int       `json:"case"`
	Round   int       `json:"round"` // round of the trial, from 1
	Order   int       `json:"order"` // number of the trial within the run, from 1
	Started time.Time `json:"started"`
	TookNS  int64     `json:"took_ns"`          // from start to end of the worker's process, without the time it waited for its turn
	Loaded  string    `json:"loaded,omitempty"` // SHA-256 of the prepared database whose copy the trial began with; "" if the trial loaded its own
	Status  Status    `json:"status"`

	// Alternated says that the trial took turns with other trials of the same work: only one of
	// them worked at a time, until its phase or a slice (part) of the phase ended.
	Alternated bool `json:"alternated,omitempty"`

	Reason   *protocol.Reason `json:"reason,omitempty"`
	Proof    *protocol.Proof  `json:"proof,omitempty"`
	ReadBack *ReadBack        `json:"read_back,omitempty"` // settings that connections read back during the trial, if the trial was refused because of them; otherwise, and in older runs, nil
	Samples  []Sample         `json:"samples,omitempty"`
	Warnings []Warning        `json:"warnings,omitempty"`

	// CPU has the CPU time that the trial used, and the CPU time that others took from it. It is nil if the
	// trial had no process, and in older runs.
	CPU *CPU `json:"cpu,omitempty"`

	// Robbed says that other processes or machines took too much CPU time from the trial: more than
	// the share [RobbedShare] of its duration. This rule depends neither on the driver nor on the
	// times of phases.
	Robbed bool `json:"robbed,omitempty"`

	// Repeated says that the trial does not count, because its case was measured once more in the
	// same round. Either other processes took CPU time from the trial (see Robbed), or the trial
	// failed and the run was resumed.
	Repeated bool `json:"repeated,omitempty"`
}

// ReadBack has settings that the connections of a pool read back during a trial and that differed
// from the wanted settings. Settings read back at the beginning of a trial are in [Trial].Proof.
type ReadBack struct {
	After       string            `json:"after"`       // the phase after which the settings were read back; "" if that was after the schema
	Wanted      driver.Settings   `json:"wanted"`      // wanted values of those settings that differed on any connection
	Connections []driver.Settings `json:"connections"` // values of every known PRAGMA, for each connection
}

// CPU has the CPU time that a trial used and the CPU time that others took from it. Fields that
// the system does not report are nil.
type CPU struct {
	UserNS   int64 `json:"user_ns"` // user CPU time of the worker and of its children that have ended
	SystemNS int64 `json:"system_ns"`

	// Switches is how often a thread of the worker or of its children had to make way for
	// another thread.
	Switches *int64 `json:"involuntary_switches,omitempty"`

	// WaitedNS is the time in which threads of the worker were ready to run but waited for a
	// CPU. It is the sum over the threads.
	WaitedNS *int64 `json:"waited_ns,omitempty"`

	// StolenNS is the time in which the hypervisor gave CPUs to other machines although this
	// machine had work for them.
	StolenNS *int64 `json:"stolen_ns,omitempty"`

	// OthersNS is the CPU time of all processes except the worker and sqlite3perf.
	OthersNS *int64 `json:"others_ns,omitempty"`
}

// LostNS returns how much CPU time the trial lost to others. It is the sum of the stolen time
// and of the CPU time that other processes used while the worker waited for a CPU. An unknown
// time counts as 0.
func (c *CPU) LostNS() int64 {
	lost := int64(0)
	if c.StolenNS != nil {
		lost = *c.StolenNS
	}
	if c.WaitedNS != nil && c.OthersNS != nil {
		lost += min(*c.WaitedNS, *c.OthersNS)
	}
	return lost
}

// Warning describes something that makes the figures of a run, a case or a trial doubtful.
type Warning struct {
	Code    string `json:"code"` // kind of warning, such as [WarningLoad]
	Message string `json:"message"`
	Case    int    `json:"case,omitempty"`  // ID of the case; 0 if the warning is about the run, not about one case
	Phase   string `json:"phase,omitempty"` // name of the phase; "" for all phases
	Round   int    `json:"round,omitempty"` // number of the round; 0 for all rounds

	// Deviation is the difference between a time and the expected time, as a share of the expected
	// time. It is positive if the time was longer. It is 0 for warnings that are not about a time,
	// and in older runs.
	Deviation float64 `json:"deviation,omitempty"`

	// Share is the share of time that the warning is about, such as the stolen share for
	// [WarningSteal]. It is 0 for warnings that are not about a share, and in older runs.
	Share float64 `json:"share,omitempty"`
}

// AddedTime estimates the time that sqlite3perf's own code and the driver's adapter add to a timed phase of
// a case. The estimates are in nanoseconds, for each operation and for each row.
type AddedTime struct {
	Phase     string            `json:"phase"`
	Operation estimate.Estimate `json:"operation_ns"`
	Row       estimate.Estimate `json:"row_ns"`
}
