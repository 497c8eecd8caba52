// Package result defines the plain types in which measurements travel from worker to
// lab, into the store, and into reports. Their JSON form is a documented contract. The
// package computes nothing.
package result

import (
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Status is how a trial, or a cell made of trials, ended.
type Status string

// The statuses.
const (
	OK          Status = "ok"
	Refused     Status = "refused"     // a setting did not take effect
	Wrong       Status = "wrong"       // an answer was not the expected one
	Failed      Status = "failed"      // error, crash, hang, out of memory or disk
	Unavailable Status = "unavailable" // the worker could not be built or started
)

// Sample is what one trial measured in one phase.
type Sample struct {
	Phase string `json:"phase"`

	WallNS   int64 `json:"wall_ns"`   // only the driver's work
	UserNS   int64 `json:"user_ns"`   // CPU of the process and its children
	SystemNS int64 `json:"system_ns"` // system CPU time of the same

	// Operations is the divisor of WallNS: rows of a bulk phase, executions of a
	// query, or all operations of a mix or requests, including those that failed.
	Operations int64 `json:"operations"`
	Failed     int64 `json:"failed,omitempty"` // how many of Operations failed
	Rows       int64 `json:"rows"`             // written or read

	Metric string `json:"metric"` // the metric by which the phase is judged, such as [MetricTime]

	protocol.Costs

	// SeenNS is the lab's own time from the phase's beginning to its sample. It
	// includes the wall time, the checkpoint, and everything that the worker does
	// not time.
	SeenNS int64 `json:"seen_ns,omitempty"`

	Checksum string                `json:"checksum,omitempty"` // SHA-256 over every value of the untimed pass
	Errors   []protocol.ErrorCount `json:"errors,omitempty"`   // of the operations that failed
	Results  []protocol.ErrorCount `json:"results,omitempty"`  // errors that operations declare as results; these operations succeeded
	Retries  int64                 `json:"retries,omitempty"`  // attempts at operations after the first one
	Latency  []latency.Summary     `json:"latency,omitempty"`  // by operation
	Load     *Load                 `json:"load,omitempty"`     // of an http phase

	// Clients has how many operations of each client succeeded, in a mix with a duration. It is
	// nil if the worker does not report it.
	Clients []int64 `json:"clients,omitempty"`

	// WALRestarts is how often the write-ahead log was restarted after a checkpoint had copied all
	// of it. It is 0 if the worker does not report it.
	WALRestarts int64 `json:"wal_restarts,omitempty"`

	// ApartNS is the time between the first and the last start of a mix's processes. It is nil if
	// there was only one process, or if a worker does not report it.
	ApartNS *int64 `json:"apart_ns,omitempty"`

	// Waits has how long the clients of a mix or a replay waited, by what they waited for. Waits
	// of SQLite within a call are not included.
	Waits []protocol.Wait `json:"waits,omitempty"`

	// The phase is a replay. Skipped events were not run, because their transaction had failed.
	// Different events did not end as recorded. Unlocked events failed because of a lock when
	// recorded and succeeded now; they are counted by their recorded codes, and are not in
	// Different. Results has the errors that also occurred when recorded.
	Replayed  bool                  `json:"replayed,omitempty"`
	Skipped   int64                 `json:"skipped,omitempty"`
	Different int64                 `json:"different,omitempty"`
	Unlocked  []protocol.ErrorCount `json:"unlocked,omitempty"`
}

// Value returns the phase's metric in seconds, or in seconds per operation.
func (s *Sample) Value() float64 {
	switch s.Metric {
	case MetricTimePerOp:
		return float64(s.WallNS) / 1e9 / float64(max(s.Operations, 1))
	case MetricLatency:
		var worst int64
		for _, l := range s.Latency {
			worst = max(worst, l.P99NS)
		}
		return float64(worst) / 1e9
	default:
		return float64(s.WallNS) / 1e9
	}
}

// Load describes the load of clients in another process on a server. The sample's wall
// time, operations and latencies are those of the clients. Everything else is the
// server's own.
type Load struct {
	Clients   int     `json:"clients"`                 // connections
	Rate      float64 `json:"rate,omitempty"`          // requests per second that were due; 0 for a closed loop
	LateP99NS int64   `json:"late_p99_ns,omitempty"`   // at a fixed rate: how late the load generator itself sent
	Ceiling   float64 `json:"ceiling_per_s,omitempty"` // requests per second that as many clients reach, in a closed loop, from a server that does nothing
}

// Case is workload × driver × settings × parameters.
type Case struct {
	ID       int    `json:"id"` // within its run, from 1
	Workload string `json:"workload"`

	// WorkloadSHA256 is the hash of the workload's text, and of the user's database that it
	// begins with. Older runs have none.
	WorkloadSHA256 string `json:"workload_sha256,omitempty"`

	Scale      string            `json:"scale"`
	Parameters map[string]int64  `json:"parameters,omitempty" jsonschema:"signed"`
	Driver     string            `json:"driver"` // as requested: "mattn@v1.14.22"
	Info       driver.Info       `json:"info"`
	Settings   driver.Settings   `json:"settings" jsonschema:"nullable"` // as requested
	Phases     []string          `json:"phases" jsonschema:"nullable"`   // timed, in order
	Added      []AddedTime       `json:"added,omitempty"`                // what the engine and the driver's adapter add, by phase
	Worker     string            `json:"worker,omitempty"`
	Build      map[string]string `json:"build,omitempty"` // go version, flags, cc; of a checkout its directory and revision

	// Linked has the version of each module that is linked into the worker, apart from
	// sqlite3perf's own, by path. It is nil if that is not known, and in older runs.
	Linked map[string]string `json:"linked,omitempty"`

	// Options are what makes the driver a variant, by key, such as tags and GOGC.
	Options map[string]string `json:"options,omitempty"`

	// Needed are the features that the workload needs and for which a driver that was
	// requested without options is measured as this variant.
	Needed []string `json:"needed,omitempty"`

	// InForce has the settings of each timed phase in which the settings in force
	// differed from those requested, because the workload itself changes them, as it
	// declares.
	InForce map[string]driver.Settings `json:"in_force,omitempty"`

	// Today says that the settings are the workload's present ones, in a run that also tries
	// others.
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

// OwnSettings returns the settings that apply to drivers of a kind: all of them for clusters,
// and for other kinds all except those of clusters.
func OwnSettings(kind driver.Kind, all driver.Settings) driver.Settings {
	s := all.With(nil)
	for _, d := range driver.Vocabulary {
		if d.Cluster && kind != driver.Cluster {
			delete(s, d.Name)
		}
	}
	return s
}

// SettingsIn returns the settings in force at the end of a timed phase.
func (c *Case) SettingsIn(phase string) driver.Settings {
	if s, ok := c.InForce[phase]; ok {
		return s
	}
	return c.Settings
}

// Trial is one process, one database file, one case.
type Trial struct {
	Case    int       `json:"case"`
	Round   int       `json:"round"` // from 1
	Order   int       `json:"order"` // within the run, from 1
	Started time.Time `json:"started"`
	TookNS  int64     `json:"took_ns"`          // from start to end of the process, without waiting for its turn
	Loaded  string    `json:"loaded,omitempty"` // SHA-256 of the loaded database that it began with a copy of; "": it loaded its own
	Status  Status    `json:"status"`

	// Alternated says that the trial's phases alternated with those of the other side of a
	// comparison.
	Alternated bool `json:"alternated,omitempty"`

	Reason   *protocol.Reason `json:"reason,omitempty"`
	Proof    *protocol.Proof  `json:"proof,omitempty"`
	ReadBack *ReadBack        `json:"read_back,omitempty"` // nil unless the trial was refused for it, and in older runs
	Samples  []Sample         `json:"samples,omitempty"`
	Warnings []Warning        `json:"warnings,omitempty"`

	// CPU is nil if there was no process, and in older runs.
	CPU *CPU `json:"cpu,omitempty"`

	// Robbed says that others took more CPU time from the trial than is allowed. The rule for
	// that uses neither the driver nor the times of phases.
	Robbed bool `json:"robbed,omitempty"`

	// Repeated says that the trial does not count, because its case was measured once more
	// in the same round: it was robbed, or it failed and the run was resumed.
	Repeated bool `json:"repeated,omitempty"`
}

// ReadBack has the settings that the connections of a pool read back during a trial, when they
// differed from those wanted. The settings read back at the beginning are in [Trial].Proof.
type ReadBack struct {
	After       string            `json:"after"`       // the phase; "" after the schema
	Wanted      driver.Settings   `json:"wanted"`      // what had to be in force, of the settings that differed on any connection
	Connections []driver.Settings `json:"connections"` // every PRAGMA of the vocabulary, of each connection
}

// CPU is the CPU time that a trial used and that others took from it. Fields that the system
// does not report are nil.
type CPU struct {
	UserNS   int64 `json:"user_ns"` // of the worker and of its children that have ended
	SystemNS int64 `json:"system_ns"`

	// Switches is how often one of their threads had to make way for another thread.
	Switches *int64 `json:"involuntary_switches,omitempty"`

	// WaitedNS is how long threads of the worker were ready to run but waited for a CPU,
	// all together.
	WaitedNS *int64 `json:"waited_ns,omitempty"`

	// StolenNS is how long the hypervisor gave CPUs that had work to other machines.
	StolenNS *int64 `json:"stolen_ns,omitempty"`

	// OthersNS is the CPU time that the programs of other processes used, which are
	// neither the worker nor sqlite3perf.
	OthersNS *int64 `json:"others_ns,omitempty"`
}

// LostNS returns how much CPU time others took from the trial: the stolen time, and the time
// that other processes used while the worker waited for a CPU. An unknown time counts as 0.
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

// Warning reports noise or doubt about a run, a case or a trial.
type Warning struct {
	Code    string `json:"code"` // such as [WarningLoad]
	Message string `json:"message"`
	Case    int    `json:"case,omitempty"`  // 0 for the whole run
	Phase   string `json:"phase,omitempty"` // "" for all phases
	Round   int    `json:"round,omitempty"` // 0 for all rounds

	// Deviation is how far off a time was, as a share of the expected time. If it is
	// positive it took longer. It is 0 for other warnings and in older runs.
	Deviation float64 `json:"deviation,omitempty"`

	// Share is the share of time that a warning is about, as of [WarningSteal]. It is 0
	// for other warnings and in older runs.
	Share float64 `json:"share,omitempty"`
}

// AddedTime is an estimate of what engine and adapter add to a timed phase of a
// case, in nanoseconds: for each operation, and for each row.
type AddedTime struct {
	Phase     string            `json:"phase"`
	Operation estimate.Estimate `json:"operation_ns"`
	Row       estimate.Estimate `json:"row_ns"`
}
