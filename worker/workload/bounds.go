package workload

import (
	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Bounds of a plan, that a worker keeps to as well. They keep a number from
// overflowing, and a plan from being one that no machine could finish.
const (
	MaxCount   = 1 << 40   // rows, executions, operations, milliseconds
	MaxAtOnce  = 1 << 24   // rows whose values are made before the clock starts
	MaxClients = 10_000    // and connections
	MaxBound   = 250_000   // parameters of one statement
	MaxWeight  = 1_000_000 // of an operation; and attempts at one
	MinRate    = 0.001     // operations per second
	MaxRate    = 1e9
)

// numberWithin reads an integer expression from least to most. It is missing where
// there is none or it lies beyond.
func (l *loader) numberWithin(n *yaml.Node, what string, least, most, missing int64) int64 {
	if n == nil {
		return missing
	}
	v, ok := l.number(n, what, least)
	if ok && v > most {
		l.errorf(n, "%s is %d: want at most %d", what, v, most)
		return missing
	}
	return v
}

// poolWithin checks the number of connections.
func (l *loader) poolWithin(n *yaml.Node, s driver.Settings) {
	if s.PoolSize() > MaxClients {
		l.errorf(n, "pool_size is %d: want at most %d", s.PoolSize(), MaxClients)
	}
}

// insertWithin checks how much is inserted at once. at has the nodes of the
// phase's data sets.
func (l *loader) insertWithin(ins *Insert, f *fields, at map[string]*yaml.Node) {
	widest := int64(1)
	for _, name := range ins.Sets {
		columns := int64(0)
		for _, c := range l.sets[name].Columns {
			if !c.Hidden {
				columns++
			}
		}
		widest = max(widest, columns)
	}
	if n := f.get("rows per statement"); n != nil && ins.RowsPerStatement > MaxBound/widest {
		l.errorf(n, "rows per statement is %d, of %d columns: want at most %d, since a statement has at most %d parameters",
			ins.RowsPerStatement, widest, MaxBound/widest, MaxBound)
	}
	if ins.Transaction == "every" && ins.Every > MaxAtOnce {
		l.errorf(f.get("transaction"), "transaction: every %d rows: want at most %d", ins.Every, MaxAtOnce)
	}
	if ins.Transaction != "per" || len(ins.Sets) == 0 {
		return
	}
	perRow := map[string]int64{ins.Per: 1}
	for _, name := range ins.Sets[1:] {
		s := l.sets[name]
		n, nested := perRow[s.Parent]
		if !nested {
			return // which has been told
		}
		if n > 0 && s.Count > MaxAtOnce/n {
			l.errorf(at[name], "insert: data set %s has %d rows for each of %d in one transaction: want at most %d in all", name, s.Count, n, MaxAtOnce)
			return
		}
		perRow[name] = n * s.Count
	}
}

// queryWithin checks how often a query is executed.
func (l *loader) queryWithin(q *Query, f *fields) {
	if q.ForEach == "" {
		l.timesWithin(f, q.Repeat, int64(q.Clients), 1)
		return
	}
	total := l.sets[q.ForEach].Total
	if total > MaxAtOnce {
		l.errorf(f.get("for each"), "for each: data set %s has %d rows: want at most %d", q.ForEach, total, MaxAtOnce)
		return
	}
	l.timesWithin(f, q.Repeat, int64(q.Clients), total)
}

// timesWithin checks a product.
func (l *loader) timesWithin(f *fields, repeat, clients, rows int64) {
	if n := f.get("repeat"); n != nil && repeat > MaxCount/max(clients*rows, 1) {
		l.errorf(n, "repeat is %d, with %d clients and %d executions each: want at most %d in all", repeat, clients, rows, int64(MaxCount))
	}
}
