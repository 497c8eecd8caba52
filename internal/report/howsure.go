package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// HowSure says how certain the answer of a run is: how many rounds it is based on, whether another
// row may be faster than the first row, and how precise the ratios of times are. The text is the
// same in every format.
func HowSure(a *stats.Analysis, said *Answers, opts Options) string {
	if a.Run.Compares != nil && opts.Study == nil {
		c := stats.CompareRun(a)
		return document.JoinKnown(". ", document.Counted(int64(rounds(a)), "round"), compare.HowSure(c))
	}
	measured := document.Counted(int64(rounds(a)), "round")
	var text []string
	shown := said.Tables
	if first := said.first(); first != nil && opts.Study == nil {
		shown = []Ranking{*first}
		if another := said.another(a, first); another != "" {
			text = append(text, another)
		}
	}
	switch n := said.leastRounds(); {
	case n > 0 && n < rounds(a):
		measured = "at least " + document.Counted(int64(n), "round")
		if len(said.Tables) > 1 {
			measured += " in each cell, as many as it needed"
		}
		if len(text) > 0 {
			measured = document.Upper(measured)
		}
		text = append(text, measured)
	case len(text) > 0:
		text[0] = measured + ": " + text[0]
	default:
		text = append(text, measured)
	}
	precise := ""
	if u := impreciseOf(a); opts.Study == nil && len(u.open) == 0 { // otherwise a warning counts the imprecise figures
		precise = u.sentence()
	}
	return document.JoinKnown(". ", append(text, exactness(shown), precise)...)
}

// howSureItem returns an item with the text of [HowSure]. If there is little room, it has only the
// first sentence, or says in how many cells the fastest driver was faster.
func howSureItem(a *stats.Analysis, said *Answers, opts Options) document.Item {
	it := document.Item{Label: "how sure", Text: HowSure(a, said, opts), Most: 3, Kept: true}
	if a.Run.Compares != nil || opts.Study != nil {
		return it
	}
	first, _, _ := strings.Cut(it.Text, ". ")
	it.Short = [2]string{first, first}
	if of, over, ok := said.fastest(); ok && said.Overall != nil {
		if c := cellByCell(a, of, over); c.n > 1 {
			it.Short[1] = fmt.Sprintf("%s was faster than %s in %s", of, over, c.words())
		}
	}
	return it
}

// first returns the ranking that the answer of a run is based on: the ranking of the summary or,
// without a summary, of the only table in which a row has a rank. It returns nil if there is no
// such ranking.
func (s *Answers) first() (first *Ranking) {
	if s.Overall != nil && s.Overall.Best != nil {
		return s.Overall
	}
	for i := range s.Tables {
		if r := &s.Tables[i]; r.Best != nil {
			if first != nil {
				return nil
			}
			first = r
		}
	}
	return first
}

// another says how sure it is that the recommended driver is the fastest. If no driver is
// recommended, it says how sure it is that the best row of the ranking "first" is the fastest.
func (s *Answers) another(a *stats.Analysis, first *Ranking) string {
	all := rounds(a)
	if s.Recommended == nil {
		return first.another(all)
	}
	of, over, ok := s.fastest()
	if !ok {
		return "" // the answer already says which drivers may be as fast as the fastest one
	}
	words := first.faster(first.rowOf(of), first.rowOf(over), all)
	if words == "" || first != s.Overall {
		return words
	}
	if c := cellByCell(a, of, over); c.n > 1 {
		return fmt.Sprintf("%s was faster than %s in %s (p<%g); overall, in %s", of, over, c.words(), stats.Alpha, first.roundsFaster(first.rowOf(of), first.rowOf(over), all))
	}
	return "overall, " + words
}

// fastest returns the recommended driver and the next driver. ok is true only if the driver is
// recommended because it is the fastest.
func (s *Answers) fastest() (driver, next string, ok bool) {
	if s.Recommended == nil || s.Recommended.Take == "" || len(s.Recommended.Because) == 0 {
		return "", "", false
	}
	why := s.Recommended.Because[0]
	return why.Of, why.Over, why.Advantage == recommend.Faster
}

// rowOf returns the index of a driver's first row, or -1.
func (r *Ranking) rowOf(driver string) int {
	return slices.IndexFunc(r.Rows, func(row Row) bool { return row.driver == driver })
}

// cells counts the cells of a run in which a driver is faster or slower than another driver.
type cells struct {
	n      int // cells in which the two drivers were compared
	faster int // cells in which the driver is faster, at least probably
	slower int // cells in which the driver is slower, at least probably
}

// words says in how many cells the driver is faster and slower: "12 of 15 cells, slower in none".
func (c *cells) words() string {
	slower := "none"
	if c.slower > 0 {
		slower = fmt.Sprint(c.slower)
	}
	return fmt.Sprintf("%d of %d cells, slower in %s", c.faster, c.n, slower)
}

// cellByCell compares a driver with another driver in each cell, because a driver that is faster over all cells
// need not be faster in each cell. The command `sqlite3perf compare` finds the same differences.
func cellByCell(a *stats.Analysis, driver, than string) (c cells) {
	for _, x := range stats.CompareDrivers(a, than, driver, stats.UsualMargin).Cells {
		if x.InRun == nil {
			continue
		}
		c.n++
		switch x.Likely() {
		case -1:
			c.faster++
		case 1:
			c.slower++
		}
	}
	return c
}

// faster says in how many rounds row i was faster than row j. It returns "" if the number is not
// known.
func (r *Ranking) faster(i, j, all int) string {
	in := r.roundsFaster(i, j, all)
	if in == "" {
		return ""
	}
	return fmt.Sprintf("%s was faster than %s in %s", r.Rows[i].Name, r.Rows[j].Name, in)
}

// roundsFaster says in how many rounds row i was faster than row j, such as "all 7 rounds that have all
// cells (p=0.025)". It returns "" if the number is not known.
func (r *Ranking) roundsFaster(i, j, all int) string {
	if i < 0 || j < 0 {
		return ""
	}
	test, ok := r.against(i, j)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s (p%s)", r.agreed(test, all), equals(document.Probability(test.Adjusted)))
}

// another says whether another row may be faster than the best row: which rows are tied with it,
// and in how many rounds the next row was slower. The parameter "all" is the number of rounds of
// the run. another returns "" if the ranking has no other row.
func (r *Ranking) another(all int) string {
	var words []string
	if r.Next != nil {
		faster := r.faster(r.at(r.Best), r.at(r.Next), all)
		if faster == "" {
			return ""
		}
		words = append(words, faster)
	}
	if len(r.Tied) > 0 {
		words = append(words, fmt.Sprintf("%s may be as fast or faster", document.AndOthers(r.Tied)))
		if r.Next == nil {
			words[0] = fmt.Sprintf("%s may be as fast as %s or faster", document.AndOthers(r.Tied), r.Best.Name)
		}
	}
	return strings.Join(words, "; ")
}

// agreed says in how many rounds the first of the two rows of a test was faster than the second
// row. The parameter "all" is the number of rounds of the run.
func (r *Ranking) agreed(t stats.Test, all int) string {
	n := int((1-t.Delta)/2*float64(t.N) + 0.5)
	switch {
	case n == t.N && n == all:
		return "every round"
	case n == t.N:
		have := "both have"
		if r.Table == nil {
			have = "have all cells"
		}
		return "all " + document.Counted(int64(n), "round") + " that " + have
	}
	return fmt.Sprintf("%d of %s", n, document.Counted(int64(t.N), "round"))
}

// equals puts an equals sign before a formatted probability. It returns a probability that begins
// with another sign, such as "<0.001", unchanged.
func equals(p string) string {
	if strings.HasPrefix(p, "<") {
		return p
	}
	return "=" + p
}

// Figures whose spread is greater than the constant rough are called rough. A spread is the distance
// from a figure to the farther end of its interval, divided by the figure.
const rough = 0.25

// exactness returns a sentence with the largest spread of all ratios in the rankings. If the
// rankings have no ratios, it uses the times instead. It returns "" if there is no interval.
func exactness(list []Ranking) string {
	what, most := "", 0.0
	add := func(kind string, s *stats.Summary) {
		if s == nil || s.Interval == nil {
			return
		}
		if v, ok := s.Spread(); ok {
			what, most = kind, max(most, v)
		}
	}
	for i := range list {
		for _, row := range list[i].Rows {
			if row.Ratio != nil && row.Name != list[i].Base {
				add("ratios", row.Ratio)
			}
		}
	}
	if what == "" {
		for i := range list {
			for _, row := range list[i].Rows {
				add("times", row.Median)
			}
		}
	}
	switch {
	case what == "":
		return ""
	case len(list) == 1 && list[0].Table == nil:
		what += " over all cells"
	}
	known := fmt.Sprintf("known to ±%s or better", document.Percent(most))
	if most > rough {
		known = fmt.Sprintf("rough, ±%s at worst", document.Percent(most))
	}
	return fmt.Sprintf("The %s are %s (%s intervals)", what, known, document.Percent(stats.Confidence))
}

// leastRounds returns the smallest number of rounds of any ranking, or 0 if nothing is ranked. The rankings'
// numbers of rounds differ, because a case is not measured any more when its figures are precise enough.
func (s *Answers) leastRounds() (least int) {
	rankings := s.Tables
	if s.Overall != nil {
		rankings = append(slices.Clone(rankings), *s.Overall)
	}
	for _, r := range rankings {
		if r.Rounds > 0 && (least == 0 || r.Rounds < least) {
			least = r.Rounds
		}
	}
	return least
}
