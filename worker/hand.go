package worker

import (
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Hand is a [driver.Driver] that does the timed part of each phase itself, as a program that
// is written by hand with one library. The engine does everything outside the clock.
type Hand interface {
	driver.Driver

	// Check refuses a trial that the program cannot do.
	Check(req *protocol.Request) error

	// Perform does a phase on a database that the driver has opened. It runs w around the
	// timed part. It writes the counts and, unless the request calls the phase brief, the
	// checksum to s.
	Perform(db driver.DB, req *protocol.Request, gen *plan.Gen, p *plan.Phase, s *protocol.Sample, w *Stopwatch) error
}
