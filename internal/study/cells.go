package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// key identifies a cell of a run: a phase of a workload on a driver, with certain parameters and
// settings. A parameter or setting that the key does not have may have any value.
type key struct {
	workload, phase, driver string

	parameters map[string]int64
	nth        map[string]int    // index of a parameter's value among its ascending values, for parameters whose values depend on the scale; -1 is the last value
	settings   map[string]string // a value of "" means that the setting is not set
	once       bool              // the case of the cell has a single long trial; see the function [once]
}

func (k key) on(driver string) key {
	k.driver = driver
	return k
}

// counted returns the key of the cell in which rare events, such as lock errors, are counted. The run may
// measure the same work in two cases: the case of k, and a case with a single long trial. In such a run,
// counted returns the key of the cell with the long trial. In other runs, it returns k.
func (c *cells) counted(k key) key {
	long := k
	long.once, long.nth = true, maps.Clone(k.nth)
	if delete(long.nth, duration); c.planned(long) {
		return long
	}
	return k
}

func (k key) at(name string, value int64) key {
	p := map[string]int64{}
	maps.Copy(p, k.parameters)
	p[name] = value
	k.parameters = p
	return k
}

// measure computes a figure of a sample.
type measure struct {
	name, unit string
	of         func(*result.Sample) float64
}

// summarize returns the median of values with its interval. For a rate, it computes the reciprocal
// of the median time, so that the rate and the time in a table never contradict each other.
func (m measure) summarize(p []stats.Point, confidence float64) stats.Summary {
	values := stats.Values(p)
	if m.name != rateName {
		return stats.SummarizeAt(values, confidence)
	}
	for i, v := range values {
		values[i] = 1 / v
	}
	return stats.SummarizeAt(values, confidence).Inverse()
}

func (m measure) values(c *stats.Cell) []stats.Point {
	var p []stats.Point
	for _, s := range c.Samples {
		if v := m.of(s.Sample); !math.IsNaN(v) && !math.IsInf(v, 0) {
			p = append(p, stats.Point{Round: s.Round, Value: v})
		}
	}
	return p
}

const rateName = "rate" // the field "name" of every measure that is a rate

var (
	seconds      = measure{"time", "s", func(s *result.Sample) float64 { return float64(s.WallNS) / 1e9 }}
	milliseconds = measure{"time", "ms", func(s *result.Sample) float64 { return float64(s.WallNS) / 1e6 }}
	nsPerOp      = measure{"time", "ns/op", func(s *result.Sample) float64 { return float64(s.WallNS) / float64(s.Operations) }}
	rowsPerS     = measure{rateName, "rows/s", func(s *result.Sample) float64 { return float64(s.Rows) / (float64(s.WallNS) / 1e9) }}
	opsPerS      = measure{rateName, "op/s", func(s *result.Sample) float64 { return float64(s.Operations) / (float64(s.WallNS) / 1e9) }}
	reqPerS      = measure{rateName, "req/s", opsPerS.of}
	msPerOp      = measure{"time", "ms", func(s *result.Sample) float64 { return float64(s.WallNS) / 1e6 / float64(s.Operations) }}
	usPerRow     = measure{"time", "µs/row", func(s *result.Sample) float64 { return float64(s.WallNS) / 1e3 / float64(s.Rows) }}
	retries      = measure{"retries", "", func(s *result.Sample) float64 { return float64(s.Retries) }}
	lockErrors   = measure{"errors", "", func(s *result.Sample) float64 {
		var n int64
		for _, e := range s.Errors {
			n += e.Count
		}
		return float64(n)
	}}
	lockWait = measure{"wait", "s", func(s *result.Sample) float64 {
		var n int64
		for _, e := range s.Errors {
			n += e.WaitNS
		}
		return float64(n) / 1e9
	}}
	p50   = percentile("median latency", func(l *latency.Summary) int64 { return l.P50NS })
	p99   = percentile("99th percentile", func(l *latency.Summary) int64 { return l.P99NS })
	p999  = percentile("99.9th percentile", func(l *latency.Summary) int64 { return l.P999NS })
	p9999 = percentile("99.99th percentile", func(l *latency.Summary) int64 { return l.P9999NS })

	cpu = measure{"CPU", "%", func(s *result.Sample) float64 {
		return 100 * float64(s.UserNS+s.SystemNS) / float64(s.WallNS)
	}}
	rss = measure{"peak RSS", "MiB", func(s *result.Sample) float64 { return float64(s.PeakRSSBytes) / (1 << 20) }}

	ceiling   = ofLoad("ceiling", "req/s", func(_ *result.Sample, l *result.Load) float64 { return l.Ceiling })
	ofCeiling = ofLoad("share of the ceiling", "%", func(s *result.Sample, l *result.Load) float64 {
		return 100 * opsPerS.of(s) / l.Ceiling
	})
	lateness = ofLoad("lateness", "ms", func(_ *result.Sample, l *result.Load) float64 { return float64(l.LateP99NS) / 1e6 })
)

// percentile returns a measure for a percentile of a sample's latencies, in milliseconds. If a
// sample has several kinds of operations, the greatest of their percentiles counts.
func percentile(name string, of func(*latency.Summary) int64) measure {
	return measure{name, "ms", func(s *result.Sample) float64 { return float64(s.WorstLatency(of)) / 1e6 }}
}

// ofLoad returns a measure of a server's load. The measure is NaN for samples without a load.
func ofLoad(name, unit string, of func(*result.Sample, *result.Load) float64) measure {
	return measure{name, unit, func(s *result.Sample) float64 {
		if s.Load == nil {
			return math.NaN()
		}
		return of(s, s.Load)
	}}
}

type cell struct {
	*stats.Cell
	phase string
}

type cells struct {
	run         *result.Run
	share       float64 // part of the significance level that this evaluation of the claims may use: 1 is the whole level
	list        []cell
	asPublished bool
	drivers     []string // drivers in the order of the run

	// found, if not nil, collects the IDs of the cases that [cells.find] finds.
	found map[int]bool
}

func (c *cells) confidence() float64 { return 1 - stats.Alpha*c.share }

func newCells(a *stats.Analysis, share float64) *cells {
	c := &cells{run: a.Run, share: share, asPublished: a.Run.Study.AsPublished, drivers: a.Run.Drivers()}
	for _, t := range a.Tables() {
		for _, x := range t.Cells {
			c.list = append(c.list, cell{x, t.Phase})
		}
	}
	return c
}

// driversOf returns the drivers of a workload's table. First come the drivers in the parameter
// "first", even if they were not measured. If the run has another name for such a driver, this name
// is returned. After them come the other drivers that were to be measured, in the order of the run.
func (c *cells) driversOf(workload string, first ...string) []string {
	var own []string
	for i := range c.run.Cases {
		if k := &c.run.Cases[i]; k.Workload == workload {
			own = distinct.Append(own, k.Driver)
		}
	}
	list := slices.Clone(first)
	for _, d := range own {
		if !slices.ContainsFunc(list, func(l string) bool { return sameDriver(l, d) }) {
			list = append(list, d)
		}
	}
	for i, l := range list[:len(first)] {
		if slices.Contains(own, l) {
			continue
		}
		if j := slices.IndexFunc(own, func(d string) bool { return sameDriver(l, d) }); j >= 0 {
			list[i] = own[j]
		}
	}
	return distinct.Append(list, own...) // a second version of a driver in "first" has its own entry
}

func sameDriver(name, driver string) bool { return driver == name || result.BaseDriver(driver) == name }

// values returns the values of a parameter in the cases of a workload, ascending. It ignores
// cases that have a single long trial.
func (c *cells) values(workload, parameter string) []int64 {
	var list []int64
	for i := range c.run.Cases {
		if k := &c.run.Cases[i]; k.Workload == workload && !once(k) {
			if v, ok := k.Parameters[parameter]; ok {
				list = append(list, v)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// nth returns the n-th smallest value of a parameter in the run, counted from 0. If n is negative,
// it counts from the largest value: -1 is the largest value, -2 the second largest. ok is false if
// the run has no such value.
func (c *cells) nth(workload, parameter string, n int) (value int64, ok bool) {
	v := c.values(workload, parameter)
	if n < 0 {
		n += len(v)
	}
	if n < 0 || n >= len(v) {
		return 0, false
	}
	return v[n], true
}

// one returns the least value of a parameter in the cases of a workload, or 0 if there is no
// value.
func (c *cells) one(workload, parameter string) int64 {
	v, _ := c.nth(workload, parameter, 0)
	return v
}

func (c *cells) find(k key) (found *stats.Cell, why string) {
	for name, n := range k.nth {
		v, ok := c.nth(k.workload, name, n)
		if !ok {
			return nil, "not measured at this scale"
		}
		k = k.at(name, v)
	}
	workload := false
	for _, x := range c.list {
		if x.Case.Workload != k.workload {
			continue
		}
		workload = true
		if x.Case.Driver == k.driver && k.matches(x) {
			found = x.Cell
			break
		}
		if found == nil && sameDriver(k.driver, x.Case.Driver) && k.matches(x) {
			found = x.Cell
		}
	}
	if found != nil && c.found != nil {
		c.found[found.Case.ID] = true
	}
	switch {
	case found != nil && found.Status == result.OK:
		return found, ""
	case found != nil && found.Reason != nil:
		return found, fmt.Sprintf("%s is %s: %s", found.Case.Driver, found.Status, found.Reason.Message)
	case found != nil:
		return found, fmt.Sprintf("%s is %s", found.Case.Driver, found.Status)
	case !slices.ContainsFunc(c.drivers, func(d string) bool { return sameDriver(k.driver, d) }):
		return nil, k.driver + " is not among the drivers of this run"
	case !workload:
		return nil, "not measured in this form of the study"
	}
	return nil, "not measured in this run"
}

func (c *cells) lasts(k key) string {
	x, _ := c.find(k)
	if x == nil {
		return ""
	}
	return (time.Duration(x.Case.Parameters[duration]) * time.Millisecond).String()
}

func (c *cells) planned(k key) bool {
	x, _ := c.find(k)
	return x != nil
}

func (k key) matches(x cell) bool {
	c := x.Case
	if c.Workload != k.workload || x.phase != k.phase || once(c) != k.once {
		return false
	}
	for name, v := range k.parameters {
		if got, ok := c.Parameters[name]; !ok || got != v {
			return false
		}
	}
	for name, v := range k.settings {
		if c.Settings[name] != v {
			return false
		}
	}
	return true
}

func (c *cells) fullSize() bool {
	factor, err := strconv.ParseFloat(c.run.Scale, 64)
	return c.run.Scale == workload.Full || err == nil && factor == 1
}

func either[T any](c *cells, corrected, published T) T {
	if c.asPublished {
		return published
	}
	return corrected
}
