package report

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

// addedTime returns the time that sqlite3perf's own code and the driver's adapter add to a cell's
// figure, in the figure's unit: seconds, or seconds per operation. ok is false if that time was not
// measured.
func addedTime(c *stats.Cell, phase string) (e estimate.Estimate, ok bool) {
	for _, t := range c.Case.Added {
		if t.Phase != phase {
			continue
		}
		rows := median(c, func(s stats.Sample) float64 { return float64(s.Rows) })
		operations := median(c, func(s stats.Sample) float64 { return float64(s.Operations) })
		switch c.Samples[0].Metric {
		case result.MetricTime:
		case result.MetricTimePerOp:
			rows, operations = rows/max(operations, 1), 1
		default:
			return e, false
		}
		return estimate.Estimate{
			Low:  (t.Operation.Low*operations + t.Row.Low*rows) / 1e9,
			High: (t.Operation.High*operations + t.Row.High*rows) / 1e9,
		}, true
	}
	return e, false
}

// addedDifference compares cell i with a slower cell j. The result "could" is true if i is
// significantly faster, but by so little that sqlite3perf's own overhead may be the only reason. The
// overhead and the difference are known only as intervals. So the result "difference" is the smallest
// possible difference of the two figures, in their unit, and "own" is the greatest possible amount by
// which the overhead in j exceeds the overhead in i. For versions of one driver, "could" is false,
// because they have the same overhead.
func addedDifference(t *stats.Table, i, j int) (difference, own float64, could bool) {
	fast, slow := t.Cells[i], t.Cells[j]
	test, ok := t.Against(j, i)
	same := fast.Case.Info.Name == slow.Case.Info.Name && slices.Equal(fast.Case.Added, slow.Case.Added)
	if i == j || same || !ok || !test.Significant() || test.Sign() <= 0 {
		return 0, 0, false
	}
	less, ok1 := addedTime(fast, t.Phase)
	more, ok2 := addedTime(slow, t.Phase)
	ratio := t.Ratio(stats.Pair{First: j, Second: i})
	least := ratio.Median
	if ratio.Interval != nil {
		least = ratio.Interval.Low
	}
	difference, own = fast.Summary.Median*max(least-1, 0), more.High-less.Low
	return difference, own, ok1 && ok2 && difference <= own
}

const ownCost = "*"

// HarmMark marks drivers with a known defect that can lose or falsify data.
const HarmMark = "!"

// HarmMeans is the sentence that explains [HarmMark] in a table.
const HarmMeans = HarmMark + " marks a driver with a known defect that can lose or falsify data and that nothing in that workload rules out."

// harmMark returns [HarmMark] if a driver has a known defect that can lose or falsify data.
func harmMark(harmful bool) string {
	if harmful {
		return HarmMark
	}
	return ""
}

// harmOnPicture is the sentence that explains [HarmMark] in a picture.
const harmOnPicture = HarmMark + " marks drivers with a known defect that can lose or falsify data in the workloads shown."

// ownLeads reports for each row of a table whether sqlite3perf's own overhead could explain why the
// row is faster than the next slower row: see [OwnLead].
func ownLeads(t *stats.Table) []bool {
	leads := make([]bool, len(t.Cells))
	for i := range t.Cells {
		_, leads[i] = OwnLead(t, i)
	}
	return leads
}

// OwnLead returns the first row after row i that is significantly slower, and reports whether
// sqlite3perf's own overhead could explain the lead of row i over that row. The result "over" is -1 if
// there is no such row.
func OwnLead(t *stats.Table, i int) (over int, could bool) {
	c := t.Cells[i]
	for j := i + 1; c.Rank > 0 && j < len(t.Cells); j++ {
		if t.Cells[j].Rank > 0 && !slices.Contains(c.Tied, j) {
			_, _, could = addedDifference(t, i, j)
			return j, could
		}
	}
	return -1, false
}

// OwnDifference returns a text saying that sqlite3perf's own overhead could explain the difference
// between row i and the slower row j. It returns "" if the overhead is too small for that.
func OwnDifference(t *stats.Table, i, j int) string {
	difference, own, could := addedDifference(t, i, j)
	if !could {
		return ""
	}
	shares := shareOf(t.Cells[i])
	return fmt.Sprintf("sqlite3perf's own overhead may explain the difference: it is at least %s of the time of %s, and %[4]s has at most %[3]s more overhead, as measured on another machine",
		shares(difference), conditions.Name(t.Cells[i].Outcome), shares(own), conditions.Name(t.Cells[j].Outcome))
}

// shareOf returns a function that formats a time as a percentage of a cell's time. Percentages can
// be compared with the ratios that tables show.
func shareOf(c *stats.Cell) func(float64) string {
	return func(v float64) string { return document.Percent(v / c.Summary.Median) }
}

// addedNotes warns of the pairs of drivers in a table whose difference in time may be due to
// sqlite3perf's own overhead. It returns nil if there are none.
func addedNotes(t *stats.Table, cells []*stats.Cell, h document.Hints) []conditions.Caveat {
	var words []string
	for i, fast := range cells {
		for j, slow := range cells {
			if _, own, could := addedDifference(t, i, j); could {
				slower := document.SlowerThan(t.Ratio(stats.Pair{First: j, Second: i}), nameOf(fast))
				words = append(words, fmt.Sprintf("%s is %s, overhead may add up to %s", nameOf(slow), slower, shareOf(fast)(own)))
			}
		}
	}
	if words == nil {
		return nil
	}
	by := ""
	if h.AddedCost != "" {
		by = " (" + h.AddedCost + ")"
	}
	return []conditions.Caveat{{Code: conditions.CaveatAdded, Count: len(words), Text: "sqlite3perf's own overhead" + by + " may explain some differences: " + document.SomeOf(words, 4) +
		". The overhead was measured on another machine, whose speed can differ"}}
}
