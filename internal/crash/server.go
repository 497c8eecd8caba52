package crash

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// server reports whether the driver keeps its database in a server, which must be started to judge a
// state. No other driver can open the files of a server.
func (p *Planned) server() bool { return p.Ref.Kind() == driver.Cluster }

// faults returns those of the faults that are explored. Nothing else can write to a server's files, and a
// server that gets an error from its disk ends.
func (p *Planned) faults(all []Fault) []Fault {
	if !p.server() {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f Fault) bool { return f == Errors || f == Shared || f == Cancel })
}

// states returns how many states are judged after each fault. Starting a server takes much longer than
// opening a file.
func (p *Planned) states(most int) int {
	if !p.server() {
		return most
	}
	return max(most/serverShare, 1)
}

// serverShare is by how much a server has fewer states than a library.
const serverShare = 5

// decisive lists the settings that decide what survives.
func (p *Planned) decisive() []string {
	if p.server() {
		return []string{queued}
	}
	return []string{"journal_mode", "synchronous", "wal_autocheckpoint", "page_size"}
}

// queued is the setting with which a server acknowledges writes that are not in its log yet.
const queued = "queued_writes"

// ofServer reports whether settings in force are those of a server.
func ofServer(s driver.Settings) bool { return s[queued] != "" }
