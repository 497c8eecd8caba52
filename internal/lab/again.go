package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// WorkloadAgain parses the workload of a case again, from the text that the run keeps. If the parameter
// "foreign" is set, the run may come from another user. In this case, WorkloadAgain accepts only the
// text of a built-in workload.
func WorkloadAgain(run *result.Run, c *result.Case, foreign bool, options ...workload.Option) (*workload.Workload, error) {
	i := slices.IndexFunc(run.Workloads, func(w result.Workload) bool { return w.Name == c.Workload && w.SHA256 == c.WorkloadSHA256 })
	if i < 0 {
		return nil, errors.New("the run was made by an older sqlite3perf, which did not store its text")
	}
	kept := &run.Workloads[i]
	if foreign {
		own, err := workload.Load(kept.Name)
		if !slices.Contains(workload.Builtins(), kept.Name) || err != nil || own.SHA256() != kept.SHA256 {
			return nil, errors.New("only built-in workloads of a report or a merged run are run (it may come from another user)")
		}
	}
	w, err := workload.Parse(kept.Name+".yaml", []byte(kept.Text), nil, append(options, workload.Including(kept.Includes...))...)
	switch {
	case err != nil:
		return nil, err
	case w.Database != "":
		return nil, fmt.Errorf("it begins with the database %s, and runs do not store databases", w.Database)
	case w.SHA256() != kept.SHA256:
		return nil, errors.New("the run did not store all of it")
	}
	return w, nil
}

// SamePlan reports whether two cases have the same plan.
func SamePlan(a, b *result.Case) bool {
	return a.Workload == b.Workload && a.WorkloadSHA256 == b.WorkloadSHA256 && a.Driver == b.Driver && a.Scale == b.Scale &&
		maps.Equal(a.Parameters, b.Parameters) && maps.Equal(a.Settings, b.Settings) && slices.Equal(a.Phases, b.Phases) &&
		maps.EqualFunc(a.InForce, b.InForce, maps.Equal)
}

// CasesOf plans the cases of the workload w with these settings and parameters. It ignores parameters that w
// does not have.
func (m *Matrix) CasesOf(w *workload.Workload, settings map[string][]string, parameters map[string][]int64) ([]*Case, error) {
	one := *m
	one.Workloads, one.Settings, one.Parameters = []*workload.Workload{w}, settings, ownParameters(w, parameters)
	return one.Cases()
}
