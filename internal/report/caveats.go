package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// noFigures has the codes of warnings about cases without figures, the worst first.
var noFigures = []string{string(result.Wrong), string(result.Refused), string(result.Failed), conditions.CaveatUnsupported, string(result.Unavailable), string(stats.NotMeasured)}

// caveats lists the warnings of a run, the worst first. The parameter "tables" has the rankings in
// the run's answers.
func caveats(a *stats.Analysis, o Options, tables []Ranking) []conditions.Caveat {
	run := a.Run
	list := []conditions.Caveat{}
	note := func(code string, count int, text string) {
		if count > 0 && text != "" {
			list = append(list, conditions.Caveat{Code: code, Count: count, Text: text})
		}
	}
	say := func(code string, count int, arguments ...any) {
		note(code, count, conditions.Sentence(code, arguments...))
	}
	list = append(list, withoutFigures(a)...)
	if run.Stopped == result.StoppedInterrupted || run.Stopped == "" {
		how := "the run has not ended, or was killed,"
		if run.Stopped != "" {
			how = "the run was interrupted"
		}
		list = append(list, conditions.Caveat{Code: conditions.CaveatEnded, Count: rounds(a), Text: conditions.Sentence(conditions.CaveatEnded, how, document.Counted(int64(rounds(a)), "complete round"))})
	}
	if o.Study == nil {
		expected := a.Expectations()
		unmet, open := conditions.ExpectedWith(expected, stats.NotMet), conditions.ExpectedWith(expected, stats.Undecided)
		say(conditions.CaveatUnmet, len(unmet), document.SomeOf(unmet, 3))
		say(conditions.CaveatUndecided, len(open), document.SomeOf(open, 3))
	}
	say(conditions.CaveatUnranked, len(unranked(a)), seemTo(a), document.SomeOf(unranked(a), 3))
	say(conditions.CaveatErrors, len(saidErrors(a)), document.SomeOf(saidErrors(a), 2))
	doubtfulTables(a, say)
	var led []string
	for _, r := range tables {
		if r.Added {
			led = append(led, fmt.Sprintf("%s (%s before %s)", r.Table, r.Best.Name, r.Next.Name))
		}
	}
	say(conditions.CaveatAdded, len(led), document.SomeOf(led, 3))
	if o.Study == nil {
		_, risks := conditions.RunRisks(a)
		list = append(list, risks...)
		known, defect := conditions.DefectCaveat(a)
		note(conditions.CaveatDefect, known, defect)
		names, text := conditions.UnsetInRun(a)
		note(conditions.CaveatUnset, names, text)
		open, text := Settled(a)
		note(conditions.CaveatUnsettled, open, text)
		left := notInSummary(a.Overall)
		if len(a.Overall.Tables)+len(a.Overall.LeftOut) < 2 {
			left = nil // a run with one table has no summary that could leave the table out
		}
		say(conditions.CaveatSummary, len(left), document.SomeOf(left, 2))
	}
	if run.Machine.SyncFree {
		note(result.WarningSync, 1, conditions.Storage(run.Machine))
	}
	list = append(list, warned(a)...)
	note(conditions.CaveatLeftOut, len(run.LeftOut), leftOut(run.LeftOut, o.Hints))
	conditions.SortCaveats(list)
	return list
}

// doubtfulTables calls the function "say" to warn of rows with too few samples for a rank, and of
// tables whose rows cannot be verified or whose phase is too short.
func doubtfulTables(a *stats.Analysis, say func(code string, count int, arguments ...any)) {
	few, short, unverified := 0, []string{}, []string{}
	for g, t := range a.Tables() {
		n := g.Named(t)
		measured := t.Measured()
		for _, c := range measured {
			if len(c.Samples) < stats.MinSamples {
				few++
			}
		}
		if slices.ContainsFunc(measured, (*stats.Cell).TooShort) {
			short = append(short, n.String())
		}
		if len(unverifiedIn(measured, t.Phase)) > 0 {
			unverified = append(unverified, n.String())
		}
	}
	say(conditions.CaveatFewRounds, few, verb(few, "row has", "rows have"), stats.MinSamples)
	say(result.WarningUnverified, len(unverified), document.SomeOf(unverified, 3))
	say(conditions.CaveatTooShort, len(short), conditions.ShortLimit(), document.SomeOf(short, 3))
}

func withoutFigures(a *stats.Analysis) (list []conditions.Caveat) {
	type trouble struct {
		code string
		why  string
	}
	type place struct{ driver, workload string }
	var whose conditions.Groups[trouble, place]
	for g, o := range a.OutcomesByGroup() {
		if o.Status != result.OK {
			code := string(o.Status)
			if o.Status == result.Failed && o.Reason.Code == protocol.CodeUnsupported {
				code = conditions.CaveatUnsupported
			}
			whose.Add(trouble{code, message(o)}, place{conditions.Label(o.Case), g.Workload})
		}
	}
	for _, t := range whose.Keys {
		var drivers, workloads []string
		for _, p := range whose.Of[t] {
			drivers, workloads = distinct.Append(drivers, p.driver), distinct.Append(workloads, p.workload)
		}
		list = append(list, conditions.Caveat{Code: t.code, Count: len(whose.Of[t]), Text: fmt.Sprintf("%s on %s: %s", document.AndOthers(drivers), document.AndOthers(workloads), t.why)})
	}
	return list
}

func notInSummary(o stats.Overall) (list []string) {
	type reason struct{ code, drivers, workload string }
	var tables conditions.Groups[reason, string]
	for _, x := range o.LeftOut {
		tables.Add(reason{x.Code, document.AndOthers(x.Drivers), x.Table.Workload}, x.Table.String())
	}
	for _, k := range tables.Keys {
		of, n := tables.Of[k][0], len(tables.Of[k])
		if n > 1 {
			of = fmt.Sprintf("%d cells of %s", n, k.workload)
		}
		why := map[string]string{
			stats.NoFigures:    "no figures of " + k.drivers,
			stats.MoreFailed:   "more operations of " + k.drivers + " failed than of others",
			stats.FailuresOpen: "it is not known yet whether more operations of " + k.drivers + " fail than of others",
			stats.ShortPhase:   fmt.Sprintf("less than %s is too short to judge %s by", conditions.ShortLimit(), k.drivers),
		}
		list = append(list, fmt.Sprintf("%s (%s), for all drivers", of, why[k.code]))
	}
	for _, x := range o.Absent {
		list = append(list, fmt.Sprintf("%s (figures in %d of %s)", x.Driver, x.Figures, document.Counted(int64(x.Tables), "cell")))
	}
	return list
}

// message says why a case has no figures. It leaves out the output of the case's worker.
func message(o *stats.Outcome) string {
	if o.Reason.Phase != "" && o.Reason.Code != protocol.CodeNoTrial {
		return o.Reason.Phase + ": " + o.Reason.Message
	}
	return o.Reason.Message
}

// seemTo returns ", or seem to" if more operations seem to fail in some row than in other rows, but
// the difference is not significant yet. Otherwise it returns "".
func seemTo(a *stats.Analysis) (words string) {
	eachTable(a, func(_ stats.TableName, t *stats.Table) {
		if slices.ContainsFunc(t.Cells, func(c *stats.Cell) bool { return c.FailsOpen }) {
			words = ", or seem to"
		}
	})
	return words
}

// unranked lists the rows that have no rank because more of their operations failed, or probably
// failed, than in other rows. Each row is listed once.
func unranked(a *stats.Analysis) (list []string) {
	eachRow(a, func(n stats.TableName, c *stats.Cell) {
		if failed, operations := c.Failures(); c.UnlikeFailures() {
			list = append(list, fmt.Sprintf("%s %s (%s ok)", n, nameOf(c), document.PercentOK(failed, operations)))
		}
	})
	return list
}

// eachRow calls f once with each row that has figures, even if the row is in two tables.
func eachRow(a *stats.Analysis, f func(stats.TableName, *stats.Cell)) {
	type row struct {
		id    int // ID of the case
		phase string
	}
	done := map[row]bool{}
	eachTable(a, func(n stats.TableName, t *stats.Table) {
		for _, c := range t.Measured() {
			if k := (row{c.Case.ID, t.Phase}); !done[k] {
				done[k] = true
				f(n, c)
			}
		}
	})
}

// saidErrors lists the rows of replays in which operations failed with errors other than locks.
// Each row has the driver's message for one of these errors.
func saidErrors(a *stats.Analysis) (list []string) {
	for g, t := range a.Tables() {
		n := g.Named(t)
		for _, c := range t.Measured() {
			for _, e := range conditions.Totals(c, func(s stats.Sample) []protocol.ErrorCount { return s.Errors }) {
				if e.Message != "" {
					list = append(list, fmt.Sprintf("%s %s: %s", n, conditions.Label(c.Case), conditions.WithMessage(e)))
					break // one error per row; the full report lists the others
				}
			}
		}
	}
	return list
}

// warned returns the warnings that were recorded with the run and with its cases, in the form in which
// they are shown. All warnings about cases with the same warning code are shown as one.
func warned(a *stats.Analysis) (list []conditions.Caveat) {
	list = conditions.RunCaveats(a)
	var of conditions.Groups[string, string] // texts of the cases' warnings, by code
	type about struct{ code, what string }
	seen := map[about]bool{}
	for g, o := range a.OutcomesByGroup() {
		for _, w := range o.Warnings {
			what := strings.TrimSpace(g.Workload+" "+w.Phase) + ": " + w.Message
			if w.Code != result.WarningUnverified && !seen[about{w.Code, what}] {
				seen[about{w.Code, what}] = true
				of.Add(w.Code, what)
			}
		}
	}
	for i, code := range of.Keys {
		if i == conditions.MostKinds {
			list = append(list, conditions.Caveat{Code: code, Count: len(of.Keys) - i, Text: conditions.MoreKinds(len(of.Keys) - i)})
			break
		}
		first, more := of.Of[code][0], ""
		if n := len(of.Of[code]) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more like it)", n)
		}
		list = append(list, conditions.Caveat{Code: code, Count: len(of.Of[code]), Text: first + more})
	}
	return list
}
