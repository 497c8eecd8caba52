package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Answer says what the comparison found. It has one sentence for each [kind] of cells, and further
// sentences about sides without figures, different answers, failed operations and risks.
func Answer(c *stats.Comparison) string {
	if len(c.Cells) == 0 {
		return fmt.Sprintf("Nothing to compare: %s and %s have no cell in common.", c.First, c.Second)
	}
	sentences := missing(c)
	if n := c.Count(stats.Differing); n > 0 {
		sentences = append(sentences, fmt.Sprintf("The answers differ in %s.", ofCells(n, c)))
	}
	sentences = append(sentences, failuresTold(c, stats.FailsMore, "More")...)
	sentences = append(sentences, failuresTold(c, stats.FailsLess, "Fewer")...)
	for _, k := range []kind{slower, faster, slowerMean, fasterMean, likelySlower, likelyFaster, same, likelySame, unknown, hopeless, failuresUnknown} {
		if cells := cellsThat(c, func(x *stats.Compared) bool { return kindOf(x) == k }); cells != nil {
			sentences = append(sentences, k.sentence(c, cells))
		}
	}
	differing, _ := conditions.SideRisks(c)
	for _, r := range differing {
		sentences = append(sentences, fmt.Sprintf("With %s, %s.", r.Settings, r.Text))
	}
	return strings.Join(sentences, " ") + conditions.CountTooShort(c.Cells)
}

func cellsThat(c *stats.Comparison, has func(*stats.Compared) bool) (list []*stats.Compared) {
	for _, x := range c.Cells {
		if has(x) {
			list = append(list, x)
		}
	}
	return list
}

// kind is what the answer says about a cell that has a ratio.
type kind string

const (
	slower          kind = "slower"
	faster          kind = "faster"
	slowerMean      kind = "slower in some trials"
	fasterMean      kind = "faster in some trials"
	same            kind = "no difference"
	likelySlower    kind = "probably slower"
	likelyFaster    kind = "probably faster"
	likelySame      kind = "probably no difference"
	unknown         kind = "not known yet"
	hopeless        kind = "no clear difference" // more rounds would not show a difference
	failuresUnknown kind = "failures not known yet"
)

// kindOf returns what the answer says about a cell, or "" if the cell has no ratio.
func kindOf(x *stats.Compared) kind {
	switch {
	case x.FailuresOpen():
		return failuresUnknown
	case x.Verdict == stats.Same:
		return same
	case x.Verdict == stats.Slower && x.Typical:
		return slowerMean
	case x.Verdict == stats.Faster && x.Typical:
		return fasterMean
	case x.Verdict == stats.Slower:
		return slower
	case x.Verdict == stats.Faster:
		return faster
	case x.Verdict != stats.Unclear:
		return ""
	case x.Typical && x.InRun == nil:
		return likelySame
	case x.Likely() > 0:
		return likelySlower
	case x.Likely() < 0:
		return likelyFaster
	case x.Typical:
		return likelySame
	case x.Rounds >= stats.MaxRounds:
		return hopeless
	}
	return unknown
}

// Told returns the verdict on a cell in words.
func Told(x *stats.Compared) string {
	switch k := kindOf(x); k {
	case "", slowerMean, fasterMean:
		return string(x.Verdict)
	case failuresUnknown:
		return string(unknown)
	default:
		return string(k)
	}
}

// Word returns a verdict in words. For cells whose verdict is unclear, [Told] says more.
func Word(v stats.Verdict) string {
	switch v {
	case stats.Unclear:
		return string(unknown)
	case stats.Same:
		return string(same)
	}
	return string(v)
}

// sentence returns the answer's sentence about the given cells, which are of the kind k.
func (k kind) sentence(c *stats.Comparison, cells []*stats.Compared) string {
	where, more := inCells(cells, c), Settling(cells)
	switch k {
	case slower, faster:
		return fmt.Sprintf("%s is %s.", c.Second, ratiosThan(cells, (*stats.Compared).ShownRatio, where, c.First))
	case slowerMean, fasterMean:
		return fmt.Sprintf("%s is %s, but only because of some trials; typical ones differ by less than %s.", c.Second, ratiosThan(cells, means, " on average"+where, c.First), document.Share(c.Margin))
	case same:
		return fmt.Sprintf("There is no difference above %s between %s and %s%s.", document.Share(c.Margin), c.Second, c.First, where)
	case likelySlower, likelyFaster:
		return fmt.Sprintf("%s is probably %s: %s to be sure.", c.Second, ratiosThan(cells, (*stats.Compared).ShownRatio, where, c.First), more)
	case likelySame:
		mean := ""
		if m := cells[0].Means; len(cells) == 1 && m.Interval != nil {
			mean = fmt.Sprintf("; on average %s is %s", c.Second, document.Slower(m))
		}
		return fmt.Sprintf("Typical trials of %s and %s differ by less than %s%s%s: %s to be sure of the slow ones.", c.Second, c.First, document.Share(c.Margin), where, mean, more)
	case hopeless:
		return fmt.Sprintf("There is no clear difference between %s and %s%s, and more rounds won't show one.", c.Second, c.First, where)
	case failuresUnknown:
		return fmt.Sprintf("It is not known yet whether %s fails more often than %s%s%s: %s.", c.Second, c.First, where, failedShares(cells), more)
	}
	within := ""
	if i := cells[0].ShownRatio().Interval; len(cells) == 1 && i != nil {
		within = ", " + document.SlowerRange(i)
	}
	return fmt.Sprintf("It is not known yet whether %s is slower than %s%s%s: %s.", c.Second, c.First, where, within, more)
}

// ratiosThan describes the ratios of cells, such as "33% slower than mattn in simple insert (30% to
// 36%)". The parameter "than" is the name of the other side, and "where" says which cells these
// are. The function "ratio" returns the ratio of a cell. For several cells, the text has the smallest
// and the greatest ratio.
func ratiosThan(cells []*stats.Compared, ratio func(*stats.Compared) stats.Summary, where, than string) string {
	by, within := ratioWords(cells, ratio)
	if within != "" {
		within = " (" + within + ")"
	}
	return document.Than(by, than) + where + within
}

func means(x *stats.Compared) stats.Summary { return x.Means }

// ratioWords describes ratios of cells. The function "of" returns the ratio of a cell. For one
// cell, the result "by" is like "33% slower", and the result "within" is the interval. For several
// cells, "by" is the range of their ratios, and "within" is "".
func ratioWords(cells []*stats.Compared, of func(*stats.Compared) stats.Summary) (by, within string) {
	amount := slices.ContainsFunc(cells, func(x *stats.Compared) bool { return x.Metric != stats.Time })
	s := of(cells[0])
	if len(cells) > 1 {
		i := &stats.Interval{Low: math.Inf(1)}
		for _, x := range cells {
			m := of(x).Median
			i.Low, i.High = min(i.Low, m), max(i.High, m)
		}
		low, high := stats.Summary{Median: i.Low}, stats.Summary{Median: i.High}
		switch {
		case amount && document.MoreBy(low) != document.MoreBy(high):
			return document.MoreRange(i), ""
		case !amount && document.SlowerBy(low) != document.SlowerBy(high):
			return document.SlowerRange(i), ""
		}
		s = low
	}
	by, within = document.SlowerBy(s), document.SlowerWithin(s)
	if amount {
		by, within = document.MoreBy(s), document.MoreWithin(s)
	}
	if len(cells) > 1 {
		within = ""
	}
	return by, within
}

// RatioOf returns the ratio of a cell in words, such as "33% slower (30% to 36%)" or "10% more memory
// (8% to 12%)".
func RatioOf(x *stats.Compared) string { return RatioAt(x, 0) }

// RatioAt is like [RatioOf], but also names the confidence level of the interval, as in "33% slower
// (30% to 36%, 99% interval)". It does not name a level of 0.
func RatioAt(x *stats.Compared, level float64) string {
	by, within := ratioWords([]*stats.Compared{x}, (*stats.Compared).ShownRatio)
	if x.Metric != stats.Time {
		by += " " + string(x.Metric)
	}
	if level != 0 && x.ShownRatio().Interval != nil {
		within += ", " + document.Share(level) + " interval"
	}
	return by + " (" + within + ")"
}

// Ratios describes the ratios of the given cells of a table. For several cells, the text has the range of
// their ratios. For a single cell, it has the interval, and also the cell's name if the table has other
// cells. The parameter "of" is the number of cells in the table. The text contains no parentheses, so
// callers can put it in parentheses.
func Ratios(cells []*stats.Compared, of int) string {
	by, within := ratioWords(cells, (*stats.Compared).ShownRatio)
	if metric := cells[0].Metric; metric != stats.Time && !slices.ContainsFunc(cells, func(x *stats.Compared) bool { return x.Metric != metric }) {
		by += " " + string(metric)
	}
	words := by
	if within != "" {
		words += ", " + within
	}
	if len(cells) == 1 && of > 1 {
		return cells[0].String() + ": " + words
	}
	return words
}

func failuresTold(c *stats.Comparison, v stats.Verdict, words string) []string {
	cells := cellsThat(c, func(x *stats.Compared) bool { return x.Verdict == v })
	if cells == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s operations of %s failed than of %s in %s%s.", words, c.Second, c.First, ofCells(len(cells), c), failedShares(cells))}
}

// failedShares returns the shares of failed operations of a single cell, in parentheses. For
// several cells, it returns "".
func failedShares(cells []*stats.Compared) string {
	if len(cells) > 1 {
		return ""
	}
	f := cells[0].Failing
	return fmt.Sprintf(" (%s against %s)", stats.FailedShare(f.Second), stats.FailedShare(f.First))
}

func missing(c *stats.Comparison) (sentences []string) {
	for i, name := range []string{c.First, c.Second} {
		var phases conditions.Groups[result.Status, stats.TableName]
		for _, x := range c.Cells {
			side := []*stats.Cell{x.First, x.Second}[i]
			if x.Verdict == stats.Bad && side.Status != result.OK {
				conditions.AddOnce(&phases, side.Status, atFault(x, side))
			}
		}
		for _, s := range phases.Keys {
			sentences = append(sentences, fmt.Sprintf("%s is %s in %s.", name, document.States[s], ofCells(len(phases.Of[s]), c)))
		}
	}
	return sentences
}

// atFault names the phase whose fault leaves a side of a cell without figures. It may be another phase
// than the phase of the cell, because one failed phase leaves all phases of its trials without figures.
func atFault(x *stats.Compared, side *stats.Cell) stats.TableName {
	name := x.TableName
	if side.Status != result.OK && side.Reason != nil && side.Reason.Phase != "" {
		name.Phase = side.Reason.Phase
	}
	return name
}

func ofCells(n int, c *stats.Comparison) string {
	if len(c.Cells) == 1 {
		return "the one cell"
	}
	return fmt.Sprintf("%d of %d cells", n, len(c.Cells))
}

// inCells says in which cells something was found. It names a single cell, and counts several
// cells. It returns "" if the comparison has only one cell.
func inCells(cells []*stats.Compared, c *stats.Comparison) string {
	switch {
	case len(c.Cells) == 1:
		return ""
	case len(cells) == 1:
		return " in " + cells[0].String()
	}
	return " in " + ofCells(len(cells), c)
}

// Settling says how many more rounds are needed until all the given cells have a clear verdict.
func Settling(cells []*stats.Compared) string {
	rounds := 0
	for _, x := range cells {
		rounds = max(rounds, x.Rounds)
	}
	if rounds >= stats.MaxRounds {
		return "more than " + document.Thousands(stats.MaxRounds) + " more rounds"
	}
	return fmt.Sprintf("%s (%s)", document.Counted(int64(rounds), "more round"), document.Elapsed(TimeToSettle(cells)))
}

// TimeToSettle returns how long further rounds take until all the given cells have a clear verdict.
// If several cells belong to the same cases, the same trials measure them, so their time counts
// once.
func TimeToSettle(cells []*stats.Compared) (sum time.Duration) {
	longest := map[[2]int]time.Duration{} // longest time, by the IDs of the cases of both sides
	for _, x := range cells {
		cases := [2]int{x.First.Case.ID, x.Second.Case.ID}
		if x.Time > longest[cases] {
			sum += x.Time - longest[cases]
			longest[cases] = x.Time
		}
	}
	return sum
}

// MoreRounds formats an estimate of n further rounds. The parameter "took" is the time that these
// rounds take.
func MoreRounds(n int, took time.Duration) string {
	if n >= stats.MaxRounds {
		return "more than " + document.Thousands(stats.MaxRounds) + " rounds"
	}
	return fmt.Sprintf("%s, %s", document.Counted(int64(n), "round"), document.Elapsed(took))
}
