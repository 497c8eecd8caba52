package diff

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// NotKept says why a comparison must not be stored, or returns "". Stores never contain values of a
// user's database or recording, so that users can pass stores on. The parameter "opened" names files
// that the SQL may have opened.
func NotKept(work []Questions, d *Diffed, opened string) string {
	var data []string
	for i := range work {
		w := &work[i]
		replays := func(ph plan.Phase) bool { return ph.Replay != nil }
		switch p := w.Job.Plan; {
		case w.Job.Files:
			data = append(data, opened)
		case p != nil && (w.Job.Loaded || slices.ContainsFunc(p.Phases, replays)): // recorded statements may contain values in their text
			data = append(data, "the workload "+document.Line(w.Name)+"'s data")
		}
	}
	shows := func(r *Result) bool { return len(r.Groups) > 0 || len(r.Failing) > 0 }
	if data == nil || !slices.ContainsFunc(d.Results, shows) {
		return ""
	}
	return "it has statements and values of " + document.And(data)
}

// OfUsers returns the names of workloads whose answers contain a user's data: from a database, or
// from a recording with the values of parameters.
func OfUsers(work []Questions) (names []string) {
	recorded := func(s plan.Replayed) bool {
		return slices.ContainsFunc(s.Parameters, func(p plan.Recorded) bool { return p.Lengths == nil })
	}
	for i := range work {
		p := work[i].Job.Plan
		if p == nil {
			continue
		}
		replayed := slices.ContainsFunc(p.Phases, func(ph plan.Phase) bool {
			return ph.Replay != nil && slices.ContainsFunc(ph.Replay.Statements, recorded)
		})
		if work[i].Job.Loaded || replayed {
			names = append(names, "the workload "+document.Line(work[i].Name))
		}
	}
	return names
}
