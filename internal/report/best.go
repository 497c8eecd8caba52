package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// bestSettings names for each table the fastest of the varied settings and parameters. It returns
// "" if the run varied none. It also returns "" if the run compares two sides (such as two
// drivers), because the comparison names the faster side.
func bestSettings(a *stats.Analysis) string {
	if a.Run.Compares != nil {
		return ""
	}
	var sentences, tied, few []string
	now, enough := 0, 0
	for _, f := range a.Factorials {
		for _, t := range f.Tables {
			r := ranking(t)
			r.Table = &stats.TableName{Workload: f.Workload, Phase: t.Phase}
			ranked := r.Choices()
			if len(ranked) < 2 {
				continue
			}
			if !slices.ContainsFunc(t.Pairs, func(p stats.Pair) bool { return p.Significant() }) {
				if n, of := fewest(t.Pairs); n > 0 {
					few, now, enough = append(few, where(&r)), max(now, of), max(enough, n)
				} else {
					tied = append(tied, where(&r))
				}
				continue
			}
			sentences = append(sentences, fmt.Sprintf("In %s, %s.", where(&r), r.best(ranked)))
		}
	}
	if few != nil {
		sentences = append(sentences, fmt.Sprintf("In %s, it is not known yet which is fastest: %s so far, and %d may be enough.", document.AndOthers(few), document.Counted(int64(now), "round"), enough))
	}
	if tied != nil {
		sentences = append(sentences, fmt.Sprintf("In %s, there is no clear difference.", document.AndOthers(tied)))
	}
	return strings.Join(sentences, " ")
}

// fewest finds the pairs in which one row is faster in every round, but which have too few rounds
// for a significant difference. The result "enough" is the number of rounds after which all of these
// pairs would differ significantly. The result "now" is the number of rounds so far. Both are 0 if
// there are no such pairs.
func fewest(pairs []stats.Pair) (enough, now int) {
	for _, p := range pairs {
		if n, few := p.TooFew(); few {
			enough, now = max(enough, n), max(now, p.N)
		}
	}
	return enough, now
}

// best names the fastest row and the data that its settings can lose, then the fastest row that can
// lose less, and so on until a row can lose nothing. If no row can lose less than the fastest, best
// names the next row. Rows that are slower and can lose more are left out.
func (r *Ranking) best(ranked []int) string {
	risk := func(i int) int { return r.Rows[i].risk }
	differ := slices.ContainsFunc(ranked, func(i int) bool { return risk(i) != risk(ranked[0]) })
	best := r.safest(ranked)
	words := r.fastest(best, ranked, differ)
	less := slices.DeleteFunc(slices.Clone(ranked), func(i int) bool { return risk(i) >= risk(best) })
	next := slices.IndexFunc(ranked, func(i int) bool { return i != best && risk(i) <= risk(best) && !r.tied(best, i) })
	if len(less) == 0 && next >= 0 {
		words += "; next is " + r.timed(ranked[next], best, "")
	}
	for len(less) > 0 {
		i := r.safest(less)
		tied := slices.DeleteFunc(slices.Clone(less), func(x int) bool { return risk(x) > risk(i) || !r.tied(i, x) })
		words += fmt.Sprintf("; the fastest that %s is %s", conditions.Losses[risk(i)].Only, r.timed(i, best, r.tiedNames(tied, "")))
		less = slices.DeleteFunc(less, func(x int) bool { return risk(x) >= risk(i) })
	}
	without := 0
	for _, row := range r.Rows {
		if row.Rank == 0 && !row.Floor {
			without++
		}
	}
	if without > 0 {
		words += fmt.Sprintf("; %s without a rank", document.Counted(int64(without), "row"))
	}
	return words
}

// safest returns the row that can lose the least data, among the rows that are not significantly
// slower than another row. If several rows can lose equally little, it returns the first.
func (r *Ranking) safest(rows []int) int {
	best := -1
	for _, i := range rows {
		beaten := slices.ContainsFunc(rows, func(other int) bool {
			test, ok := r.against(other, i)
			return ok && test.Significant() && test.Sign() < 0
		})
		if !beaten && (best < 0 || r.Rows[i].risk < r.Rows[best].risk) {
			best = i
		}
	}
	if best < 0 { // each row is slower than another: A than B, B than C, C than A
		return rows[0]
	}
	return best
}

// fastest returns a text saying that the row with the index "best" is the fastest, or which rows
// it is tied with. If the parameter "differ" is true, the text also says what data the row's
// settings can lose.
func (r *Ranking) fastest(best int, ranked []int, differ bool) string {
	tied := slices.DeleteFunc(slices.Clone(ranked), func(i int) bool { return !r.tied(best, i) })
	risk := r.Rows[best].risk
	loses, named := conditions.Losses[risk], r.Rows[best].Name
	switch {
	case len(tied) == 0 && !differ:
		return named + " is fastest"
	case len(tied) == 0 && risk == conditions.NothingLost:
		return named + " is fastest, and " + loses.Of
	case len(tied) == 0:
		return named + " is fastest, but " + loses.Of
	case !differ:
		return fmt.Sprintf("%s are fastest%s", r.names(append([]int{best}, tied...)), r.tooFew(best, tied))
	}
	more := ""
	switch safer := func(i int) bool { return r.Rows[i].risk <= risk }; {
	case !slices.ContainsFunc(tied, safer):
		more = ", which can lose more"
	case slices.ContainsFunc(tied, func(i int) bool { return !safer(i) }):
		more = ", some of which can lose more"
	}
	return fmt.Sprintf("none is clearly faster than %s, which %s%s%s", named, loses.Of, r.tiedNames(tied, more), r.tooFew(best, tied))
}

// tooFew names the rows in "tied" that are probably slower than row i, and says how many rounds
// may be enough to be sure. A row is named if it was slower than row i in all rounds so far.
// The text begins with ", but". tooFew returns "" if there are no such rows.
func (r *Ranking) tooFew(i int, tied []int) string {
	var rows []int
	enough, now := 0, 0
	for _, j := range tied {
		if test, ok := r.against(i, j); ok {
			if n, few := test.TooFew(); few {
				rows, enough, now = append(rows, j), max(enough, n), max(now, test.N)
			}
		}
	}
	if rows == nil {
		return ""
	}
	return fmt.Sprintf(", but %s %s probably slower: %d rounds may be enough to know, and there are %d", r.names(rows), document.Verb(len(rows), "is", "are"), enough, now)
}

// tiedNames lists, in brackets, the names of the rows in the list "tied", followed by the
// parameter "more". It returns "" if this list is empty.
func (r *Ranking) tiedNames(tied []int, more string) string {
	if len(tied) == 0 {
		return ""
	}
	return " (tied with " + r.names(tied) + more + ")"
}

func (r *Ranking) names(rows []int) string {
	names := document.Map(rows, func(i int) string { return r.Rows[i].Name })
	return document.AndOthers(names)
}

// timed returns the name of row i, then the text in "note", then the time of row i compared with
// the time of the row with the index "other".
func (r *Ranking) timed(i, other int, note string) string {
	if r.tied(other, i) {
		return r.Rows[i].Name + note + ", as fast as " + r.Rows[other].Name
	}
	ratio := r.ratio(i, other)
	return fmt.Sprintf("%s%s, %s", r.Rows[i].Name, note, document.Slower(ratio))
}

func (r *Ranking) tied(i, other int) bool { return slices.Contains(r.Rows[i].Tied, other) }
