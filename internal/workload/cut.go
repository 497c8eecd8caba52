package workload

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// FirstEvents shortens a replay to its first transactions that together have at least n events. It keeps
// complete transactions. A transaction never depends on later transactions, so the first transactions can be
// replayed alone. If r has no more than n events, FirstEvents returns r.
func FirstEvents(r *plan.Replay, n int) *plan.Replay {
	all := &r.Events
	if all.Len() <= n {
		return r
	}
	keep, kept := make([]bool, all.Len()), 0
	for _, unit := range all.Units() {
		if kept >= n {
			break
		}
		for _, i := range unit {
			keep[i] = true
		}
		kept += len(unit)
	}
	c := cutting{from: r, to: &plan.Replay{Clients: r.Clients, Speed: r.Speed, PatienceMS: r.PatienceMS}}
	at := make([]int, all.Len()) // new index of each event that the shortened replay keeps
	executions := make([]int, len(r.Statements))
	ev := &c.to.Events
	for i := range keep {
		s := all.Statement[i]
		execution := executions[s]
		executions[s]++
		if !keep[i] {
			continue
		}
		at[i] = ev.Len()
		ev.Connection = append(ev.Connection, c.connections.Of(all.Connection[i]))
		ev.Statement = append(ev.Statement, c.execution(s, execution))
		ev.Transaction = append(ev.Transaction, all.Transaction[i])
		ev.Rows = append(ev.Rows, all.Rows[i])
		if all.AtNS != nil {
			ev.AtNS = append(ev.AtNS, all.AtNS[i])
		}
		if all.Affected != nil {
			ev.Affected = append(ev.Affected, all.Affected[i])
		}
	}
	c.to.Connections = len(c.connections.Keys)
	for k, i := range all.Failed {
		if keep[i] {
			ev.Failed = append(ev.Failed, at[i])
			if all.Codes != nil {
				ev.Codes = append(ev.Codes, all.Codes[k])
			}
		}
	}
	for _, x := range all.Inserted {
		if keep[x.Event] {
			ev.Inserted = append(ev.Inserted, plan.Inserted{Event: at[x.Event], ID: x.ID})
		}
	}
	return c.to
}

// cutting is the state of FirstEvents. Each index maps the old numbers of statements, operations or
// connections to their new numbers in the shortened replay.
type cutting struct {
	from, to                            *plan.Replay
	statements, operations, connections distinct.Index[int]
}

// execution adds execution k of statement s to the shortened replay, and returns the
// statement's new number.
func (c *cutting) execution(s, k int) int {
	old := &c.from.Statements[s]
	n := c.statements.Of(s)
	if n == len(c.to.Statements) {
		st := *old
		st.Operation = c.operations.Of(old.Operation)
		if st.Operation == len(c.to.Operations) {
			c.to.Operations = append(c.to.Operations, c.from.Operations[old.Operation])
		}
		st.Parameters = make([]plan.Recorded, len(old.Parameters))
		for i := range st.Parameters {
			st.Parameters[i].Type = old.Parameters[i].Type
		}
		c.to.Statements = append(c.to.Statements, st)
	}
	for i := range old.Parameters {
		addExecution(&c.to.Statements[n].Parameters[i], &old.Parameters[i], k)
	}
	return n
}

// addExecution appends a value to p, which is a parameter of a statement in the shortened replay.
// It takes the value from execution k of "old", which is the same parameter in the original replay.
func addExecution(p, old *plan.Recorded, k int) {
	n := max(len(p.Ints), len(p.Reals), len(p.Bytes), len(p.Lengths))
	switch {
	case old.Lengths != nil:
		p.Lengths = append(p.Lengths, old.Lengths[k])
	case old.Ints != nil:
		p.Ints = append(p.Ints, old.Ints[k])
	case old.Reals != nil:
		p.Reals = append(p.Reals, old.Reals[k])
	default:
		p.Bytes = append(p.Bytes, old.Bytes[k])
	}
	if _, null := slices.BinarySearch(old.Nulls, k); null {
		p.Nulls = append(p.Nulls, n)
	}
	if at, time := slices.BinarySearch(old.Times, k); time {
		p.Times = append(p.Times, n)
		if old.Zones != nil {
			p.Zones = append(p.Zones, old.Zones[at])
		}
	}
	if _, clock := slices.BinarySearch(old.Monotonic, k); clock {
		p.Monotonic = append(p.Monotonic, n)
	}
}
