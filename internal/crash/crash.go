// Package crash says which committed transactions survive a fault, with which driver and settings,
// and what that costs. It records once what a driver does to its files. From the recording it
// computes what a disk can hold after a fault at each point (package disk). Then it lets the driver
// and plain C open and judge each of these states. Package record says how the recording works.
package crash

import (
	"fmt"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// PlainC is the driver that judges what is left after a fault. It is SQLite's C code without a library.
const PlainC = "native"

// Grade says what is lost after a fault, in the worst case.
type Grade string

// The grades, from the best to the worst.
const (
	Kept   Grade = "kept"   // every acknowledged transaction survives, and the database is intact
	Lost   Grade = "lost"   // the last acknowledged transactions are lost; the database is intact
	Broken Grade = "broken" // the database is damaged, or has a part of a transaction
)

func (g Grade) rank() int { return map[Grade]int{Kept: 0, Lost: 1, Broken: 2}[g] }

// Fault is a kind of fault, such as a power cut or failing system calls.
type Fault string

// The kinds of faults. The first three are defined by the models of package disk with the same
// names.
const (
	Kill    = Fault(disk.Kill)
	Ordered = Fault(disk.Ordered)
	Posix   = Fault(disk.Posix)
	Errors  = Fault("errors") // system calls fail with EIO or ENOSPC, and then the process is killed or the power fails (model ordered)
	Shared  = Fault("shared") // another process, with another driver, writes to the database and checkpoints it at the same time
	Cancel  = Fault("cancel") // the contexts of transactions end at random times
)

// Faults lists the kinds of faults.
var Faults = []Fault{Kill, Ordered, Posix, Errors, Shared, Cancel}

// LiveFaults lists the faults that need no recording, because they happen to running processes.
var LiveFaults = []Fault{Kill, Shared, Cancel}

// Crashes is the result of an exploration: which data survives which fault.
type Crashes struct {
	Workload     string   `json:"workload"`
	Transactions int      `json:"transactions"`     // number of transactions in each recording
	States       int      `json:"states"`           // number of states of the disk to judge for each fault
	Attach       []string `json:"attach,omitempty"` // tables that are in an attached database
	Seed         uint64   `json:"seed"`
	Faults       []Fault  `json:"faults"`
	Judges       []string `json:"judges"` // the drivers that judge each state of the disk, besides the driver that wrote it
	Proofs       []Proof  `json:"proofs"`
	Cells        []Cell   `json:"cells"`
	Unrecorded   string   `json:"unrecorded,omitempty"` // why file operations could not be recorded; "" if they were recorded

	Machine  result.Machine   `json:"-"`
	Warnings []result.Warning `json:"-"`
}

// Proof is a check of this package itself, made before it judges any driver. For example, if the syncs are
// removed from the recording of a driver's writes, the package must notice that transactions are lost.
type Proof struct {
	Name   string `json:"name"`
	Want   Grade  `json:"want"`
	AtBest bool   `json:"or_worse"` // the proof also holds if the grade is worse than Want
	Found  Grade  `json:"found"`
	States int    `json:"states"`
}

// Cell is what survives a fault with one driver and one combination of settings.
type Cell struct {
	Driver        string          `json:"driver"`
	Module        string          `json:"module,omitempty"` // path of the library's module
	ModuleVersion string          `json:"module_version,omitempty"`
	SQLiteVersion string          `json:"sqlite_version,omitempty"`
	Settings      driver.Settings `json:"settings"`           // settings that were asked for
	InForce       driver.Settings `json:"in_force"`           // settings that were read back
	Attached      bool            `json:"attached,omitempty"` // some tables are in an attached database
	Own           bool            `json:"own,omitempty"`      // the user set neither journal_mode nor synchronous, so the driver's defaults are in force

	Cost     trace.Cost         `json:"cost"`
	CommitNS int64              `json:"commit_ns,omitempty"` // median time per transaction, on the real disk and without a recording; 0 if not measured
	Results  map[Fault]*Outcome `json:"results,omitempty"`
	Differs  int                `json:"differs,omitempty"` // number of the first transaction after which the database differs from the first judge's database, although there was no fault; 0 if the databases never differ
	Reason   string             `json:"reason,omitempty"`  // why there are no results; "" if there are results
	Recorded Recorded           `json:"recorded"`
}

// Recorded says what the recording of a cell's transactions cost.
type Recorded struct {
	Operations int     `json:"operations"`
	Slower     float64 `json:"slower,omitempty"` // time per transaction with recording, divided by the time without recording; 0 if not known
	JudgedNS   int64   `json:"judged_ns"`        // time that the judging of all states took
	Judgments  int     `json:"judgments"`
}

// Outcome is what was found in the states of the disk after one kind of fault.
type Outcome struct {
	States   int       `json:"states"` // number of different states that were judged
	Lost     int       `json:"lost"`   // number of states in which transactions are lost, but nothing is damaged
	Broken   int       `json:"broken"`
	MostLost int       `json:"most_lost"`         // the greatest number of acknowledged transactions that are lost in one state
	Failing  []Failure `json:"failing,omitempty"` // some of the states that are lost or broken, the worst first
	Runs     int       `json:"runs,omitempty"`    // how many times the transactions were run for this fault, not counting the recording; with kill, how many times the process was really killed
	Refused  int       `json:"refused,omitempty"` // number of failed attempts to run a transaction
	Others   int64     `json:"others,omitempty"`  // number of rows that another process inserted at the same time
	Trouble  string    `json:"trouble,omitempty"` // what went wrong besides lost or damaged data, such as a transaction that was left open; "" if nothing went wrong
}

// Grade returns the worst grade of all states.
func (o *Outcome) Grade() Grade {
	switch {
	case o.Broken > 0:
		return Broken
	case o.Lost > 0:
		return Lost
	}
	return Kept
}

// Failure describes a state in which something is lost or broken.
type Failure struct {
	Grade        Grade         `json:"grade"`
	Judge        string        `json:"judge"` // the driver that found the failure
	Why          string        `json:"why"`
	Fault        Fault         `json:"fault"`
	Model        disk.Model    `json:"model,omitempty"`
	Injected     *record.Fault `json:"injected,omitempty"`
	Boundary     int           `json:"boundary"`       // index of an operation of the recording; the fault is just before it
	Operation    string        `json:"operation"`      // describes the operation with the index Boundary
	Persisted    string        `json:"persisted"`      // which of the changes that were not synced yet persist, in words
	Acknowledged int           `json:"acknowledged"`   // number of the last transaction that was acknowledged before the fault
	Found        int64         `json:"found"`          // number of the last transaction that was found in the database
	Kept         string        `json:"kept,omitempty"` // directory with the files of the state; "" if they are not kept
}

// documentedFor returns the worst grade that is possible with the settings according to SQLite's
// documentation. It uses the table of risks in package conditions. The documentation promises
// nothing for a disk that reports errors. If only the process is killed, data is at risk only if
// the journal is not in a file.
func documentedFor(s driver.Settings, f Fault) Grade {
	switch severity := conditions.Severity(s); {
	case f == Errors:
		return Broken
	case f == Shared || f == Cancel, severity == conditions.NothingLost:
		return Kept
	case f == Kill && !ofServer(s) && s["journal_mode"] != "off" && s["journal_mode"] != "memory":
		return Kept
	case severity <= conditions.CommitsLost:
		return Lost
	}
	return Broken
}

// documented returns the worst grade that is possible for the cell according to SQLite's
// documentation. A transaction over several files is atomic only with a rollback journal in a file. It is
// not atomic with WAL, or with a journal in memory (https://www.sqlite.org/lang_attach.html).
func (c *Cell) documented(f Fault) Grade {
	mode := c.InForce["journal_mode"]
	if c.Attached && (f == Kill || f == Ordered || f == Posix) && (mode == "wal" || mode == "memory" || mode == "off") {
		return Broken
	}
	return documentedFor(c.InForce, f)
}

// unexpected returns the faults after which a cell is worse than SQLite's documentation says.
func (c *Cell) unexpected() (list []Fault) {
	for _, f := range Faults {
		if o := c.Results[f]; o != nil && o.Grade().rank() > c.documented(f).rank() {
			list = append(list, f)
		}
	}
	return list
}

// defects returns the IDs of the known defects of a cell's library that can lose or damage data.
// Defects of SQLite itself are left out, because most libraries share them.
func (c *Cell) defects() []string {
	return c.defectsThat(func(d *defects.Defect) bool { return d.Effect == defects.Corruption || d.Effect == defects.LostWrites })
}

// defectsThat returns the IDs of the known defects of a cell's library for which the function "may"
// returns true.
func (c *Cell) defectsThat(may func(*defects.Defect) bool) (ids []string) {
	for _, d := range defects.Known(defects.Library{Module: c.Module, Version: c.ModuleVersion, SQLite: c.SQLiteVersion}) {
		if d.Of != defects.OfSQLite && may(&d) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// withDefects adds to a driver's name the IDs of known defects that may explain its failures.
func withDefects(name string, ids []string) string {
	if ids == nil {
		return name
	}
	return fmt.Sprintf("%s (known defect: %s)", name, document.And(ids))
}

// worst returns the worst grade after all faults except [Errors].
func (c *Cell) worst() Grade {
	worst := Kept
	for f, o := range c.Results {
		if g := o.Grade(); f != Errors && g.rank() > worst.rank() {
			worst = g
		}
	}
	return worst
}

// expectation is what a database must contain after a fault: the hash of all tables after each
// transaction, beginning with transaction 0.
type expectation []string

// grade judges what a driver found in a state of the disk. The parameter "others" has the least and
// the greatest number of rows that another process can have inserted. It is nil if there was no
// other process.
func (x expectation) grade(acknowledged int, others []int64, j *protocol.JudgedState) (Grade, string) {
	k := j.Transaction
	switch {
	case j.Error != "":
		return Broken, "it cannot be read: " + j.Error
	case len(j.Integrity) > 0:
		return Broken, "integrity_check: " + strings.Join(j.Integrity, "; ")
	case j.ForeignKeys > 0:
		return Broken, fmt.Sprintf("foreign_key_check: %d rows", j.ForeignKeys)
	case k < 0:
		return Lost, "it has no tables"
	case int(k) >= len(x) || int(k) > acknowledged+1:
		return Broken, fmt.Sprintf("it is after transaction %d, which had not begun", k)
	case others != nil && (j.Others < others[0] || j.Others > others[1]):
		return Broken, fmt.Sprintf("the other process inserted %d rows, and %d are there", others[0], j.Others)
	case j.Digest != x[k]:
		return Broken, fmt.Sprintf("its content is not that after transaction %d, nor after another one: a part of a transaction", k)
	case j.Unwritable != "":
		return Broken, "it cannot be written: " + j.Unwritable
	case int(k) < acknowledged:
		return Lost, fmt.Sprintf("it is after transaction %d, and %d was acknowledged", k, acknowledged)
	}
	return Kept, ""
}

// median returns the median of times in nanoseconds, or 0 if there are none.
func median(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	return int64(stats.Summarize(document.Map(list, func(v int64) float64 { return float64(v) })).Median)
}
