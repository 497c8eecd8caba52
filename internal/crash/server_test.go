package crash

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestDocumentedOfServer checks what may be lost with a server: only writes that were queued.
func TestDocumentedOfServer(t *testing.T) {
	for _, f := range serverFaults {
		for queue, want := range map[string]Grade{"off": Kept, "on": Lost} {
			if s := (driver.Settings{"queued_writes": queue}); documentedFor(s, f) != want {
				t.Errorf("queued_writes=%s, %s: %s; want %s", queue, f, documentedFor(s, f), want)
			}
		}
	}
}

// TestServerPlanned checks which faults and states of a server are explored, and with which settings.
func TestServerPlanned(t *testing.T) {
	s := driver.Settings{"pool_size": "1", "queued_writes": "on"}
	library := &Planned{Settings: s}
	server := &Planned{Worker: Worker{Ref: build.Ref{Beside: &driver.Info{Kind: driver.Cluster}}}, Settings: s}
	if got := server.faults(Faults); !slices.Equal(got, []Fault{Kill, Ordered, Posix}) || len(library.faults(Faults)) != len(Faults) {
		t.Errorf("faults of a server: %v", got)
	}
	if server.states(200) != 100 || server.states(1) != 1 || library.states(200) != 200 {
		t.Errorf("states of a server: %d of 200", server.states(200))
	}
	if got := server.judging(); got["queued_writes"] != "" || library.judging()["queued_writes"] != "on" {
		t.Errorf("settings with which a server judges: %v", got)
	}
}

// withServer returns an answer about the given cells, followed by the cell of a server.
func withServer(cells ...Cell) *Crashes {
	c := some()
	server := Cell{Driver: "rqlite", Own: true, Settings: driver.Settings{"pool_size": "1"}, InForce: driver.Settings{"queued_writes": "off"},
		Cost: trace.Cost{Transactions: 24, Syncs: 48}, Results: map[Fault]*Outcome{}}
	for _, f := range serverFaults {
		server.Results[f] = &Outcome{States: 100}
	}
	c.Cells = append(cells, server)
	return c
}

// TestServerWords checks that an answer about a server claims nothing about faults that were not
// explored.
func TestServerWords(t *testing.T) {
	show := func(c *Crashes) string {
		var b strings.Builder
		if err := Formats.Write(&b, "table", c, document.Options{}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	alone := show(withServer())
	for _, want := range []string{
		"No acknowledged transaction of rqlite was lost, and no database damaged, with own: Raft's log.",
		"Nothing was worse than rqlite's documentation says.", "(kill 100, ordered 100, POSIX 100)", "judged by the driver itself.",
		"After kill, ordered and POSIX, everything was kept", "Each state is judged by a server that starts with its files.",
	} {
		if !strings.Contains(alone, want) {
			t.Errorf("no %q in\n%s", want, alone)
		}
	}
	if strings.Contains(alone, "native") || strings.Contains(alone, "cancel") || strings.Contains(alone, "By default") {
		t.Error(alone)
	}
	both := withServer(some().Cells[0])
	text := show(both)
	for _, want := range []string{"judged by the driver itself and by native.", "nothing but itself can open its files", "the documentation of SQLite or rqlite"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	queued := withServer()
	k := &queued.Cells[0]
	k.Own, k.Settings, k.InForce = false, driver.Settings{"queued_writes": "on", "pool_size": "1"}, driver.Settings{"queued_writes": "on"}
	k.Results[Kill] = &Outcome{States: 100, Lost: 60, MostLost: 24}
	if got := queued.Answer(); !strings.Contains(got, "no database was damaged, with queued_writes=on (up to 24).") || !queued.AsDocumented() {
		t.Error(got)
	}
	k.Results[Posix] = &Outcome{States: 100, Broken: 1}
	if got := queued.Answer(); !strings.Contains(got, "Worse than rqlite's documentation says: rqlite with queued_writes=on (POSIX).") || queued.AsDocumented() {
		t.Error(got)
	}
}
