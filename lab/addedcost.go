package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// What the engine and an adapter may add to a library: by the one measure or the
// other.
const (
	mostAddedRatio = 1.03
	mostAddedNS    = 100
)

// addedCost reads what was measured of the driver in dir; nil: nothing.
func addedCost(dir string) (*driver.AddedCost, error) {
	file := filepath.Join(dir, driver.AddedCostFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := &driver.AddedCost{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(c.Phases) == 0 {
		return nil, nil // it has causes alone
	}
	return c, nil
}

// AddsTooMuch reports whether more is added in a phase than 3 % and 100 ns per row
// or operation, by the medians.
func AddsTooMuch(p driver.AddedPhase) bool {
	return p.WallRatio.Median > mostAddedRatio && p.WallAdded.Median > mostAddedNS
}

// passes is how often the measured transaction goes through the adapter: BEGIN, two
// statements, COMMIT.
const passes = 4

// measuredColumns is how many columns the measured rows have.
const measuredColumns = 4

// added estimates from a driver's added cost what is added in each timed phase of a
// plan. A row costs by its columns, an operation of a mix by its statements.
func added(c *driver.AddedCost, p *plan.Plan) []result.AddedTime {
	if c == nil {
		return nil
	}
	of := func(phase string) estimate.Estimate {
		i := slices.IndexFunc(c.Phases, func(a driver.AddedPhase) bool { return a.Phase == phase })
		if i < 0 {
			return estimate.Estimate{}
		}
		return c.Phases[i].WallAdded
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
		default: // of http phases, scripts and fixed rates nothing is known
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
		columns += float64(set.Total) * float64(len(set.Columns))
		rows += float64(set.Total)
	}
	return columns / max(rows, 1)
}

// mixed is the average over the operations of a mix, by their weights, and what a
// row of the widest result adds.
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
