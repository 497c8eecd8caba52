package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func answerText(a *stats.Analysis, o Options, s *Answers) string {
	if o.Study != nil {
		return studyAnswer(o.Study)
	}
	if a.Run.Compares != nil {
		return compare.Answer(stats.CompareRun(a))
	}
	if a.Run.Search != nil {
		return searchAnswer(a, s)
	}
	return runAnswer(a, s)
}

func runAnswer(a *stats.Analysis, s *Answers) string {
	return document.JoinKnown(" ", tablesAnswer(a, s), failuresAnswer(a), conditions.ExpectedAnswer(a.Expectations()))
}

// manyFailed is the smallest share of failed operations that an answer mentions. Failures that
// cost a row its rank are always mentioned.
const manyFailed = 0.01

// failuresAnswer names the rows in which many operations failed. It also names the rows that have
// no rank because their operations failed more often than those in other rows. It returns "" if
// there are no such rows.
func failuresAnswer(a *stats.Analysis) string {
	type row struct {
		name  string
		share float64
	}
	var some, out []row
	eachRow(a, func(n stats.TableName, c *stats.Cell) {
		failed, operations := c.Failures()
		share := float64(failed) / float64(max(operations, 1))
		x := row{fmt.Sprintf("%s %s (%s)", n, nameOf(c), document.Percent(share)), share}
		switch {
		case failed == 0:
		case c.UnlikeFailures():
			out = append(out, x)
		case share >= manyFailed:
			some = append(some, x)
		}
	})
	named := func(rows []row) string {
		slices.SortStableFunc(rows, func(x, y row) int { return cmp.Compare(y.share, x.share) })
		return document.SomeOf(document.Map(rows, func(x row) string { return x.name }), 3)
	}
	var sentences []string
	if some != nil {
		sentences = append(sentences, "Operations failed: "+named(some)+".")
	}
	if out != nil {
		sentences = append(sentences, "Not ranked, because more operations failed than of others"+seemTo(a)+": "+named(out)+".")
	}
	return strings.Join(sentences, " ")
}

func tablesAnswer(a *stats.Analysis, s *Answers) string {
	overall, settings := "", bestSettings(a)
	if s.Recommended != nil {
		return strings.TrimSpace(s.Recommended.Answer() + " " + settings)
	}
	if s.Overall != nil && s.Overall.Best != nil {
		overall = fmt.Sprintf("Over %s, %s.", document.Counted(int64(s.Overall.Tables), "cell"), s.Overall.Text)
	}
	switch {
	case settings != "" && overall != "" && len(a.Factorials) < workloads(a):
		return overall + " " + settings
	case cmp.Or(settings, overall) != "":
		return cmp.Or(settings, overall)
	}
	var figures []*Ranking // tables that have figures
	ranked := false
	for i := range s.Tables {
		if r := &s.Tables[i]; r.Of != "" {
			figures = append(figures, r)
			ranked = ranked || r.Best != nil
		}
	}
	switch {
	case len(figures) == 0 && conditions.HostLost(a):
		return fmt.Sprintf("There are no figures: after %s the machine went away.", document.Counted(int64(rounds(a)), "complete round"))
	case len(figures) == 0:
		return nothingMeasured(s)
	case !ranked:
		return fmt.Sprintf("Nothing is known yet: %s so far, and drivers are ranked after %d.", document.Counted(int64(rounds(a)), "complete round"), stats.MinSamples)
	case len(figures) == 1:
		return fmt.Sprintf("In %s, %s.", where(figures[0]), figures[0].Text)
	}
	return severalTables(figures)
}

// races reports whether a run belongs to a search for settings and stopped measuring slow cases
// early. The run that confirms the result of the search measures all its cases, so races returns
// false for it.
func races(run *result.Run) bool { return run.Search != nil && !run.Search.Confirms }

func searchAnswer(a *stats.Analysis, s *Answers) string {
	race, n, said := document.Line(a.Run.Search.Race), rounds(a), runAnswer(a, s)
	if a.Run.Search.Confirms {
		if n < stats.MinSamples {
			said = ""
		}
		return strings.TrimSpace(fmt.Sprintf("This is a part of a search for settings by tune: %s, in %s. %s", race, document.Counted(int64(n), "round"), said))
	}
	if n < stats.MinSamples {
		said = "These are too few rounds to rank anything."
	}
	out, all := 0, 0
	for _, o := range a.Outcomes() {
		if all++; o.LeftAfter > 0 {
			out++
		}
	}
	return fmt.Sprintf("This is a race in a search for settings by tune: %s. It only chose what to measure next: of %s, %d were measured in all %d rounds, and the slower ones in fewer. %s", race, document.Counted(int64(all), "case"), all-out, n, said)
}

func workloads(a *stats.Analysis) int {
	names := map[string]bool{}
	for _, g := range a.Groups {
		names[g.Workload] = true
	}
	return len(names)
}

func where(r *Ranking) string {
	if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.TooShort }) {
		return fmt.Sprintf("%s (less than %s, too short to judge by)", r.Table, conditions.ShortLimit())
	}
	return r.Table.String()
}

// rounds counts the complete rounds of a run.
func rounds(a *stats.Analysis) int {
	if a.Run.Stopped != "" {
		return a.Run.Rounds
	}
	n, _ := conditions.WholeRounds(a.Run)
	return n
}

func nothingMeasured(s *Answers) string {
	count := map[string]int{}
	for _, c := range s.Caveats {
		count[c.Code] += c.Count
	}
	var words []string
	for _, code := range noFigures {
		if n := count[code]; n > 0 {
			words = append(words, fmt.Sprintf("%s %s", document.Counted(int64(n), "case"), code))
		}
	}
	if words == nil {
		return "Nothing was measured."
	}
	return "Nothing was measured: " + strings.Join(words, ", ") + "."
}

// severalTables returns the answer of a run without a summary: which row is most often the best, or
// that no best row is known.
func severalTables(tables []*Ranking) string {
	var first conditions.Groups[string, int]
	compared, decided, few, enough, now := 0, false, 0, 0, 0
	for i, r := range tables {
		if r.Best == nil || len(r.Choices()) < 2 {
			continue
		}
		compared++
		decided = decided || r.Next != nil
		if r.Enough > 0 {
			few++
			enough, now = max(enough, r.Enough), max(now, r.Rounds)
		}
		for _, n := range append([]string{r.Best.Name}, r.Tied...) {
			first.Add(n, i)
		}
	}
	if compared == 0 {
		alone := []string{}
		for _, r := range tables {
			for _, row := range r.Rows {
				if row.Median != nil && !slices.Contains(alone, row.Name) {
					alone = append(alone, row.Name)
				}
			}
		}
		return fmt.Sprintf("%s: measured in %s, each without another driver to compare with.", document.AndOthers(alone), document.Counted(int64(len(tables)), "cell"))
	}
	const none = "There is no summary, because fewer than two cells have comparable figures of all drivers."
	switch {
	case !decided && few > 0:
		return fmt.Sprintf("It is not known yet which is fastest in %s: %s so far, and %d may be enough in %d of them. %s",
			document.Counted(int64(compared), "cell"), document.Counted(int64(now), "round"), enough, few, none)
	case !decided:
		return fmt.Sprintf("There is no clear difference in %s. %s", document.Counted(int64(compared), "cell"), none)
	}
	slices.SortStableFunc(first.Keys, func(x, y string) int { return cmp.Compare(len(first.Of[y]), len(first.Of[x])) })
	n := first.Keys[0]
	return fmt.Sprintf("%s is fastest, alone or with others, in %d of %s. %s", n, len(first.Of[n]), document.Counted(int64(compared), "cell"), none)
}

func studyAnswer(r *Study) string {
	count := map[Verdict]int{}
	for _, c := range r.Claims {
		count[c.Verdict]++
	}
	if len(r.Claims) == 0 {
		return "The study " + r.Name + " has no claims that could be judged."
	}
	as := ""
	if r.AsPublished {
		as = ", measured as published, faults included"
	}
	return fmt.Sprintf("%s of the study %s%s: %s here, %s, %d cannot be told.", document.Counted(int64(len(r.Claims)), "claim"), r.Name, as,
		verb(count[Holds], "holds", "hold"), verb(count[DoesNotHold], "does not hold", "do not hold"), count[CannotBeTold])
}

func verb(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, document.Verb(n, one, many))
}
