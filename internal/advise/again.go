package advise

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Executions is how many executions of each statement are compared between drivers.
const Executions = 20

// Candidates lists the drivers of a run, except plain C ([lab.Floor]).
func Candidates(run *result.Run) []string {
	return slices.DeleteFunc(run.Drivers(), func(name string) bool { return result.BaseDriver(name) == lab.Floor })
}

// AskedAgain returns the statements of a run's workloads, so that the drivers' answers to them can
// be compared. Each workload has the settings and parameters of its first case. If the parameter
// "foreign" is true, the run may be somebody else's, so only built-in workloads are used. The
// result "silent" has the name of each workload that cannot be run again, with the reason.
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

// DiffAgain returns the command that compares the answers of a run's candidates. It names workloads
// as the run's command did, as far as that is known.
func DiffAgain(run *result.Run) string {
	words := append([]string{"sqlite3perf", "diff"}, Candidates(run)...)
	var files []string
	for i, arg := range run.Command {
		value, ok := strings.CutPrefix(arg, "--workloads=")
		if !ok && i > 0 && run.Command[i-1] == "--workloads" {
			value, ok = arg, true
		}
		if ok {
			files = append(files, strings.Split(value, ",")...)
		}
	}
	for i := range run.Cases {
		if name := run.Cases[i].Workload; files == nil && slices.Contains(workload.Builtins(), name) {
			files = append(files, name)
		}
	}
	if files == nil || !slices.ContainsFunc(files, func(f string) bool { return filepath.Ext(f) != "" || slices.Contains(workload.Builtins(), f) }) {
		files = []string{"FILE.yaml"}
	}
	words = append(words, "--workloads", strings.Join(files, ","), "--scale", run.Scale, "--seed", fmt.Sprint(run.Seed))
	if run.Asked != nil {
		words = append(words, firstValues("--set", run.Asked.Settings)...)
		words = append(words, firstValues("--param", run.Asked.Parameters)...)
	}
	return conditions.CommandLine(words)
}

// firstValues returns command-line arguments that set each name to the first of its values: the
// flag, then name=value. There is only one value for each name, because the command `sqlite3perf
// diff` takes no more.
func firstValues[V any](flag string, values map[string][]V) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values[name]) > 0 {
			words = append(words, flag, fmt.Sprintf("%s=%v", name, values[name][0]))
		}
	}
	return words
}
