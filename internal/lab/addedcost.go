package lab

import (
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Limits for the time that sqlite3perf's own code in a worker (package worker and the driver's adapter)
// adds to the time of the driver's library. Too much is added if the time grows by more than the factor
// mostAddedRatio, and also by more than mostAddedNS, in ns per row or operation.
const (
	mostAddedRatio = 1.03
	mostAddedNS    = 100
)

// AddsTooMuch reports whether sqlite3perf's own code adds more than 3 % and more than 100 ns per
// row or operation to the time of a phase. It judges by medians.
func AddsTooMuch(p driver.AddedPhase) bool {
	return p.WallRatio.Median > mostAddedRatio && p.WallAdded.Median > mostAddedNS
}

// passes is how often the worker calls the driver's adapter in the transaction that was used to measure the
// added cost. The calls are BEGIN, two statements and COMMIT.
const passes = 4

// measuredColumns is the number of columns in the rows that were used to measure the added
// cost.
const measuredColumns = 4

// added estimates how much time sqlite3perf adds in each timed phase of a plan. The parameter c has the
// driver's added cost, which was measured with other phases. The estimate assumes that the cost of a
// row grows with the number of its columns, and the cost of an operation of a mix with the number of
// its statements.
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
		default: // the added cost of HTTP phases, scripts and fixed rates is not known
			continue
		}
		list = append(list, t)
	}
	return list
}

// insertedColumns returns the mean number of columns of the rows of an insert.
func insertedColumns(p *plan.Plan, in *plan.Insert) float64 {
	var columns, rows float64
	for _, name := range in.Sets {
		set := p.DataSet(name)
		columns += float64(set.Total) * float64(len(set.Bound()))
		rows += float64(set.Total)
	}
	return columns / max(rows, 1)
}

// mixed estimates the time that sqlite3perf adds to a mix. The result "operation" is the time added per
// operation, as the mean of all operations by their weights. The result "row" is the time added per row,
// for the operation that returns the most columns.
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
