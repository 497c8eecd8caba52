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

// snapshot returns the copy of a user's database with which the case's trials begin, or nil
// if they begin with an empty database.
func (c *Case) snapshot() *snapshot.Snapshot {
	if c.Source == nil {
		return nil
	}
	return c.Source.Snapshot()
}

// Begins reports whether the case's trials begin with copies of a user's database.
func (c *Case) Begins() bool { return c.snapshot() != nil }

// CopyTo copies the user's database with which the case's trials begin. The copy is at path. If the trials
// begin with an empty database, CopyTo does nothing.
func (c *Case) CopyTo(ctx context.Context, path string) error {
	if s := c.snapshot(); s != nil {
		return s.Copy(ctx, path, false, false)
	}
	return nil
}

// counting lists the codes of reasons whose messages cannot contain values of the user's database. These
// messages contain only numbers that were counted, and names of features that are not supported.
var counting = []string{protocol.CodeRows, protocol.CodeSetting, protocol.CodePlan, protocol.CodeTimeout, protocol.CodeProtocol, protocol.CodePath, protocol.CodeUnsupported,
	protocol.CodeEndless, protocol.CodeCheck, protocol.CodeCheckpoint, protocol.CodeKilled, protocol.CodeCrash}

// hideValues changes a trial's messages. It removes all text that may contain values of the user's database,
// because the messages are shown on the terminal and stored with the results.
func (c *Case) hideValues(t *result.Trial) {
	s := c.snapshot()
	if s == nil {
		return
	}
	sql := c.Plan.SQL()
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

// begins returns the SQL statements that create the schema of the user's database with which the case's
// trials begin. It returns nil if they begin with an empty database.
func (c *Case) begins() []string {
	if s := c.snapshot(); s != nil {
		return s.Schema
	}
	return nil
}

// begun returns the workload's plan in the form that workers get. If the workload begins with a user's
// database, the plan gets an additional first phase that represents the creation of this database. The request
// for each trial says that this phase is already done. The workload's schema becomes a script phase after it.
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
