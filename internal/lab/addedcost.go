package lab

import (
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// The most that the engine and an adapter may add to a library's time. They add too
// much if they exceed both limits.
const (
	mostAddedRatio = 1.03
	mostAddedNS    = 100
)

// AddsTooMuch reports whether, by the medians, more than 3 % and more than 100 ns per
// row or operation are added in a phase.
func AddsTooMuch(p driver.AddedPhase) bool {
	return p.WallRatio.Median > mostAddedRatio && p.WallAdded.Median > mostAddedNS
}

// passes is how many calls of the adapter the measured transaction makes: BEGIN, two
// statements, COMMIT.
const passes = 4

// measuredColumns is how many columns the measured rows have.
const measuredColumns = 4

// added estimates from a driver's added cost how much time is added in each timed
// phase of a plan. The cost of a row is proportional to its columns, that of an
// operation of a mix to its statements.
func added(c *driver.AddedCost, p *plan.Plan) []result.AddedTime {
	if c == nil {
		return nil
	}
	of := func(phase string) estimate.Estimate {
		for _, a := range c.Phases {
			if a.Phase == phase {
				return a.WallAdded
			}
		}
		return estimate.Estimate{}
	}
	var list []result.AddedTime
	for i := range p.Phases {
		ph := &p.Phases[i]
		if ph.Untimed {
			continue
		}
		t := result.AddedTime{Phase: ph.Name}
		switch {
		case ph.Insert != nil:
			t.Row = times(of("insert"), insertedColumns(p, ph.Insert)/measuredColumns)
		case ph.Query != nil:
			t.Operation = of("mix")
			t.Row = times(of("query"), float64(len(ph.Query.Columns))/measuredColumns)
		case ph.Mix != nil && ph.Mix.Rate == 0:
			t.Operation, t.Row = mixed(ph.Mix, of)
		default: // nothing is known about http phases, scripts and fixed rates
			continue
		}
		list = append(list, t)
	}
	return list
}

// insertedColumns is how many columns a row of an insert has, on average.
func insertedColumns(p *plan.Plan, in *plan.Insert) float64 {
	var columns, rows float64
	for _, name := range in.Sets {
		set := p.DataSet(name)
		columns += float64(set.Total) * float64(len(set.Bound()))
		rows += float64(set.Total)
	}
	return columns / max(rows, 1)
}

// mixed returns the time added to an operation of a mix, averaged over its operations
// by their weights, and the time that a row of the widest result adds.
func mixed(m *plan.Mix, of func(string) estimate.Estimate) (operation, row estimate.Estimate) {
	var weights float64
	widest := 0
	for i := range m.Operations {
		weights += float64(m.Operations[i].Weight)
	}
	for i := range m.Operations {
		o := &m.Operations[i]
		share := float64(o.Weight) / max(weights, 1)
		one, calls := of("mix"), float64(len(o.Calls))
		if o.Transaction {
			one, calls = times(of("tx"), 1.0/passes), calls+2
		}
		operation = plus(operation, times(one, share*calls))
		for j := range o.Calls {
			widest = max(widest, len(o.Calls[j].Columns))
		}
	}
	return operation, times(of("query"), float64(widest)/measuredColumns)
}

func times(e estimate.Estimate, f float64) estimate.Estimate {
	return estimate.Estimate{Median: e.Median * f, Low: e.Low * f, High: e.High * f}
}

func plus(a, b estimate.Estimate) estimate.Estimate {
	return estimate.Estimate{Median: a.Median + b.Median, Low: a.Low + b.Low, High: a.High + b.High}
}
