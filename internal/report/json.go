package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// JSONVersion is the version of the JSON report. Fields may be added without changing the version,
// but the meaning of a field changes only with the version.
const JSONVersion = 2

// JSON is the JSON report: the run as it was measured, and its analysis.
type JSON struct {
	Version     int                          `json:"version"`
	Answer      string                       `json:"answer"`  // the answer of the run, in a sentence or two
	Answers     Answers                      `json:"answers"` // the answers as data, for each table, with warnings
	Run         *result.Run                  `json:"run"`
	Floor       string                       `json:"floor"` // name of the driver that ratios are relative to (the floor), as requested
	Cells       []JSONCell                   `json:"cells"`
	Comparisons []JSONComparison             `json:"comparisons"`
	Factorials  []JSONFactorial              `json:"factorials,omitempty"` // workloads with several settings or parameters
	Summary     []JSONSummary                `json:"summary"`              // one summary, or none if there is nothing to compare
	Reliability JSONReliability              `json:"reliability"`
	Expected    []conditions.JSONExpectation `json:"expectations,omitempty"` // what the workloads expect of their phases
	Defects     []conditions.DriverDefects   `json:"defects,omitempty"`      // known defects of each driver
	Study       *Study                       `json:"study,omitempty"`
}

// JSONCell is one case and phase. If the cell's status is not ok, the fields with figures are
// absent.
type JSONCell struct {
	Case      int              `json:"case"` // id of the case in run.cases
	Workload  string           `json:"workload"`
	Variant   string           `json:"variant,omitempty"`
	Phase     string           `json:"phase"`
	Driver    string           `json:"driver"`
	Status    result.Status    `json:"status" jsonschema:"enum=not measured"`
	Reason    *protocol.Reason `json:"reason,omitempty"`
	Trials    int              `json:"trials"`
	BadTrials int              `json:"bad_trials"`

	Risks          []conditions.Risk `json:"risks,omitempty"`     // risks of the settings in force
	TooShort       bool              `json:"too_short,omitempty"` // whether the phase is too short to judge the driver by
	Metric         string            `json:"metric,omitempty"`
	Unit           string            `json:"unit,omitempty" jsonschema:"enum=s,enum=s/op"` // unit of median and interval: "s" or "s/op"
	*stats.Summary `jsonschema:"optional"`
	Spread         *float64      `json:"spread,omitempty"`   // (farther end of the interval - median) / median
	Rank           int           `json:"rank,omitempty"`     // place among the rows of the table, from 1; the floor (plain C) has no rank
	Tied           []int         `json:"tied_with,omitzero"` // ids of the cases that this cell is tied with
	Unranked       string        `json:"unranked,omitempty"` // why the cell has no rank
	Ratio          *JSONDistance `json:"ratio,omitempty"`
	Rate           *JSONRate     `json:"rate,omitempty"`

	// These fields count the operations of all trials. Only mix and http phases have them.
	Operations int64    `json:"operations,omitempty"`
	Failed     int64    `json:"failed,omitempty"`
	Succeeded  *float64 `json:"succeeded,omitempty" jsonschema:"minimum=0,maximum=1"` // share of operations that succeeded
}

// JSONReliability says how far the verdicts of all tables together can be trusted.
type JSONReliability struct {
	Alpha       float64 `json:"alpha" jsonschema:"minimum=0,maximum=1"` // the greatest probability of any false difference in the run if all drivers were equal
	Tables      int     `json:"tables"`                                 // tables in which anything was compared, including the summary
	Comparisons int     `json:"comparisons"`                            // comparisons in all tables
	Telling     int     `json:"telling"`                                // tables in which any two drivers differ significantly
	FalseTables float64 `json:"false_tables"`                           // upper limit of the expected number of tables in Telling that are wrong, because their drivers are equal
}

// JSONDistance is the ratio of a cell's time to another driver's time, taken round by round.
type JSONDistance struct {
	To      string `json:"to"`
	IsFloor bool   `json:"is_floor"` // whether To is the floor (plain C); otherwise To is the fastest row of the table
	stats.Summary
	Skipped   int      `json:"skipped,omitempty"` // rounds without a ratio, because the time of To was zero
	P         *float64 `json:"p,omitempty" jsonschema:"minimum=0,maximum=1"`
	PAdjusted *float64 `json:"p_adjusted,omitempty" jsonschema:"minimum=0,maximum=1"`
	Delta     *float64 `json:"delta,omitempty"` // Cliff's delta within rounds: 1 if the cell was slower than To in all rounds, -1 if it was always faster
}

// JSONRate is the work, in rows or operations, divided by the median time.
type JSONRate struct {
	Median float64 `json:"median"`                                             // rate, including operations that failed
	Unit   string  `json:"unit" jsonschema:"enum=rows/s,enum=op/s,enum=req/s"` // "rows/s", "op/s" or "req/s"
}

// JSONComparison is the comparison of two cells of one table.
type JSONComparison struct {
	Workload    string `json:"workload"`
	Variant     string `json:"variant,omitempty"`
	Phase       string `json:"phase"`
	First       int    `json:"first"` // id of the first case
	Second      int    `json:"second"`
	FirstDriver string `json:"first_driver"`
	OtherDriver string `json:"second_driver"`
	stats.Test
	Significant bool          `json:"significant"`
	Ratio       stats.Summary `json:"ratio"` // time of the first case divided by the time of the second, round by round
}

// JSONFactorial has the cases of a workload with several settings or parameters side by
// side.
type JSONFactorial struct {
	Workload string              `json:"workload"`
	Factors  map[string][]string `json:"factors"` // values by setting or parameter; "" means not set
	Cells    []JSONFactorialCell `json:"cells"`
	Effects  []JSONEffect        `json:"effects"`
}

// JSONFactorialCell is a row of a table in which drivers, settings and parameters are side
// by side.
type JSONFactorialCell struct {
	Case     int           `json:"case"`
	Phase    string        `json:"phase"`
	PerOp    bool          `json:"per_operation,omitempty"` // times are per operation, because the numbers of operations differ
	Rank     int           `json:"rank,omitempty"`
	Tied     []int         `json:"tied_with,omitzero"` // ids of the cases that this row is tied with
	Unranked string        `json:"unranked,omitempty"`
	Ratio    *JSONDistance `json:"ratio,omitempty"` // time of the row divided by the time of the fastest row
}

// JSONEffect is the effect of changing one factor (a setting or parameter) alone on the time of a
// phase.
type JSONEffect struct {
	Phase  string        `json:"phase"`
	Driver string        `json:"driver"`
	Factor string        `json:"factor"`
	From   string        `json:"from"` // the factor's first value, or the value before To; "" if the factor is not set
	To     string        `json:"to"`
	Over   int           `json:"combinations"` // number of combinations of the other factors' values
	Ratio  stats.Summary `json:"ratio"`        // time with To divided by the time with From
	stats.Test
	Significant bool             `json:"significant"`
	Dependences []JSONDependence `json:"dependences,omitempty"`
}

// JSONDependence says whether the effect of changing one factor (a setting or parameter) depends on
// the value of another factor.
type JSONDependence struct {
	Factor      string           `json:"factor"`
	PAdjusted   float64          `json:"p_adjusted" jsonschema:"minimum=0,maximum=1"` // the least p-value over all pairs of the factor's values
	Significant bool             `json:"significant"`
	Effects     []JSONEffectWith `json:"effects"`
}

// JSONEffectWith is the effect of changing one factor (a setting or parameter) while another factor
// has a given value.
type JSONEffectWith struct {
	With  string        `json:"with"`         // value of the other factor; "" if it is not set
	Over  int           `json:"combinations"` // number of combinations of the remaining factors' values
	Ratio stats.Summary `json:"ratio"`
	stats.Test
	Significant bool `json:"significant"`
}

// JSONSummary has a geometric mean for each driver: the mean of its ratios in several tables. A ratio
// is the driver's time divided by the time of the base (usually plain C).
type JSONSummary struct {
	Base        string                  `json:"base"`
	IsFloor     bool                    `json:"is_floor"`
	Tables      []stats.TableName       `json:"tables"`
	LeftOut     []stats.LeftOut         `json:"left_out"`
	Absent      []stats.LeftOut         `json:"absent"`
	Drivers     []JSONSummaryDriver     `json:"drivers"`
	Comparisons []JSONSummaryComparison `json:"comparisons"`
}

// JSONSummaryDriver is the geometric mean of a driver's ratios. A ratio is the driver's time divided
// by the time of the base (usually plain C).
type JSONSummaryDriver struct {
	Driver string `json:"driver"`
	stats.Summary
	Rank int      `json:"rank,omitempty"`     // place among the drivers, from 1; the floor (plain C) has no rank
	Tied []string `json:"tied_with,omitzero"` // names of the drivers that this driver is tied with
}

// JSONSummaryComparison compares two drivers by the geometric means of their ratios of time.
type JSONSummaryComparison struct {
	First  string `json:"first"`
	Second string `json:"second"`
	stats.Test
	Significant bool `json:"significant"`
}

func WriteJSON(w io.Writer, a *stats.Analysis, opts Options) error {
	said := AnswersOf(a, opts)
	out := JSON{Version: JSONVersion, Answer: said.Text, Answers: said, Run: a.Run, Floor: a.Floor,
		Cells: []JSONCell{}, Comparisons: []JSONComparison{}, Summary: []JSONSummary{}}
	for g, t := range a.Tables() {
		for i, c := range t.Cells {
			out.Cells = append(out.Cells, jsonCell(g, t, i, c))
		}
		for _, p := range t.Pairs {
			x, y := t.Cells[p.First], t.Cells[p.Second]
			out.Comparisons = append(out.Comparisons, JSONComparison{
				Workload: g.Workload, Variant: g.Variant(), Phase: t.Phase,
				First: x.Case.ID, Second: y.Case.ID, FirstDriver: x.Case.Driver, OtherDriver: y.Case.Driver,
				Test: p.Test, Significant: p.Significant(), Ratio: t.Ratio(p),
			})
		}
	}
	for _, f := range a.Factorials {
		out.Factorials = append(out.Factorials, jsonFactorial(f))
	}
	if o := a.Overall; len(o.Drivers) > 0 {
		out.Summary = append(out.Summary, jsonSummary(o))
	}
	r := a.Reliability
	out.Reliability = JSONReliability{stats.Alpha, r.Tables, r.Comparisons, r.Telling, r.FalseTables()}
	out.Defects, out.Study = conditions.DefectsOf(a), opts.Study
	out.Expected = conditions.ExpectationsOf(a.Expectations())
	run := *a.Run // a copy, so that empty lists can be written as [] and not null
	if run.Cases == nil {
		run.Cases = []result.Case{}
	}
	if run.Trials == nil {
		run.Trials = []result.Trial{}
	}
	out.Run = &run
	return document.Encode(w, out)
}

// ReadJSON returns the run of a JSON report. It ignores the analysis, which can be computed again.
func ReadJSON(r io.Reader) (*result.Run, error) {
	var in struct {
		Version int         `json:"version"`
		Run     *result.Run `json:"run"`
		Phase   string      `json:"phase"` // phase of a profile; absent in reports of runs
	}
	switch err := json.NewDecoder(r).Decode(&in); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("is not a JSON report of a run: it ends in the middle")
	case err != nil:
		return nil, fmt.Errorf("is not a JSON report of a run: %w", err)
	case in.Run == nil && in.Phase != "":
		return nil, errors.New("is a profile, which has no stacks in JSON: name its run by its number in the store")
	case in.Run == nil || in.Version == 0:
		return nil, errors.New("is JSON, but not a report of a run")
	case in.Version > JSONVersion:
		return nil, fmt.Errorf("is of a newer sqlite3perf: its version is %d, known are up to %d", in.Version, JSONVersion)
	}
	return in.Run, nil
}

func jsonCell(g *stats.Group, t *stats.Table, i int, c *stats.Cell) JSONCell {
	j := JSONCell{
		Case: c.Case.ID, Workload: g.Workload, Variant: g.Variant(), Phase: t.Phase, Driver: c.Case.Driver,
		Status: c.Status, Reason: c.Reason, Trials: len(c.Trials), BadTrials: c.Bad,
	}
	if c.Status != result.OK {
		return j
	}
	first := c.Samples[0]
	j.Risks, j.TooShort = conditions.CellRisks(c.Outcome, t.Phase), c.TooShort()
	j.Metric, j.Unit = first.Metric, first.Unit()
	j.Summary, j.Rank, j.Unranked = &c.Summary, c.Rank, c.Unranked
	if c.Unranked == "" {
		j.Tied = []int{}
		for _, x := range c.Tied {
			j.Tied = append(j.Tied, t.Cells[x].Case.ID)
		}
	}
	if s, ok := c.Summary.Spread(); ok {
		j.Spread = &s
	}
	_, unit := work(first.Sample)
	j.Rate = &JSONRate{cellRate(c).Median, unit}
	if j.Metric != result.MetricTime {
		j.Failed, j.Operations = c.Failures()
		share := float64(j.Operations-j.Failed) / float64(max(j.Operations, 1))
		j.Succeeded = &share
	}
	if c.Ratio != nil && c.Ratio.N > 0 {
		j.Ratio = &JSONDistance{To: t.Cells[t.Base].Case.Driver, IsFloor: t.IsFloor, Summary: *c.Ratio, Skipped: c.Skipped}
		if test, ok := t.Against(i, t.Base); ok {
			j.Ratio.P, j.Ratio.PAdjusted, j.Ratio.Delta = &test.P, &test.Adjusted, &test.Delta
		}
	}
	return j
}

func jsonFactorial(f *stats.Factorial) JSONFactorial {
	j := JSONFactorial{Workload: f.Workload, Factors: map[string][]string{}, Cells: []JSONFactorialCell{}, Effects: []JSONEffect{}}
	for _, x := range f.Factors {
		for _, v := range x.Values {
			j.Factors[x.Name] = append(j.Factors[x.Name], v.Value)
		}
	}
	for _, t := range f.Tables {
		for i, c := range t.Measured() {
			cell := jsonCell(f.Group, t, i, c)
			if cell.Ratio != nil {
				cell.Ratio.To = t.Cells[t.Base].As
			}
			j.Cells = append(j.Cells, JSONFactorialCell{c.Case.ID, t.Phase, t.PerOp, cell.Rank, cell.Tied, cell.Unranked, cell.Ratio})
		}
	}
	for _, e := range f.Effects {
		effect := JSONEffect{e.Phase, e.Driver, e.To.Name, e.From.Value, e.To.Value, e.Over, e.Ratio, e.Test, e.Significant(), nil}
		for _, d := range e.Dependences {
			depends := JSONDependence{d.Factor, d.P(), d.Significant(), nil}
			for _, with := range d.Effects {
				depends.Effects = append(depends.Effects, JSONEffectWith{with.With.Value, with.Over, with.Ratio, with.Test, with.Significant()})
			}
			effect.Dependences = append(effect.Dependences, depends)
		}
		j.Effects = append(j.Effects, effect)
	}
	return j
}

func jsonSummary(o stats.Overall) JSONSummary {
	s := JSONSummary{Base: o.Base, IsFloor: o.IsFloor, Tables: o.Tables,
		LeftOut: append([]stats.LeftOut{}, o.LeftOut...), Absent: append([]stats.LeftOut{}, o.Absent...),
		Drivers: []JSONSummaryDriver{}, Comparisons: []JSONSummaryComparison{}}
	for _, d := range o.Drivers {
		driver := JSONSummaryDriver{Driver: d.Case.Driver, Summary: d.Ratio, Rank: d.Rank}
		if d.Rank > 0 || d.Floor && d.Ratio.N >= stats.MinSamples {
			driver.Tied = []string{}
			for _, x := range d.Tied {
				driver.Tied = append(driver.Tied, o.Drivers[x].Case.Driver)
			}
		}
		s.Drivers = append(s.Drivers, driver)
	}
	for _, p := range o.Pairs {
		s.Comparisons = append(s.Comparisons, JSONSummaryComparison{
			o.Drivers[p.First].Case.Driver, o.Drivers[p.Second].Case.Driver, p.Test, p.Significant()})
	}
	return s
}
