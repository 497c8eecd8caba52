package profile

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// ProfileOf returns the profile that is stored with a run, or nil if there is none.
func ProfileOf(run *result.Run, hints document.Hints) *Profiled {
	if run.Profiles == nil {
		return nil
	}
	p := &Profiled{Run: run.ID, Phase: run.Profiles.Phase, NoPerf: run.Profiles.NoPerf, Scale: run.Scale, Seed: run.Seed,
		Machine: run.Machine, Started: run.Started, Warnings: run.Warnings, Rounds: run.Rounds, More: hints.Samples}
	for i := range run.Cases {
		c := &run.Cases[i]
		if i == 0 {
			p.Workload, p.Settings = c.Workload, stats.SettingWords(c.Settings)
		}
		d := ProfiledDriver{Name: c.Driver, Case: c.ID, Status: stats.NotMeasured,
			Reason: &protocol.Reason{Code: protocol.CodeNoTrial, Message: "it was interrupted before the first trial had ended"}}
		at := slices.IndexFunc(run.Profiles.Cases, func(x result.Profile) bool { return x.Case == c.ID })
		if at >= 0 {
			x := &run.Profiles.Cases[at]
			d.Status, d.Reason, d.Perf, d.Shortened = x.Status, x.Reason, x.Perf, x.Shortened
			if x.Status == result.OK {
				grouper := stacks.Grouper{Module: c.Info.Module, Opaque: !x.Perf}
				d.Summary = stacks.Summarize(x, grouper)
				p.Flames = append(p.Flames, FlameSide{Name: c.Driver, Case: c.ID, Stacks: stacks.Stacks(x, x.CPU), Allocations: stacks.Stacks(x, x.Allocations), Grouper: grouper, Trials: len(x.CPUNS)})
			}
		}
		p.Drivers = append(p.Drivers, d)
	}
	return p
}
