package report

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func legend(a *stats.Analysis) document.Document {
	if !measuredAny(a) {
		return nil
	}
	effects := ""
	if slices.ContainsFunc(a.Factorials, func(f *stats.Factorial) bool { return len(f.Effects) > 0 }) {
		effects = " The p of a change by itself is corrected for all such changes of its workload instead (Benjamini-Hochberg), so it can differ from that of the same two rows in a table."
	}
	marks, tables := "", 0
	for range a.Tables() {
		tables++
	}
	if tables < 2 && len(conditions.HarmfulDefects(a)) > 0 { // with several tables, the list of tables already has this sentence
		marks = " " + HarmMeans
	}
	return document.Document{document.Paragraph{Text: fmt.Sprintf("A cell is a phase of a workload with its settings and parameters. Figures are medians over n trials, each in a fresh process on a fresh database; ± is the distance to the farther end of the %s "+
		"confidence interval%s. Where that is more than %s, both ends are shown, as (-30%% to +80%%). If the machine drifts during the run, intervals of medians are too narrow; intervals of ratios are not. Ratios are formed within rounds: the column × has their middle "+
		"(the Hodges-Lehmann estimate, a kind of median). Every two drivers are compared, and tied where %s "+
		"(p of %g or more, corrected for all comparisons of the table and the run); the column p has "+
		"only the comparisons with the base of the ratios.%s The interval of a ratio is not corrected for other comparisons, so two drivers can be tied although it leaves out 1. "+
		"A difference is clear if sqlite3perf compare also finds it at %s, otherwise probable. "+
		"CPU is user and system time over wall time; peak RSS is of the process tree.", document.Percent(stats.Confidence), ofLevel(a.Confidence), document.Percent(document.Widest), judgedBy(a), stats.Alpha, effects, document.Share(stats.Doubt)) + marks, Quiet: true}}
}

// judgedBy names the statistical tests by which a run calls two drivers tied.
func judgedBy(a *stats.Analysis) string {
	pairs := slices.Clone(a.Overall.Pairs)
	eachTable(a, func(_ stats.TableName, t *stats.Table) { pairs = append(pairs, t.Pairs...) })
	switch {
	case slices.ContainsFunc(pairs, func(p stats.Pair) bool { return p.FromT() }):
		return "a t test of their ratios, the signed-rank test and a permutation test, which all have to agree because the rounds are few, do not tell them apart"
	case a.Reliability.Exchanged:
		return "neither the signed-rank test of their ratios nor, because the rounds are few, a permutation test of the run tells them apart"
	}
	return "the signed-rank test of their ratios does not tell them apart"
}

// ofLevel explains why intervals are computed with a higher confidence than [stats.Confidence]. It
// returns "" if the parameter "confidence" is [stats.Confidence].
func ofLevel(confidence float64) string {
	if confidence == stats.Confidence {
		return ""
	}
	return " (computed a little wider, because cases stop when it is narrow)"
}

func measuredAny(a *stats.Analysis) bool {
	return slices.ContainsFunc(a.Groups, func(g *stats.Group) bool {
		return slices.ContainsFunc(g.Tables, func(t *stats.Table) bool { return len(t.Measured()) > 0 })
	})
}

// reliability says how many false verdicts to expect in all tables of a run together.
func reliability(a *stats.Analysis) string {
	r := a.Reliability
	if judgedEarly(a.Run) || r.Tables < 2 || len(a.Overall.Tables)+len(a.Overall.LeftOut) == 1 { // a summary that covers only one table is not shown
		return ""
	}
	summary := ""
	if len(a.Overall.Pairs) > 0 {
		summary = ", one of which is the summary"
	}
	s := fmt.Sprintf("%s in %s%s. If all drivers were equal, the probability that this run tells any two of them apart would be at most %g%%.",
		document.Counted(int64(r.Comparisons), "comparison"), document.Counted(int64(r.Tables), "table"), summary, 100*stats.Alpha)
	for _, t := range a.Tables() {
		if someFailed(t.Measured()) {
			s += " For the comparisons of failed operations, there is another such probability."
			break
		}
	}
	if r.Telling > 0 {
		s += fmt.Sprintf(" Tables that tell drivers apart: %d. At most %g%% of such tables, here %.2g tables, are expected to be wrong and to tell equal drivers apart.",
			r.Telling, 100*stats.Alpha, r.FalseTables())
	}
	return s
}
