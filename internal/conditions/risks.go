package conditions

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Risk is a risk of settings that give up safety for speed: what they can lose, and when.
type Risk struct {
	Settings string `json:"settings"` // the risky settings, such as "journal_mode=wal synchronous=normal"
	CanLose  Loss   `json:"can_lose"`
	Text     string `json:"text"` // when the loss occurs, and what is lost
}

// Loss is a kind of loss that settings can cause.
type Loss string

// The losses, the worst first.
const (
	LoseDatabase Loss = "database"        // the database can be corrupt, or gone
	LoseRarely   Loss = "database-rarely" // the database can be corrupt, but that is very unlikely
	LoseCommits  Loss = "commits"         // the last transactions can be lost
	LoseLast     Loss = "last-commit"     // the last transaction can be lost, if the fault comes just after it
	LoseAccess   Loss = "access"          // all other connections lose access to the database
)

// These numbers say how bad the worst loss is that settings can cause in a crash or power failure.
const (
	NothingLost = iota
	LastCommitLost
	CommitsLost
	RarelyLost
	DatabaseLost
)

// Losses has words for each loss. [NothingLost] is used for [LoseAccess] and for settings without
// risks, because neither loses data in a crash or power failure.
var Losses = [...]struct {
	Loss Loss
	word string // word in a table
	Of   string // says what the settings of the fastest row can lose
	Only string // completes "the fastest that …", for a row that can lose less than the fastest row
}{
	NothingLost:    {LoseAccess, document.Absent, "loses nothing", "loses nothing"},
	LastCommitLost: {LoseLast, "last commit", "can lose the last commit", "can lose only the last commit"},
	CommitsLost:    {LoseCommits, "commits", "can lose the last commits", "can lose only the last commits"},
	RarelyLost:     {LoseRarely, "rarely", "can lose the database, if very rarely", "can lose the database only very rarely"},
	DatabaseLost:   {LoseDatabase, "database", "can lose the database", ""},
}

const crash = " if the operating system crashes or the power fails"

const rarely = "a power failure at just the wrong moment can corrupt the database on an old file system, but that is very unlikely"

// risky lists the settings that give up durability or integrity, as documented in
// https://sqlite.org/pragma.html (synchronous, journal_mode, locking_mode),
// https://sqlite.org/inmemorydb.html and https://rqlite.io/docs/api/queued-writes/.
var risky = []struct {
	when driver.Settings
	Loss
	text string
}{
	{driver.Settings{"mode": "memory"}, LoseDatabase, "the database is only in memory, and is gone when its last connection is closed"},
	{driver.Settings{"journal_mode": "off"}, LoseDatabase, "ROLLBACK does not work, and if the program crashes in a transaction, the database is very likely corrupt"},
	{driver.Settings{"journal_mode": "memory"}, LoseDatabase, "if the program crashes in a transaction, the database is very likely corrupt"},
	{driver.Settings{"synchronous": "off"}, LoseDatabase, "the database can be corrupt" + crash},
	{driver.Settings{"journal_mode": "delete", "synchronous": "normal"}, LoseRarely, rarely},
	{driver.Settings{"journal_mode": "truncate", "synchronous": "normal"}, LoseRarely, rarely},
	{driver.Settings{"journal_mode": "persist", "synchronous": "normal"}, LoseRarely, rarely},
	{driver.Settings{"journal_mode": "wal", "synchronous": "normal"}, LoseCommits, "the last transactions can be lost (the database stays intact)" + crash},
	// SQLite commits by removing the journal. Only with synchronous=extra does it sync the directory after
	// that. Otherwise a power failure can bring the journal back, and the journal then undoes the commit.
	{driver.Settings{"journal_mode": "delete", "synchronous": "full"}, LoseLast, "the last commit can be lost if the power fails just after it; the database stays intact"},
	{driver.Settings{"queued_writes": "on"}, LoseCommits, "writes that a node has acknowledged but not yet done are lost if it ends; the database stays intact"},
	{driver.Settings{"locking_mode": "exclusive"}, LoseAccess, "after its first write, no other connection or program can use the database until this one closes it"},
}

// Risks returns the risks of the settings s.
func Risks(s driver.Settings) (list []Risk) {
	for _, k := range risky {
		if !has(s, k.when) || k.Loss == LoseLast && s["locking_mode"] == "exclusive" { // with locking_mode=exclusive, the journal is not removed
			continue
		}
		list = append(list, Risk{stats.SettingWords(k.when), k.Loss, k.text})
		if k.when["mode"] != "" { // in memory: no file remains, so other settings add no risk
			break
		}
	}
	return list
}

// has reports whether s has all settings in the parameter "other".
func has(s, other driver.Settings) bool {
	for name, value := range other {
		if v, ok := s[name]; !ok || v != value {
			return false
		}
	}
	return true
}

// InForce returns the settings of a case in a phase, including defaults that its connections read
// back.
func InForce(o *stats.Outcome, phase string) driver.Settings {
	s := o.Case.SettingsIn(phase)
	if p := o.Proof(); p != nil {
		s = readBack(p).With(s)
	}
	return s
}

// CanLose names the worst loss that the settings of a case can cause in a phase.
func CanLose(o *stats.Outcome, phase string) string { return Losses[CellSeverity(o, phase)].word }

// CellSeverity is [Severity] for the settings of a case in a phase.
func CellSeverity(o *stats.Outcome, phase string) int { return Worst(CellRisks(o, phase)) }

// CellRisks returns the risks of the settings of a case in a phase. For clusters it ignores the
// settings of the nodes' databases, which risk nothing because the cluster's log has all
// acknowledged writes. For other drivers it ignores the settings of clusters.
func CellRisks(o *stats.Outcome, phase string) []Risk {
	kind := o.Case.Info.Kind
	s := result.OwnSettings(kind, InForce(o, phase))
	for _, d := range driver.Vocabulary {
		if kind == driver.Cluster && d.Pragma {
			delete(s, d.Name)
		}
	}
	return Risks(s)
}

// Worst returns the index in [Losses] of the worst loss among the risks in a list. If the list is
// empty, it returns [NothingLost].
func Worst(list []Risk) (worst int) {
	for i, l := range Losses {
		if slices.ContainsFunc(list, func(r Risk) bool { return r.CanLose == l.Loss }) {
			worst = i
		}
	}
	return worst
}

// Severity returns how bad the worst loss is that settings can cause in a crash or power failure.
// It is one of the constants from [NothingLost] to [DatabaseLost].
func Severity(s driver.Settings) int { return Worst(Risks(s)) }

// RunRisks lists the risks of a run's settings, and returns a caveat for each item of the list. If
// only some workloads have a risk, the item names these workloads. If all drivers have a risk, the
// item says so, because then no choice of a driver avoids the risk.
func RunRisks(a *stats.Analysis) (l document.List, caveats []Caveat) {
	var told Groups[Risk, string]
	var workloads []string
	some := map[Risk]bool{} // risks that only some drivers of a group have, or that occur in a group with only one driver
	for _, g := range a.Groups {
		var drivers Groups[Risk, string]
		all := map[string]bool{}
		for _, o := range g.Outcomes {
			if o.Status != result.OK && o.Proof() == nil { // the case's worker reported nothing, so no settings are known to be in force
				continue
			}
			workloads = distinct.Append(workloads, g.Workload)
			all[o.Case.Driver] = true
			for _, p := range o.Case.Phases {
				for _, r := range CellRisks(o, p) {
					AddOnce(&told, r, g.Workload)
					AddOnce(&drivers, r, o.Case.Driver)
				}
			}
		}
		for _, r := range drivers.Keys {
			some[r] = some[r] || len(drivers.Of[r]) < max(len(all), 2)
		}
	}
	for _, r := range told.Keys {
		in := told.Of[r]
		if len(in) == len(workloads) {
			in = nil
		}
		it := r.item(!some[r], in)
		l = append(l, it)
		caveats = append(caveats, Caveat{Code: r.caveat(), Count: 1, Text: it.Text})
	}
	return l, caveats
}

// caveat returns the code of the risk's warning.
func (r Risk) caveat() string {
	if r.CanLose == LoseLast {
		return CaveatRiskLast
	}
	return CaveatRisk
}

// Item returns the warning of a risk: the settings, and what can be lost.
func (r Risk) Item() document.Item { return r.item(false, nil) }

// item returns the warning of a risk. It begins with the settings, because they are the cause. The
// parameter "always" is true if no choice of a driver avoids the risk. The parameter "workloads"
// has the workloads to name; the short form of the warning only counts them.
func (r Risk) item(always bool, workloads []string) document.Item {
	head, tail, short := "with "+r.Settings, "", ""
	if always {
		head += ", whatever the driver"
	}
	if workloads != nil {
		tail = " (as in " + document.And(workloads) + ")"
		short = fmt.Sprintf(" (in %s)", document.Counted(int64(len(workloads)), "workload"))
	}
	it := KindOf(r.caveat()).Item(head + ": " + r.Text + tail)
	it.Short[0] = head + ": " + r.Text + short
	it.Alarm = r.CanLose == LoseDatabase
	return it
}

// SideRisks returns the risks that only one side of a comparison has, and the risks that both
// sides have.
func SideRisks(c *stats.Comparison) (differing, shared []Risk) {
	for _, x := range c.Cells {
		if !x.Measured() {
			continue
		}
		first, second := CellRisks(x.First.Outcome, x.Phase), CellRisks(x.Second.Outcome, x.Phase)
		for _, r := range slices.Concat(first, second) {
			if slices.Contains(first, r) && slices.Contains(second, r) {
				shared = distinct.Append(shared, r)
			} else {
				differing = distinct.Append(differing, r)
			}
		}
	}
	return differing, shared
}
