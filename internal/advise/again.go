package advise

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Executions is how many executions of each statement are compared between drivers.
const Executions = 20

// Candidates lists the drivers of a run, except plain C ([lab.Floor]).
func Candidates(run *result.Run) (names []string) {
	for i := range run.Cases {
		if name := run.Cases[i].Driver; result.BaseDriver(name) != lab.Floor {
			names = distinct.Append(names, name)
		}
	}
	return names
}

// AskedAgain returns the statements of a run's workloads, so that the drivers' answers to them can be
// compared. Each workload has the settings and parameters of its first case. foreign says that the run
// may be somebody else's, so that only built-in workloads can be used. silent has the name of each
// workload that cannot be run again, with the reason.
func AskedAgain(run *result.Run, foreign bool) (work []diff.Questions, silent []string) {
	var seen []string
	for i := range run.Cases {
		c := &run.Cases[i]
		if slices.Contains(seen, c.Workload) {
			continue
		}
		seen = append(seen, c.Workload)
		w, err := lab.WorkloadAgain(run, c, foreign)
		var p *plan.Plan
		if err == nil {
			p, err = w.Plan(c.Scale, c.Parameters)
		}
		if err != nil {
			silent = append(silent, fmt.Sprintf("%s, because %s", document.Line(c.Workload), document.Line(err.Error())))
			continue
		}
		work = append(work, diff.QuestionsOf(c.Workload, c.Settings, protocol.Answers{Plan: p, Executions: Executions}))
	}
	return work, silent
}
