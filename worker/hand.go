package worker

import (
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Hand is a [driver.Driver] that runs the timed part of each phase itself, with direct calls of a
// library. Package byhand has such drivers. The engine does everything that is not timed.
type Hand interface {
	driver.Driver

	// Check returns an error if the driver cannot run the trial.
	Check(req *protocol.Request) error

	// Perform runs a phase on a database that the driver has opened. It runs the stopwatch w around
	// the timed part. It writes the counts to s and, unless req.Brief names the phase, the
	// checksum.
	Perform(db driver.DB, req *protocol.Request, gen *plan.Gen, p *plan.Phase, s *protocol.Sample, w *Stopwatch) error
}
