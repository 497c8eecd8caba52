package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Build returns the report of a run as text and tables, without pictures.
func Build(a *stats.Analysis, o Options) document.Document {
	said := AnswersOf(a, o)
	d := document.Document{document.Heading{Level: 1, Text: said.Text}}
	if l := said.Alternatives(); l != nil {
		d = append(d, l)
	}
	sure := document.List{{Label: "how sure", Text: HowSure(a, &said, o)}}
	d = append(d, header(a, o, append(sure, caveatItems(said.Caveats, o.Study == nil)...))...)
	if o.Study != nil {
		return append(append(d, studyTables(a, o.Study)...), conditions.DriverNotes(a)...)
	}
	d = append(d, conditions.Expectations(a.Expectations())...)
	d = append(d, overall(a)...)
	d = append(d, timeAndMemory(a, memoryTable(a)...)...)
	d = append(d, firsts(said)...)
	eachSection(a, func(f *stats.Factorial) { d = append(d, factorial(a, f, o.Hints)...) },
		func(g *stats.Group) { d = append(d, group(a, g, o.Hints)...) })
	d = append(d, impreciseFigures(a, o.Hints)...)
	d = append(d, conditions.Drivers(a)...)
	d = append(d, document.Space{})
	if r := reliability(a); r != "" {
		d = append(d, document.Paragraph{Text: r})
	}
	d = append(d, legend(a)...)
	return append(d, conditions.DriverNotes(a)...)
}

// orderNote names the drivers that a table lists after the base (the driver that ratios are
// relative to) although their ratio is below 1. That can happen because the table is ordered by
// medians, not by ratios.
func orderNote(t *stats.Table, measured []*stats.Cell) string {
	var words []string
	for _, c := range measured[t.Base+1:] {
		if t.Base >= 0 && c.Unranked == "" && c.Ratio.N > 0 && c.Ratio.Median < 0.995 {
			words = append(words, fmt.Sprintf("%s is %s", conditions.Name(c.Outcome), document.Than(document.SlowerBy(*c.Ratio), conditions.Name(measured[t.Base].Outcome))))
		}
	}
	if words == nil {
		return ""
	}
	return "rows are in the order of their medians; compared within rounds, " + strings.Join(words, "; ")
}

// floorNote names the drivers that are faster than the floor (plain C) and have another SQLite: another
// version or other compile options. The floor is a lower bound only for drivers with the same SQLite.
func floorNote(t *stats.Table, measured []*stats.Cell) string {
	if !t.IsFloor {
		return ""
	}
	floor := measured[t.Base]
	var faster []string
	for i, c := range measured {
		test, ok := t.Against(i, t.Base)
		if ok && test.Significant() && test.Sign() < 0 && conditions.SQLiteBuild(c.Outcome) != conditions.SQLiteBuild(floor.Outcome) {
			faster = append(faster, fmt.Sprintf("%s (SQLite %s)", conditions.Name(c.Outcome), conditions.SQLiteBuild(c.Outcome)))
		}
	}
	if faster == nil {
		return ""
	}
	return fmt.Sprintf("%s: faster than %s (SQLite %s). Plain C is a lower bound only for drivers with the same version and compile options of SQLite: "+
		"another SQLite may choose another plan, or do the same work faster", strings.Join(faster, ", "), conditions.Label(floor.Case), conditions.SQLiteBuild(floor.Outcome))
}

// header says when and how a run was measured. The items of the parameter "first" come before the
// items about the machine.
func header(a *stats.Analysis, o Options, first document.List) document.Document {
	run := a.Run
	took := "not ended"
	if !run.Ended.IsZero() {
		took = document.Elapsed(run.Ended.Sub(run.Started))
	}
	title := fmt.Sprintf("sqlite3perf %s · run %d · %s · %s", run.Version, run.ID, run.Started.UTC().Format("2006-01-02 15:04:05 MST"), took)
	l := append(first, document.Item{Label: "machine", Text: conditions.Over(run.Host) + conditions.Machine(run.Machine) + conditions.Stolen(run)})
	storage := conditions.Storage(run.Machine)
	if !slices.ContainsFunc(first, func(it document.Item) bool { return it.Text == storage }) { // a warning may already have the same text
		l = append(l, document.Item{Label: "databases", Text: storage, Alarm: run.Machine.SyncFree})
	}
	rounds := conditions.Stopped(a)
	if turns := conditions.Turns(run); turns != "" {
		rounds += ", drivers " + turns
	}
	l = append(l, document.List{
		{Label: "work", Text: fmt.Sprintf("scale %s, seed %d", run.Scale, run.Seed)},
		{Label: "rounds", Text: rounds, Alarm: run.Stopped == result.StoppedInterrupted || run.Stopped == ""},
	}...)
	l = append(l, conditions.Resume(a, o.Hints)...)
	l = append(l, conditions.HookItems(run)...)
	l.Note(document.Item{Label: "baseline", Text: document.Line(run.Baseline)})
	l.Note(document.Item{Label: "repeated", Text: conditions.CountRepeated(run).String()})
	l = append(l, verdicts(a, o.Hints)...)
	l.Note(document.Item{Label: "command", Text: conditions.CommandLine(run.Command)})
	return append(document.Document{document.Heading{Level: 1, Text: title}, l}, conditions.NoiseDetails(a)...)
}

// judgedEarly reports whether a run was judged repeatedly while it measured, so that it could end
// as soon as the verdict was clear.
func judgedEarly(run *result.Run) bool { return run.Compares != nil && run.Compares.Looks }

// verdicts says, for a run that compares two sides (such as two drivers), which command shows the
// verdicts. If the run was judged while it measured, verdicts also warns that the p-values and
// intervals of this report are not corrected for that.
func verdicts(a *stats.Analysis, h document.Hints) (l document.List) {
	if a.Run.Compares == nil {
		return nil
	}
	comparison := cmp.Or(h.Compare, "a comparison of its sides")
	if !judgedEarly(a.Run) {
		return document.List{{Label: "verdicts", Text: comparison + " shows the verdict on each cell, with its interval"}}
	}
	return document.List{{Label: "verdicts", Text: "this run " + answered(a) + ", so the p-values below are too small and the intervals too narrow for verdicts: " +
		comparison + " shows corrected ones", Alarm: true}}
}

func answered(a *stats.Analysis) string {
	switch a.Run.Stopped {
	case result.StoppedSettled:
		return "ended when its question was answered"
	case result.StoppedTime:
		return "was judged again and again until its time was over"
	case result.StoppedInterrupted:
		return "was judged again and again until it was interrupted"
	}
	return "was to end when its question was answered"
}

// leftOut lists the workloads that were not measured, with the flag that would include them, and
// the drivers that were not measured, with the reason.
func leftOut(list []result.LeftOut, h document.Hints) string {
	var workloads, words []string
	for _, x := range list {
		if x.Code == result.LeftOutTime {
			workloads = append(workloads, x.Workload)
		} else {
			words = append(words, x.Message)
		}
	}
	if len(workloads) > 0 {
		why := strings.Join(workloads, ", ") + ", for which the default time is too short"
		if h.Workloads != "" {
			why += ": " + h.Workloads + " " + strings.Join(workloads, ",") + " measures them"
		}
		words = slices.Insert(words, 0, why)
	}
	return strings.Join(words, "; ")
}

func groupTitle(g *stats.Group) string {
	if v := g.Variant(); v != "" {
		return g.Workload + " · " + v
	}
	return g.Workload
}

// groupHead returns the heading of a group, and the settings and parameters that its title does
// not name.
func groupHead(g *stats.Group, level int) document.Document {
	varied := document.Map(g.Varied, func(v stats.Variation) string { return v.Name })
	return append(document.Document{document.Heading{Level: level, Text: groupTitle(g)}}, measuredWith(g.Outcomes[0].Case, varied)...)
}

func group(a *stats.Analysis, g *stats.Group, h document.Hints) document.Document {
	d := groupHead(g, 2)
	for _, t := range g.Tables {
		d = append(d, phase(a, t, h)...)
	}
	d = append(d, conditions.Troubles(g, result.WarningUnverified)...)
	return append(d, conditions.ReadLater(g.Outcomes)...)
}

// unverifiedIn returns the messages of the cells' warnings about a phase whose code is
// WarningUnverified. Each message is listed once.
func unverifiedIn(cells []*stats.Cell, phase string) []string {
	var list []string
	for _, c := range cells {
		for _, w := range c.Warnings {
			if w.Code == result.WarningUnverified && w.Phase == phase {
				list = distinct.Append(list, w.Message)
			}
		}
	}
	return list
}

// measuredWith lists the parameters and settings of a case, except those whose names are in the
// list "varied".
func measuredWith(c *result.Case, varied []string) (d document.Document) {
	fixed := document.Map(slices.Sorted(maps.Keys(c.Parameters)), func(n string) string { return fmt.Sprintf("%s=%d", n, c.Parameters[n]) })
	fixed = slices.DeleteFunc(append(fixed, conditions.Settings(c)...), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(varied, name)
	})
	if len(fixed) > 0 {
		d = append(d, document.Paragraph{Text: strings.Join(fixed, " "), Quiet: true})
	}
	if note := conditions.Changed(c); note != "" {
		d = append(d, document.List{document.Item{Label: "settings", Text: note}})
	}
	return d
}

// phase returns the table of a phase, with its latencies and notes.
func phase(a *stats.Analysis, t *stats.Table, h document.Hints) document.Document {
	measured := t.Measured()
	if len(measured) == 0 {
		return nil
	}
	d := append(phaseHead(a, t, measured), figures(a, t, measured))
	if l := latencies(measured); len(l.Rows) > 0 {
		d = append(d, document.Paragraph{Text: latencyTitle(measured)}, l)
	}
	return append(d, phaseNotes(t, measured, h))
}

func tableAnswer(a *stats.Analysis, t *stats.Table) string {
	r := tableRanking(a, stats.TableName{}, t, nil)
	text := r.Text + "."
	if r.Best == nil || !strings.HasPrefix(r.Text, r.Best.Name) { // a driver's name at the beginning is not capitalized
		text = document.Upper(text)
	}
	return strings.TrimSpace(text + " " + r.withoutDefect())
}

// phaseHead returns the heading of a phase. It adds the answer (which row is the fastest) if
// several rows have a rank.
func phaseHead(a *stats.Analysis, t *stats.Table, measured []*stats.Cell) document.Document {
	d := document.Document{document.Heading{Level: 3, Text: t.Phase + ": " + subject(measured)}}
	if r := ranking(t); len(r.Choices()) > 1 {
		d = append(d, document.Paragraph{Text: tableAnswer(a, t)})
	}
	return d
}

func phaseNotes(t *stats.Table, measured []*stats.Cell, h document.Hints) document.List {
	var below document.List
	if len(measured) == 2 {
		if test, ok := t.Against(1, 0); ok {
			verdict := "is not clearly slower or faster than"
			switch {
			case test.Significant() && test.Sign() > 0:
				verdict = "is slower than"
			case test.Significant():
				verdict = "is faster than"
			}
			text := fmt.Sprintf("%s %s %s: %s; it took longer in %s of the rounds",
				conditions.Name(measured[1].Outcome), verdict, conditions.Name(measured[0].Outcome), "p"+equals(document.Probability(test.Adjusted)), document.Percent((1+test.Delta)/2))
			if measured[0].TooShort() || measured[1].TooShort() {
				text += "; but the phase is too short to judge them by"
			}
			below = append(below, document.Item{Label: "compared", Text: text})
		}
	}
	warn := func(code, text string) { below.Note(conditions.KindOf(code).Item(text)) }
	warn(conditions.CaveatTooShort, conditions.TooShort(measured, h))
	for _, it := range conditions.UnsetIn(t) {
		below = append(below, conditions.UnsetItem([]string{measured[0].Case.Workload}, it.Label, it.Text))
	}
	if perSecond := ceiling(measured); perSecond > 0 {
		below = append(below, document.Item{Label: "ceiling", Text: fmt.Sprintf("%s req/s is the most that the load generator reaches here, in closed loop with %s and a server that does nothing",
			document.Human(perSecond), document.Counted(int64(measured[0].Samples[0].Load.Clients), "connection"))})
	}
	for _, c := range measured {
		if c.UnlikeFailures() {
			warn(conditions.CaveatUnranked, conditions.Name(c.Outcome)+": "+c.Unranked)
		}
	}
	for _, w := range unverifiedIn(measured, t.Phase) {
		if len(measured) > 1 {
			w += ": these figures are compared although the rows could not be verified"
		}
		warn(result.WarningUnverified, w)
	}
	below.Note(document.Item{Label: "note", Text: orderNote(t, measured)})
	below.Note(document.Item{Label: "note", Text: floorNote(t, measured)})
	below = append(below, caveatItems(addedNotes(t, measured, h), true)...)
	for _, c := range measured {
		warn(conditions.CaveatErrors, conditions.ErrorCounts(c))
		below.Note(document.Item{Label: "results", Text: conditions.ResultCounts(c)})
		if c.Skipped > 0 {
			below = append(below, document.Item{Label: "warning", Text: fmt.Sprintf("%s: no ratio of %s, since the base measured zero", conditions.Name(c.Outcome), document.Counted(int64(c.Skipped), "round")), Alarm: true})
		}
	}
	below.Note(document.Item{Label: "note", Text: conditions.BusyAtOnce(measured)})
	return below
}

func subject(cells []*stats.Cell) string {
	first := cells[0].Samples[0]
	included := ""
	if someFailed(cells) {
		included = ", failed ones included"
	}
	switch l := first.Load; {
	case l != nil && l.Rate > 0:
		return fmt.Sprintf("99th percentile of the latency, at %s requests per second%s", document.Number(l.Rate), included)
	case l != nil:
		return "time per request, with " + document.Counted(int64(l.Clients), "connection") + included
	}
	switch first.Metric {
	case result.MetricTimePerOp:
		return "time per operation" + included
	case result.MetricLatency:
		return fmt.Sprintf("99th percentile of the latency of %s, at a fixed rate%s", KindOfP99(cells), included)
	}
	for _, c := range cells {
		for _, s := range c.Samples {
			if s.Operations != first.Operations || s.Rows != first.Rows {
				return "time"
			}
		}
	}
	switch {
	case first.Operations == first.Rows:
		return "time for " + document.Counted(first.Rows, "row")
	case first.Rows == 0:
		return "time for " + document.Counted(first.Operations, "operation")
	}
	return "time for " + document.Counted(first.Operations, "operation") + ", " + document.Counted(first.Rows, "row")
}

func writeText(w io.Writer, a *stats.Analysis, opts Options) error {
	if opts.Lines > 0 {
		return writeScreen(w, a, opts)
	}
	return document.RenderText(w, Build(a, opts), opts.Options)
}
