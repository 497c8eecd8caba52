package lab

import (
	"context"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// snapshot returns the copy of a user's database that the trials of a case begin with
// copies of; nil if they begin with an empty one.
func (c *Case) snapshot() *snapshot.Snapshot {
	if c.Source == nil {
		return nil
	}
	return c.Source.Snapshot()
}

// Begins reports whether the trials of a case begin with copies of a user's database.
func (c *Case) Begins() bool { return c.snapshot() != nil }

// CopyTo makes the file that a process of the case begins with, if it begins with a copy
// of a user's database.
func (c *Case) CopyTo(ctx context.Context, path string) error {
	if s := c.snapshot(); s != nil {
		return s.Copy(ctx, path, false, false)
	}
	return nil
}

// counting are the codes of reasons in whose messages only what the lab and the worker have
// counted can be, and what they do not support.
var counting = []string{protocol.CodeRows, protocol.CodeSetting, protocol.CodePlan, protocol.CodeTimeout, protocol.CodeProtocol, protocol.CodePath, protocol.CodeUnsupported,
	protocol.CodeEndless, protocol.CodeCheck, protocol.CodeCheckpoint, protocol.CodeKilled, protocol.CodeCrash}

// hideValues takes out of a trial's messages what may be values of a user's database: the
// terminal and the store have them.
func (c *Case) hideValues(t *result.Trial) {
	s := c.snapshot()
	if s == nil {
		return
	}
	sql := slices.Collect(c.Plan.SQL())
	for i := range c.Plan.Phases {
		p := &c.Plan.Phases[i]
		sql = append(sql, p.Name)
		if p.Mix != nil {
			for _, o := range p.Mix.Operations {
				sql = append(sql, o.Name)
			}
		}
	}
	if r := t.Reason; r != nil && !slices.Contains(counting, r.Code) {
		r.Message = s.Public(r.Message, append(sql, fmt.Sprint(r.SQLite, " ", r.SQLite&0xff, " ", r.Column))...)
		if r.Detail != "" {
			r.Detail = "what the worker wrote to standard error is left out: it may have values of " + s.Name
		}
	}
	for i := range t.Samples {
		for j := range t.Samples[i].Errors {
			e := &t.Samples[i].Errors[j]
			e.Message = s.Public(e.Message, append(sql, fmt.Sprint(e.Code, " ", e.Code&0xff))...)
		}
	}
}

// begins returns the statements that make what the user's database of a case has.
func (c *Case) begins() []string {
	if s := c.snapshot(); s != nil {
		return s.Schema
	}
	return nil
}

// begun returns the plan of a workload as its workers get it. If it begins with a user's
// database, a first phase stands for what that has, and each trial is told that this phase
// is done. The schema is then SQL that comes after it.
func begun(w *workload.Workload, p *plan.Plan) *plan.Plan {
	if w.Snapshot() == nil {
		return p
	}
	name := func(s string) string {
		for slices.ContainsFunc(p.Phases, func(ph plan.Phase) bool { return ph.Name == s }) {
			s += " of the file"
		}
		return s
	}
	q := *p
	first := []plan.Phase{{Name: name("database"), Untimed: true, Script: "-- a user's database, whose SHA-256 is " + w.Snapshot().SHA256}}
	if p.Schema != "" {
		first = append(first, plan.Phase{Name: name("schema"), Untimed: true, Script: p.Schema, Changes: p.Changes})
	}
	q.Schema, q.Changes, q.Phases = "", nil, slices.Concat(first, p.Phases)
	return &q
}
