package result

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// A Metric is something besides time that is counted in a phase. Less of it is better. All code about metrics
// has a loop over [Metrics]: tables, CSV, benchfmt, the explorer, gates, the checks of samples, and the
// merging of processes. CONTRIBUTING.md has the steps to add a metric.
type Metric struct {
	Name  string // the metric's name in flags, URLs and JSON: "allocs"
	Key   string // name of the field in JSON and CSV: "allocs"
	Title string // name in texts for people: "allocations"

	// Column is the metric's title in tables, Bench its unit in the Go benchmark format, and Unit
	// the unit of its values. Tables omit the metric if Column is "", and benchmark files omit it
	// if Bench is "".
	Column, Bench, Unit string

	Compared     bool // comparisons and gates (checks for regressions) can use the metric
	Binary       bool // values are written with binary prefixes, such as KiB
	PerOperation bool // the value is divided by the number of operations
	Adds         bool // how to combine the processes of a mix phase. true: add their values; false: use the value of the first process, because that process continues alone after the mix
	Never0       bool // the value 0 means that the metric was not counted

	// Asked says that the metric is counted only with the setting [CountSyncs]. Narrow tables keep the
	// metric's column, because the user asked for it.
	Asked bool

	// With, if not nil, returns a related cost. If that cost is not 0, this metric was counted, even if its own
	// value is 0. If With is nil, 0 may mean that the metric was not counted.
	With func(*protocol.Costs) *int64

	Of func(*protocol.Costs) *int64
}

// CountSyncs is the setting with which workers count syncs and writes.
const CountSyncs = "count_syncs"

// Metrics lists all metrics, in the order of the fields of [protocol.Costs].
var Metrics = []Metric{
	{Name: "allocs", Key: "allocs", Title: "allocations", Column: "allocs/op", Bench: "allocs/op", Unit: "allocs/op", Compared: true, PerOperation: true, Adds: true,
		Of: func(c *protocol.Costs) *int64 { return &c.Allocs }},
	{Name: "bytes", Key: "alloc_bytes", Title: "allocated memory", Column: "alloc", Bench: "B/op", Unit: "B/op", Compared: true, Binary: true, PerOperation: true, Adds: true,
		Of: func(c *protocol.Costs) *int64 { return &c.AllocBytes }},
	{Name: "instructions", Key: "instructions", Title: "instructions", Column: "instr/op", Bench: "instructions/op", Unit: "instructions/op", Compared: true, PerOperation: true, Adds: true, Never0: true,
		Of: func(c *protocol.Costs) *int64 { return &c.Instructions }},
	{Name: "memory", Key: "peak_rss_bytes", Title: "peak memory", Column: "RSS", Bench: "peak-RSS-B", Unit: "B", Compared: true, Binary: true, Adds: true,
		Of: func(c *protocol.Costs) *int64 { return &c.PeakRSSBytes }},
	{Name: "syncs", Key: "syncs", Title: "syncs", Column: "syncs/op", Bench: "syncs/op", Unit: "syncs/op", Compared: true, PerOperation: true, Asked: true, Adds: true,
		With: func(c *protocol.Costs) *int64 { return &c.Writes }, Of: func(c *protocol.Costs) *int64 { return &c.Syncs }},
	{Name: "writes", Key: "writes", Title: "writes", Column: "writes/op", Bench: "writes/op", Unit: "writes/op", Compared: true, PerOperation: true, Asked: true, Adds: true,
		Of: func(c *protocol.Costs) *int64 { return &c.Writes }},
	{Name: "written", Key: "written_bytes", Title: "written bytes", Column: "written", Bench: "written-B/op", Unit: "B/op", Compared: true, Binary: true, PerOperation: true, Asked: true, Adds: true,
		Of: func(c *protocol.Costs) *int64 { return &c.WrittenBytes }},
	{Name: "database", Key: "database_bytes", Title: "size of the database", Unit: "B", Binary: true,
		Of: func(c *protocol.Costs) *int64 { return &c.DatabaseBytes }},
	{Name: "wal", Key: "wal_bytes", Title: "size of the write-ahead log", Unit: "B", Binary: true,
		Of: func(c *protocol.Costs) *int64 { return &c.WALBytes }},
	{Name: "checkpoint", Key: "checkpoint_ns", Title: "time of the checkpoint", Unit: "ns",
		Of: func(c *protocol.Costs) *int64 { return &c.CheckpointNS }},
}

// IsAsked reports whether a figure is a metric that is counted only with [CountSyncs].
func IsAsked(figure string) bool {
	m := MetricNamed(figure)
	return m != nil && m.Asked
}

// MetricNamed returns the metric with the given name, or nil if there is none.
func MetricNamed(name string) *Metric {
	if i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return &Metrics[i]
	}
	return nil
}

// Value returns a sample's value of the metric. The result "known" is false if the worker probably did not
// count the metric: the value is 0, and [Metric.With] does not show that the metric was counted.
func (m *Metric) Value(s *Sample) (v float64, known bool) {
	n := *m.Of(&s.Costs)
	known = n != 0 || m.With != nil && *m.With(&s.Costs) != 0
	if m.PerOperation {
		return float64(n) / float64(max(s.Operations, 1)), known
	}
	return float64(n), known
}

// AddCosts adds the costs in the parameter "other", which are from another process of the same phase, to
// the costs in "sum". If a metric's field Adds is false, the value in "sum" stays. If its field Never0 is
// true, and one of the two processes did not count the metric, the result is 0.
func AddCosts(sum, other *protocol.Costs) {
	for _, m := range Metrics {
		to, more := m.Of(sum), *m.Of(other)
		switch {
		case !m.Adds:
		case m.Never0 && (*to == 0 || more == 0):
			*to = 0
		default:
			*to += more
		}
	}
}
