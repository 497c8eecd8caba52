package explorer

import (
	"cmp"
	"math"
	"net/http"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Cells is the answer to /api/v1/runs/{id}/cells: the figures of a run's drivers in one metric, in
// a table for each phase of a workload with its settings and parameters.
type Cells struct {
	Run    int64   `json:"run"`
	Metric metric  `json:"metric"`
	Answer string  `json:"answer,omitempty" clip:"1000"` // which drivers of the run need the least memory, over all cells; only for the metric memory
	Tables []Table `json:"tables"`
}

// Table has the figures of a phase of a workload with one choice of settings and parameters.
type Table struct {
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
	Phase    string `json:"phase"`
	Unit     string `json:"unit"`
	Of       string `json:"of,omitempty"`       // only for the metric p99: the kind of operations, such as "write", or "the slowest kind (write)"
	Base     string `json:"base,omitempty"`     // driver that ratios are relative to
	IsFloor  bool   `json:"is_floor,omitempty"` // whether Base is the floor, which is plain C; otherwise Base is the fastest driver
	Cells    []Cell `json:"cells"`              // the best cell first; cells without a figure last
	Pair     *Pair  `json:"pair,omitempty"`     // comparison of times, if the request names exactly two drivers and both have figures

	Operations []string `json:"operations,omitempty" most:"20"` // kinds of operations whose latencies are known, such as "read"
	Settings   []string `json:"settings,omitempty"`             // settings in force that are the same with all drivers, as name=value
	Differing  []string `json:"settings_differ,omitempty"`      // settings in force that differ between drivers, with the drivers that have each value
}

// Pair says how two drivers of a table differ.
type Pair struct {
	First  string        `json:"first"` // the driver that comes first in the table
	Second string        `json:"second"`
	Ratio  stats.Summary `json:"ratio"`                // time of Second divided by the time of First, round by round
	P      *float64      `json:"p_adjusted,omitempty"` // p-value, corrected for all pairs of the table; absent if the two drivers were not compared
	Apart  bool          `json:"significant"`          // whether the times of the two drivers differ significantly

	// Added says that sqlite3perf's own overhead could explain the difference between the two
	// drivers; absent if it could not.
	Added string `json:"added_could_explain,omitempty"`
}

func pairOf(t *stats.Table, keep filter) *Pair {
	var kept []int
	for i, c := range t.Cells {
		if matches(keep.drivers, c.Case.Driver) && c.Status == result.OK {
			kept = append(kept, i)
		}
	}
	if len(keep.drivers) != 2 || len(kept) != 2 {
		return nil
	}
	first, second := kept[0], kept[1]
	p := &Pair{First: t.Cells[first].Case.Driver, Second: t.Cells[second].Case.Driver, Ratio: t.Ratio(stats.Pair{First: second, Second: first})}
	if p.Ratio.N == 0 {
		return nil
	}
	if test, ok := t.Against(second, first); ok {
		p.P, p.Apart = &test.Adjusted, test.Significant()
	}
	p.Added = report.OwnDifference(t, first, second)
	return p
}

// Cell is a driver's figure in a table.
type Cell struct {
	Case     int              `json:"case"`
	Driver   string           `json:"driver"`
	Status   result.Status    `json:"status"`
	Reason   *protocol.Reason `json:"reason,omitempty"`
	TooShort bool             `json:"too_short,omitempty"` // whether the phase is too short to judge the driver by

	N      int      `json:"n,omitempty"` // number of samples
	Median *float64 `json:"median,omitempty"`
	Low    *float64 `json:"low,omitempty"` // low end of the interval; absent if there are too few samples
	High   *float64 `json:"high,omitempty"`

	Ratio *stats.Summary `json:"ratio,omitempty"` // figure divided by the figure of the driver in Table.Base, round by round; absent if not known

	// Kinds has the 99th percentile of each kind of operations. It is set only if the metric is p99
	// and the phase has several kinds.
	Kinds []Kind `json:"kinds,omitempty" most:"20"`

	// Harmful has the IDs of the driver's known defects that can lose, damage or falsify data in this
	// workload. Sound marks the best driver that has no such defect; plain C is never marked.
	Harmful []string `json:"harmful_defects,omitempty"`
	Sound   bool     `json:"best_without_harmful_defect,omitempty"`

	Floor bool `json:"floor,omitempty"` // whether this driver is plain C, which is only for comparison

	// The remaining fields are set only if the metric is time, because drivers are ranked by time.
	Rank     int    `json:"rank,omitempty"`          // rank in the table, from 1; absent if the driver has none
	First    bool   `json:"first_or_tied,omitempty"` // whether this driver is the fastest, or is tied with the fastest
	Tied     []int  `json:"tied_with,omitempty"`     // ids of the cases that this case is tied with
	Unranked string `json:"unranked,omitempty"`      // why the driver has no rank

	// Doubtful names the first driver that is significantly slower than this driver, if sqlite3perf's own
	// overhead could explain the difference.
	Doubtful string `json:"added_could_explain_lead_before,omitempty"`
}

// Kind is the 99th percentile of one kind of operations, in seconds.
type Kind struct {
	Name   string         `json:"name"`
	N      int            `json:"n"`
	Median float64        `json:"median"`
	Low    *float64       `json:"low,omitempty"`
	High   *float64       `json:"high,omitempty"`
	Ratio  *stats.Summary `json:"ratio,omitempty"` // like the field Ratio of [Cell]
	Sound  bool           `json:"best_without_harmful_defect,omitempty"`
}

// operationsOf lists the kinds of operations whose latencies are known in a table.
func operationsOf(t *stats.Table) (names []string) {
	for _, c := range t.Measured() {
		for _, s := range c.Samples {
			names = addKinds(names, s.Sample)
		}
	}
	return names
}

// kindsOf returns the 99th percentiles of a cell for the named kinds of operations. It leaves out
// kinds without samples.
func kindsOf(c, base *stats.Cell, names []string, confidence float64) (list []Kind) {
	for _, name := range names {
		m := tailOf(name)
		sum := summary(c, m, confidence)
		if sum.N == 0 {
			continue
		}
		k := Kind{Name: name, N: sum.N, Median: sum.Median}
		if i := sum.Interval; i != nil {
			k.Low, k.High = &i.Low, &i.High
		}
		if base != nil {
			k.Ratio = ratio(c, base, m, confidence)
		}
		list = append(list, k)
	}
	return list
}

func (s *Server) getCells(r *http.Request, q *query) (*Cells, error) {
	m := q.metric()
	keep := q.cells()
	a, err := s.judgedRun(r, q)
	if err != nil {
		return nil, err
	}
	out := &Cells{Run: a.Run.ID, Metric: m}
	if m.Name == "memory" {
		out.Answer = report.LeastMemory(a)
	}
	for _, g := range a.Groups {
		same, differing := conditions.ProvenSettings(g.Outcomes)
		for _, t := range g.Tables {
			if keep.table(g, t) {
				if t := tableOf(a, g, t, m, keep); len(t.Cells) > 0 {
					t.Settings, t.Differing = same, differing
					out.Tables = append(out.Tables, t)
				}
			}
		}
	}
	return out, nil
}

// filter chooses cells by name. An empty list means all names.
type filter struct{ drivers, workloads, phases, variants []string }

func (q *query) cells() filter {
	return filter{q.list("driver"), q.list("workload"), q.list("phase"), q.list("variant")}
}

func matches(wanted []string, name string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, clip(name))
}

func (f filter) table(g *stats.Group, t *stats.Table) bool {
	return matches(f.workloads, g.Workload) && matches(f.phases, t.Phase) && matches(f.variants, g.Variant())
}

func tableOf(a *stats.Analysis, g *stats.Group, t *stats.Table, m metric, keep filter) Table {
	out := Table{Workload: g.Workload, Variant: g.Variant(), Phase: t.Phase, Operations: operationsOf(t)}
	harmful, confidence := conditions.HarmfulIn(a, t), a.Confidence
	var base *stats.Cell
	if t.Base >= 0 {
		base = t.Cells[t.Base]
		out.Base, out.IsFloor = t.Cells[t.Base].Case.Driver, t.IsFloor
	}
	for row, c := range t.Cells {
		if !matches(keep.drivers, c.Case.Driver) {
			continue
		}
		cell := Cell{Case: c.Case.ID, Driver: c.Case.Driver, Status: c.Status, Reason: c.Reason, Harmful: harmful.IDs(c.Case.Driver), Floor: c.Floor}
		if c.Status == result.OK {
			sum, unit := figure(t, c, m, confidence)
			out.Unit = cmp.Or(out.Unit, unit)
			if m.Name == judgedBy {
				cell.Rank, cell.Unranked, cell.Ratio, cell.TooShort = c.Rank, c.Unranked, c.Ratio, c.TooShort()
				cell.First = c.Rank == 1
				for _, i := range c.Tied {
					cell.First = cell.First || c.Rank > 0 && t.Cells[i].Rank == 1
					cell.Tied = append(cell.Tied, t.Cells[i].Case.ID)
				}
				if over, could := report.OwnLead(t, row); could {
					cell.Doubtful = t.Cells[over].Case.Driver
				}
			} else {
				if base != nil && sum.N > 0 {
					cell.Ratio = ratio(c, base, m, confidence)
				}
				if m.Name == tailLatency && len(out.Operations) > 1 {
					cell.Kinds = kindsOf(c, base, out.Operations, confidence)
				}
			}
			cell.N = sum.N
			if sum.N > 0 {
				cell.Median = &sum.Median
			}
			if i := sum.Interval; i != nil {
				cell.Low, cell.High = &i.Low, &i.High
			}
		}
		out.Cells = append(out.Cells, cell)
	}
	if m.Name == tailLatency {
		out.Of = report.KindOfP99(t.Measured())
	}
	if m.Name == judgedBy {
		out.Pair = pairOf(t, keep)
	} else {
		slices.SortStableFunc(out.Cells, func(a, b Cell) int {
			return cmp.Compare(a.order(m.More), b.order(m.More))
		})
	}
	out.markSound(m)
	return out
}

// markSound marks the best driver without a harmful defect in the table and, for each kind of
// operations, the best such driver for that kind. If neither less nor more of the metric is better,
// no driver is the best.
func (t *Table) markSound(m metric) {
	best, kinds := -1, map[string]*Kind{}
	for i := range t.Cells {
		c := &t.Cells[i]
		if c.Harmful != nil || c.Floor || c.Median == nil || m.Better == "" || m.Name == judgedBy && c.Rank == 0 {
			continue
		}
		if best < 0 || m.Name == judgedBy && c.Rank < t.Cells[best].Rank {
			best = i
		}
		for j := range c.Kinds {
			if k := &c.Kinds[j]; kinds[k.Name] == nil || k.Median < kinds[k.Name].Median {
				kinds[k.Name] = k
			}
		}
	}
	if best >= 0 {
		t.Cells[best].Sound = true
	}
	for _, k := range kinds {
		k.Sound = true
	}
}

// order returns the number by which cells are sorted. A cell without a figure comes last.
func (c *Cell) order(more bool) float64 {
	switch {
	case c.Median == nil:
		return math.Inf(1)
	case more:
		return -*c.Median
	}
	return *c.Median
}

// figure returns the summary of a cell's samples in the metric m, and the unit of its values. The cell must
// have samples.
func figure(t *stats.Table, c *stats.Cell, m metric, confidence float64) (sum stats.Summary, unit string) {
	if m.Name == judgedBy {
		return c.Summary, conditions.TimeUnit(t, c)
	}
	_, unit = m.of(c.Samples[0].Sample)
	return summary(c, m, confidence), unit
}

// summary returns the median of a metric over a cell's samples. If no sample has a figure in that
// metric, the summary's N is 0.
func summary(c *stats.Cell, m metric, confidence float64) stats.Summary {
	var values []float64
	known := false
	for _, s := range c.Samples {
		v, _ := m.of(s.Sample)
		values = append(values, v)
		known = known || v > 0
	}
	if !known && m.Name != failedShare {
		return stats.Summary{}
	}
	return stats.SummarizeAt(values, confidence)
}

// ratio returns the figure of c divided by the figure of base, round by round. It returns nil if no
// round has both figures, or if the metric m is [failedShare].
func ratio(c, base *stats.Cell, m metric, confidence float64) *stats.Summary {
	if m.Name == failedShare {
		return nil
	}
	points := func(c *stats.Cell) (list []stats.Point) {
		for _, s := range c.Samples {
			if v, _ := m.of(s.Sample); v > 0 {
				list = append(list, stats.Point{Round: s.Round, Value: v})
			}
		}
		return list
	}
	ratios, _ := stats.Ratios(points(c), points(base))
	if len(ratios) == 0 {
		return nil
	}
	s := stats.SummarizeRatiosAt(stats.Values(ratios), confidence)
	return &s
}
