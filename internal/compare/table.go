package compare

import (
	"fmt"
	"slices"

	"golang.org/x/perf/benchunit"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func comparedGrid(c *stats.Comparison) document.Grid {
	clear := cellsThat(c, func(x *stats.Compared) bool { return x.Measured() && x.Verdict != stats.Unclear })
	unclear := cellsThat(c, func(x *stats.Compared) bool { return x.Measured() && x.Verdict == stats.Unclear })
	cells := append(clear, unclear...)
	verdict := document.Words("verdict", func(x *stats.Compared) string { return conditions.Marked(Told(x), x) })
	columns := RatioColumns(verdict, func(x *stats.Compared) string { return document.Probability(x.ShownP()) }, c.First, c.Second)
	if p := slices.IndexFunc(columns, func(c document.ColumnOf[*stats.Compared]) bool { return c.Title == "p" }); inRun(c) {
		columns[p].Title = "p (run)"
	}
	if slices.ContainsFunc(cells, func(x *stats.Compared) bool { return x.Ratio.N != cells[0].Ratio.N }) { // on a narrow terminal, drop the column "n" last, because it explains why a smaller difference may have a clearer verdict
		for i := range columns {
			if c := &columns[i]; c.Title == "n" {
				c.Drop = 1
			} else if c.Drop > 0 {
				c.Drop++
			}
		}
	}
	if slices.ContainsFunc(cells, func(x *stats.Compared) bool { return x.Rounds > 0 }) {
		columns = append(columns, document.Words("more rounds", func(x *stats.Compared) string {
			if x.Rounds == 0 {
				return ""
			}
			if x.Rounds >= stats.MaxRounds {
				return ">" + document.Thousands(stats.MaxRounds)
			}
			return fmt.Sprintf("%d, %s", x.Rounds, document.Elapsed(x.Time))
		}))
	}
	g := document.GridOf(cells, columns...)
	for _, x := range cells {
		g.Leaders = append(g.Leaders, x.Verdict == stats.Faster)
	}
	return g
}

// RatioColumns returns the columns of a table of cells with ratios. The parameter "judged" is the
// first column. The function "p" formats the p-value of a cell. If p is nil, there is no column of
// p-values.
func RatioColumns(judged document.ColumnOf[*stats.Compared], p func(*stats.Compared) string, firstSide, secondSide string) []document.ColumnOf[*stats.Compared] {
	return []document.ColumnOf[*stats.Compared]{
		judged,
		document.Words("cell", CellName),
		document.Figures(firstSide, 2, func(x *stats.Compared) string { return medians(x)[0] }),
		document.Figures(secondSide, 1, func(x *stats.Compared) string { return medians(x)[1] }),
		{Column: document.Column{Title: "ratio", Whole: true},
			Cell:   func(x *stats.Compared) string { return document.Times(x.ShownRatio().Median) },
			Spread: func(x *stats.Compared) string { return document.Interval(x.ShownRatio().Interval) }},
		document.Figures("p", 3, p),
		document.Figures("n", 4, func(x *stats.Compared) string { return fmt.Sprint(x.Ratio.N) }),
	}
}

// CellName returns the name of a cell, followed by its metric unless that is time.
func CellName(x *stats.Compared) string {
	if x.Metric == stats.Time {
		return x.String()
	}
	return x.String() + " (" + string(x.Metric) + ")"
}

// medians formats the medians of both sides in the same unit. It uses four significant digits,
// because differences of two percent matter.
func medians(x *stats.Compared) []string {
	a, b := x.Medians()
	return figuresOf(x, 4, a, b)
}

func figuresOf(x *stats.Compared, digits int, values ...float64) (list []string) {
	class, unit := benchunit.Decimal, "s"
	switch cost := x.Metric.Cost(); {
	case cost != nil && cost.Binary:
		class, unit = benchunit.Binary, cost.Unit
	case cost != nil:
		for _, v := range values {
			list = append(list, document.Each(digits, v)+"/op")
		}
		return list
	case x.PerOp || x.First.Samples[0].Metric == result.MetricTimePerOp:
		unit = "s/op"
	}
	words, unit := document.ScaledTo(digits, values, class, unit)
	for _, w := range words {
		list = append(list, w+" "+unit)
	}
	return list
}

// ComparisonVersion is the version of the JSON form of a comparison. Adding fields does not change
// the version.
const ComparisonVersion = 1

// JSONSides is the JSON form of a comparison.
type JSONSides struct {
	Version     int            `json:"version"`
	Answer      string         `json:"answer"`
	First       string         `json:"first"`
	Second      string         `json:"second"`
	Margin      float64        `json:"margin"`
	Doubt       float64        `json:"doubt"`           // greatest probability that any of the verdicts "slower" and "faster" is false
	Interleaved bool           `json:"interleaved"`     // both sides were measured in the same rounds of one run
	Alternated  bool           `json:"alternated"`      // trials of the two sides took turns at each phase
	Pairs       int            `json:"pairs"`           // number of pairs of drivers; p-values are corrected for the cells of all pairs
	Runs        []int64        `json:"runs"`            // ID of the run with both sides, or IDs of the runs of First and Second
	Trials      int            `json:"trials"`          // number of trials in these runs
	Repeated    int            `json:"repeated_trials"` // number of Trials that were measured again because other processes had taken time
	Mean        *stats.Summary `json:"mean,omitempty"`
	MeanInRun   *stats.Summary `json:"mean_in_run,omitempty"` // the mean, with the interval that the run's report shows
	Cells       []JSONSideCell `json:"cells"`
	Counts      []JSONCount    `json:"counts,omitempty"`   // syncs and writes, if they were counted
	Alone       []string       `json:"alone,omitempty"`    // cells that only one of the sides has
	LeftOut     string         `json:"left_out,omitempty"` // says why cells are not compared
	Differences []string       `json:"machine_differences,omitempty"`
	Defects     []Explanation  `json:"known_defects,omitempty"` // known defects that may explain why one side needs more time, memory or syncs
}

// JSONSideCell is a cell of a comparison.
type JSONSideCell struct {
	stats.TableName
	Verdict     stats.Verdict     `json:"verdict"`
	FirstCase   int               `json:"first_case"` // ID of the case in the first side's run
	SecondCase  int               `json:"second_case"`
	FirstState  result.Status     `json:"first_status" jsonschema:"enum=not measured"`
	SecondState result.Status     `json:"second_status" jsonschema:"enum=not measured"`
	FirstRisks  []conditions.Risk `json:"first_risks,omitempty"` // risks of the first side's settings
	SecondRisks []conditions.Risk `json:"second_risks,omitempty"`
	Why         string            `json:"why,omitempty"`
	Ratio       *stats.Summary    `json:"ratio,omitempty"` // ratio of second to first
	Means       *stats.Summary    `json:"means,omitempty"` // ratio of the means, second to first
	PerOp       bool              `json:"per_operation,omitempty"`
	TooShort    bool              `json:"too_short,omitempty"` // the phase is too short to judge the drivers
	P           *float64          `json:"p,omitempty"`
	PAdjusted   *float64          `json:"p_adjusted,omitempty"`
	InRun       *JSONInRun        `json:"in_run,omitempty"`                                      // what the report of the run says, if the sides are two of its drivers
	Likely      string            `json:"likely,omitempty" jsonschema:"enum=slower,enum=faster"` // whether the second side is slower or faster; set if this is at least probable
	Failures    *JSONFailures     `json:"failures,omitempty"`
	Rounds      int               `json:"further_rounds,omitempty"` // estimate of how many further rounds the verdict needs to be clear
}

// JSONInRun has the ratio of two drivers and its p-value, as in the report of their run.
type JSONInRun struct {
	Ratio     stats.Summary `json:"ratio"` // ratio of second to first
	PAdjusted float64       `json:"p_adjusted" jsonschema:"minimum=0,maximum=1"`
}

// JSONFailures compares the shares of the operations that failed.
type JSONFailures struct {
	First     float64        `json:"first"` // share of the first side's operations that failed
	Second    float64        `json:"second"`
	Interval  stats.Interval `json:"difference_interval"` // interval of Second minus First
	PAdjusted float64        `json:"p_adjusted"`
}

// FailuresOf returns the shares of failed operations of both sides. It returns nil if no operation
// failed.
func FailuresOf(x *stats.Compared) *JSONFailures {
	if x.Failing == nil {
		return nil
	}
	return &JSONFailures{x.Failing.First, x.Failing.Second, x.Failing.Difference(), x.Failing.Adjusted}
}

// JSONOf returns the JSON form of a comparison.
func JSONOf(c Compared) JSONSides {
	out := JSONSides{Version: ComparisonVersion, Answer: Answer(c.Comparison), First: c.Comparison.First, Second: c.Comparison.Second,
		Margin: c.Margin, Doubt: stats.Doubt, Interleaved: c.Interleaved, Alternated: c.Interleaved && conditions.Alternated(c.First.Run), Pairs: c.Pairs, Mean: c.Mean, MeanInRun: c.MeanInRun, Cells: []JSONSideCell{}, Alone: c.Alone, LeftOut: LeftOut(c.Alone, c.Unlike)}
	runs := []*result.Run{c.First.Run}
	if c.First != c.Second {
		runs = append(runs, c.Second.Run)
		out.Differences = conditions.MachinesDiffer(c.First.Run.Machine, c.Second.Run.Machine)
	}
	for _, r := range runs {
		out.Runs = append(out.Runs, r.ID)
	}
	robbed := conditions.CountRepeated(runs...)
	out.Repeated, out.Trials = robbed.Again, robbed.Trials
	for _, x := range c.Cells {
		cell := JSONSideCell{TableName: x.TableName, Verdict: x.Verdict, FirstCase: x.First.Case.ID, SecondCase: x.Second.Case.ID,
			FirstState: x.First.Status, SecondState: x.Second.Status,
			FirstRisks: conditions.CellRisks(x.First.Outcome, x.Phase), SecondRisks: conditions.CellRisks(x.Second.Outcome, x.Phase),
			Why: x.Why, PerOp: x.PerOp, TooShort: x.TooShort(), Failures: FailuresOf(x), Rounds: x.Rounds}
		switch x.Verdict {
		case stats.Bad:
			for _, side := range []*stats.Cell{x.First, x.Second} {
				if side.Status != result.OK {
					cell.Why = NoFigure(side)
				}
			}
		case stats.Differing, stats.FailsMore, stats.FailsLess:
		default:
			cell.Ratio, cell.P, cell.PAdjusted = &x.Ratio, &x.P, &x.Adjusted
			if x.Means.Median > 0 {
				cell.Means = &x.Means
			}
			if x.InRun != nil {
				cell.InRun = &JSONInRun{x.InRun.Ratio, x.InRun.Adjusted}
			}
			switch x.Likely() {
			case 1:
				cell.Likely = string(stats.Slower)
			case -1:
				cell.Likely = string(stats.Faster)
			}
		}
		out.Cells = append(out.Cells, cell)
	}
	out.Counts, out.Defects = jsonCounts(c.Comparison), c.explained()
	return out
}
