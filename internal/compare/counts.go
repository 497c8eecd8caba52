package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// counted compares the sides by each metric that was counted because the user asked for it, such as
// syncs. The resulting cells have the same order as the cells of c.
func counted(c *stats.Comparison) (cells []*stats.Compared) {
	for _, m := range stats.Metrics {
		if cost := m.Cost(); cost != nil && cost.Asked {
			cells = append(cells, cellsThat(c.By(m), (*stats.Compared).Measured)...)
		}
	}
	place := func(x *stats.Compared) int {
		return slices.IndexFunc(c.Cells, func(y *stats.Compared) bool { return y.First == x.First })
	}
	slices.SortStableFunc(cells, func(a, b *stats.Compared) int { return place(a) - place(b) })
	return cells
}

// The ways in which the counts of two sides differ. Counts hardly vary between rounds, so tables compare
// the counts directly, without a statistical test. Only a gate tests them.
const (
	moreInEach  = "more"
	fewerInEach = "fewer"
	equalInEach = "equal"
	varying     = "it varies"
)

// inEachRound says how the second side's counts differ from the first side's in all rounds.
func inEachRound(x *stats.Compared) string {
	first, second := x.Points()
	a, b := stats.Values(first), stats.Values(second)
	switch {
	case slices.Max(a) < slices.Min(b):
		return moreInEach
	case slices.Max(b) < slices.Min(a):
		return fewerInEach
	case slices.Max(a) == slices.Min(b) && slices.Max(b) == slices.Min(a):
		return equalInEach
	}
	return varying
}

// countRatio returns the ratio of the second side's count to the first side's. If one of the counts
// is 0, it returns both counts instead.
func countRatio(x *stats.Compared) string {
	if first, second := x.Medians(); first == 0 || second == 0 {
		return strings.Join(medians(x), " → ")
	}
	return document.Times(x.Ratio.Median)
}

// countedSection describes syncs and writes: as a table, or more briefly if there is little room. It
// returns nil if they were not counted.
func countedSection(c *stats.Comparison) []document.Form {
	cells := counted(c)
	if len(cells) == 0 {
		return nil
	}
	grid := document.GridOf(cells,
		document.Words(c.Second+" has", inEachRound),
		document.Words("cell", CellName),
		document.Figures(c.First, 1, func(x *stats.Compared) string { return medians(x)[0] }),
		document.Figures(c.Second, 2, func(x *stats.Compared) string { return medians(x)[1] }),
		document.Figures("ratio", 0, countRatio))
	differ := slices.DeleteFunc(slices.Clone(cells), func(x *stats.Compared) bool {
		words := inEachRound(x)
		return words != moreInEach && words != fewerInEach
	})
	words := "no side has more syncs or writes in each round"
	if len(differ) > 0 {
		words = c.Second + " has " + strings.Join(document.Map(differ, func(x *stats.Compared) string {
			return fmt.Sprintf("%s %s in %s (%s)", inEachRound(x), x.Metric, x.TableName, countRatio(x))
		}), ", ") + ", in each round"
	}
	return []document.Form{
		{Body: document.Document{document.Heading{Level: 2, Text: "Syncs and writes for each operation"}, grid}},
		{Body: document.Document{document.List{{Label: "counts", Text: words}}}},
		{Missing: "syncs and writes"},
	}
}

// JSONCount compares the sides by a metric that was counted because the user asked for it.
type JSONCount struct {
	stats.TableName
	Metric    stats.Metric   `json:"metric"`
	Verdict   stats.Verdict  `json:"verdict"` // "slower": the second side's count is greater; "faster": it is smaller
	First     float64        `json:"first"`   // median of the first side, per operation
	Second    float64        `json:"second"`
	Ratio     *stats.Summary `json:"ratio"` // ratio of second to first
	PAdjusted float64        `json:"p_adjusted"`
}

func jsonCounts(c *stats.Comparison) (list []JSONCount) {
	for _, x := range counted(c) {
		j := JSONCount{TableName: x.TableName, Metric: x.Metric, Verdict: x.Verdict, Ratio: &x.Ratio, PAdjusted: x.Adjusted}
		j.First, j.Second = x.Medians()
		list = append(list, j)
	}
	return list
}
