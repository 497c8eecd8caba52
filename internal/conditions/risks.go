package conditions

import (
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Risk is what settings give up for speed.
type Risk struct {
	Settings string `json:"settings"` // such as "journal_mode=wal synchronous=normal"
	CanLose  Loss   `json:"can_lose"`
	Text     string `json:"text"` // when, and what happens then
}

// Loss is what can be lost.
type Loss string

// The losses, the worst first.
const (
	LoseDatabase Loss = "database"        // it can be corrupt, or gone
	LoseRarely   Loss = "database-rarely" // it can be corrupt, but that is very unlikely
	LoseCommits  Loss = "commits"         // the last transactions
	LoseAccess   Loss = "access"          // of all other connections
)

// Losses has the words for each loss, the worst first. The last is no loss in a crash or power
// failure.
var Losses = []struct {
	Loss Loss
	word string // in a table
	Of   string // of the fastest row
	Only string // of the fastest of the rows that can lose less than another
}{
	{LoseDatabase, "database", "can lose the database", ""},
	{LoseRarely, "rarely", "can lose the database, if very rarely", "can lose the database only very rarely"},
	{LoseCommits, "commits", "can lose the last commits", "can lose only the last commits"},
	{LoseAccess, document.Absent, "loses nothing", "loses nothing"},
}

const crash = "if the operating system crashes or the power fails, "

const rarely = "a power failure at just the wrong moment can corrupt the database on an old file system, but that is very unlikely"

// risky has the settings that give up durability or integrity, as documented in
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
	{driver.Settings{"synchronous": "off"}, LoseDatabase, crash + "the database can be corrupt"},
	{driver.Settings{"journal_mode": "delete", "synchronous": "normal"}, LoseRarely, rarely},
	{driver.Settings{"journal_mode": "truncate", "synchronous": "normal"}, LoseRarely, rarely},
	{driver.Settings{"journal_mode": "persist", "synchronous": "normal"}, LoseRarely, rarely},
	{driver.Settings{"journal_mode": "wal", "synchronous": "normal"}, LoseCommits, crash + "the last transactions can be lost; the database stays intact"},
	{driver.Settings{"queued_writes": "on"}, LoseCommits, "writes that a node has acknowledged but not yet done are lost if it ends; the database stays intact"},
	{driver.Settings{"locking_mode": "exclusive"}, LoseAccess, "after its first write, no other connection or program can use the database until this one closes it"},
}

// Risks returns the risks of settings.
func Risks(s driver.Settings) (list []Risk) {
	for _, k := range risky {
		var words []string
		for _, name := range stats.SettingNames(k.when) {
			if s[name] == k.when[name] {
				words = append(words, name+"="+s[name])
			}
		}
		if len(words) < len(k.when) {
			continue
		}
		list = append(list, Risk{strings.Join(words, " "), k.Loss, k.text})
		if k.when["mode"] != "" { // there is no file that a crash could leave
			break
		}
	}
	return list
}

// InForce returns the settings that a case had in a phase, including defaults that were read back.
func InForce(o *stats.Outcome, phase string) driver.Settings {
	s := o.Case.SettingsIn(phase)
	if p := o.Proof(); p != nil {
		s = readBack(p).With(s)
	}
	return s
}

// CanLose names the worst loss that a cell risks.
func CanLose(o *stats.Outcome, phase string) string { return Losses[CellSeverity(o, phase)].word }

// CellSeverity returns the index in [Losses] of the worst that a cell can lose.
func CellSeverity(o *stats.Outcome, phase string) int { return Worst(CellRisks(o, phase)) }

// CellRisks returns the risks of a cell's settings. Settings of the databases of a cluster's nodes
// risk nothing, because its log has all acknowledged writes. Settings of clusters mean nothing to
// other drivers.
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

// Worst returns the index in [Losses] of the worst of some risks.
func Worst(list []Risk) int {
	for i, l := range Losses {
		if slices.ContainsFunc(list, func(r Risk) bool { return r.CanLose == l.Loss }) {
			return i
		}
	}
	return len(Losses) - 1
}

// The values of [Severity].
const (
	NothingLost = iota
	CommitsLost
	RarelyLost
	DatabaseLost
)

// Severity returns how bad the worst loss is that settings risk in a crash or power failure.
func Severity(s driver.Settings) int { return len(Losses) - 1 - Worst(Risks(s)) }

// RunRisks lists the risks of a run's settings. It names their workloads unless all have the risk.
func RunRisks(a *stats.Analysis) (l document.List) {
	var told Groups[Risk, string]
	var workloads []string
	for _, g := range a.Groups {
		for _, o := range g.Outcomes {
			if o.Status != result.OK && o.Proof() == nil { // nothing was in force
				continue
			}
			if !slices.Contains(workloads, g.Workload) {
				workloads = append(workloads, g.Workload)
			}
			for _, p := range o.Case.Phases {
				for _, r := range CellRisks(o, p) {
					if !slices.Contains(told.Of[r], g.Workload) {
						told.Add(r, g.Workload)
					}
				}
			}
		}
	}
	for _, r := range told.Keys {
		it := r.Item()
		if in := told.Of[r]; len(in) < len(workloads) {
			it.Text = strings.Join(in, ", ") + " with " + it.Text
		}
		l = append(l, it)
	}
	return l
}

func (r Risk) Item() document.Item {
	return document.Item{Label: "risk", Text: r.Settings + ": " + r.Text, Alarm: r.CanLose == LoseDatabase}
}

// SideRisks returns the risks that only one side of a comparison has, and those that both have.
func SideRisks(c *stats.Comparison) (differing, shared []Risk) {
	add := func(list *[]Risk, r Risk) {
		if !slices.Contains(*list, r) {
			*list = append(*list, r)
		}
	}
	for _, x := range c.Cells {
		if !x.Measured() {
			continue
		}
		first, second := CellRisks(x.First.Outcome, x.Phase), CellRisks(x.Second.Outcome, x.Phase)
		for _, r := range slices.Concat(first, second) {
			if slices.Contains(first, r) && slices.Contains(second, r) {
				add(&shared, r)
			} else {
				add(&differing, r)
			}
		}
	}
	return differing, shared
}
