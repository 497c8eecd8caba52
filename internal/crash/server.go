package crash

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// server reports whether the driver keeps its database in a server. To judge a state of the disk,
// such a server must be started, because no other driver can open its files.
func (p *Planned) server() bool { return p.Ref.Kind() == driver.Cluster }

// faults returns the given faults that are explored with the driver.
func (p *Planned) faults(all []Fault) []Fault {
	if !p.server() {
		return all
	}
	return ofServers(all)
}

var serverFaults = []Fault{Kill, Ordered, Posix}

// ofServers returns the given faults that are explored with servers.
func ofServers(all []Fault) []Fault {
	return slices.DeleteFunc(slices.Clone(all), func(f Fault) bool { return !slices.Contains(serverFaults, f) })
}

// states returns how many states are judged after each kind of fault. The user gives the parameter
// "wanted". For servers the number is smaller, because starting a server takes much longer than
// opening a file.
func (p *Planned) states(wanted int) int {
	if p.server() {
		return max(wanted/2, 1)
	}
	return wanted
}

// judging returns the settings with which a driver opens a state that it wrote. The setting that says
// how a server acknowledges writes has no effect when a state is opened, so it is left out.
func (p *Planned) judging() driver.Settings {
	if !p.server() {
		return p.Settings
	}
	return driver.Settings{"pool_size": "1"}
}

// decisive lists the settings that decide what survives.
func (p *Planned) decisive() []string {
	if p.server() {
		return []string{queued}
	}
	return []string{"journal_mode", "synchronous", "wal_autocheckpoint", "page_size"}
}

// queued is the setting with which a server acknowledges writes that are not in its log yet.
const queued = "queued_writes"

// ofServer reports whether a server reported these settings.
func ofServer(s driver.Settings) bool { return s[queued] != "" }

// servers returns how many of the explored cells belong to servers, and whether all cells do.
func (c *Crashes) servers() (n int, all bool) {
	all = true
	for i := range c.Cells {
		switch k := &c.Cells[i]; {
		case ofServer(k.InForce):
			n++
		case k.Reason == "":
			all = false
		}
	}
	return n, all && n > 0
}

// explored returns the faults that are explored with any of the drivers.
func (c *Crashes) explored() []Fault {
	if _, all := c.servers(); all {
		return ofServers(c.Faults)
	}
	return c.Faults
}

// serverWords names the settings of a server's cell. Such a cell has neither journal_mode nor
// synchronous, by which other cells are named.
func serverWords(cell *Cell) string {
	const log = "Raft's log"
	if cell.Own {
		return ownPrefix + log
	}
	s := maps.Clone(cell.Settings)
	maps.DeleteFunc(s, func(name, _ string) bool { return slices.Contains(quiet, name) })
	if len(s) == 0 {
		return log
	}
	return settingsWords(s, false, nil)
}

// proveServers adds a proof for each recording of a server. If the proof fails, the server has no
// result.
func (x *Explorer) proveServers(ctx context.Context, list []*recorded, out *Crashes) error {
	keep := x.Keep
	x.Keep = "" // states that must fail are not kept
	defer func() { x.Keep = keep }()
	for _, r := range list {
		if r.cell.Reason != "" || !r.plan.server() {
			continue
		}
		p, err := x.proveServer(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.cell.Reason = reasonOf(err).Error()
			continue
		}
		out.Proofs = append(slices.Clip(out.Proofs), p)
	}
	return nil
}

// proveServer checks that missing data is noticed if a server starts with the files of a state. It
// removes the syncs from the server's recording, so something must be lost.
func (x *Explorer) proveServer(ctx context.Context, r *recorded) (Proof, error) {
	found := Proof{Name: "the recording of " + r.plan.name() + ", without its syncs of files, loses or breaks", Want: Lost, AtBest: true, Found: Kept}
	cut := *r.rec
	without(trace.Sync)(&cut.Trace)
	o, err := x.judge(ctx, &recorded{r.plan, &Cell{}, &cut, r.expect}, disk.Options{Model: disk.Ordered, Seed: x.Seed, Most: 8, From: len(cut.Ops)})
	if err == nil {
		err = found.add(o)
	}
	return found, cmp.Or(err, found.failed(""))
}

// aboutServers says how the exploration of servers differs from the exploration of other drivers.
func (c *Crashes) aboutServers() string {
	n, all := c.servers()
	if n == 0 {
		return ""
	}
	text := "Raft's log: a server makes writes durable in it, so journal_mode and synchronous have no meaning. "
	if !all {
		text += "A server is explored after kill, ordered and POSIX only, and nothing but itself can open its files. "
	}
	return text + "Each state is judged by a server that starts with its files."
}

// alsoJudge names the judges other than the driver that wrote the files.
func (c *Crashes) alsoJudge() string {
	if _, all := c.servers(); all {
		return ""
	}
	return " and by " + document.And(document.Map(c.Judges, document.Line))
}

// documentation names the documentation with which results are compared.
func (c *Crashes) documentation() string {
	switch n, all := c.servers(); {
	case all:
		return "rqlite's documentation says"
	case n > 0:
		return "the documentation of SQLite or rqlite says"
	}
	return "SQLite's documentation says"
}
