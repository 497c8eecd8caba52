package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Caveat is a warning about the answers of a run.
type Caveat struct {
	Code  string `json:"code"` // a status of cases, the code of a warning, or a Caveat constant
	Count int    `json:"count"`
	Text  string `json:"text"`
}

// The codes of caveats that are neither statuses nor codes of warnings.
const (
	CaveatUnsupported = "unsupported" // cases need something that the driver's worker cannot do; Count: cases
	CaveatEnded       = "ended-early" // the run was interrupted, or has not ended; Count: complete rounds
	CaveatFewRounds   = "few-rounds"  // rows with figures have too few samples for a rank; Count: rows
	CaveatUnranked    = "unranked"    // in some rows, more operations failed than in others; Count: rows
	CaveatErrors      = "errors"      // in some rows, operations failed with errors other than locks; Count: rows
	CaveatTooShort    = "too-short"   // phases are too short to compare drivers; Count: cells
	CaveatAdded       = "added"       // sqlite3perf's own overhead could explain why a row leads; Count: tables
	CaveatUnset       = "unset"       // the workload leaves settings unset, and the drivers' defaults differ; Count: settings
	CaveatRisk        = "risk"        // settings can lose data; Count: 1
	CaveatDefect      = "defect"      // drivers have known defects that lose or falsify data; Count: defects
	CaveatUnsettled   = "unsettled"   // figures are less precise than requested; Count: figures
	CaveatSummary     = "no-summary"  // the summary leaves out cells or drivers; Count: cells and drivers left out
	CaveatLeftOut     = "left-out"    // workloads or drivers were not measured; Count: workloads and drivers
)

// noFigures are the codes of caveats of cases without figures, the worst first.
var noFigures = []string{string(result.Wrong), string(result.Refused), string(result.Failed), CaveatUnsupported, string(result.Unavailable), string(stats.NotMeasured)}

// caveats lists the warnings of a run, the worst first. tables are the rankings in its answers.
func caveats(a *stats.Analysis, o Options, tables []Ranking) []Caveat {
	run := a.Run
	list := []Caveat{}
	note := func(code string, count int, text string) {
		if count > 0 && text != "" {
			list = append(list, Caveat{code, count, text})
		}
	}
	list = append(list, withoutFigures(a)...)
	if run.Stopped == result.StoppedInterrupted || run.Stopped == "" {
		text := "the run has not ended, or was killed, after "
		if run.Stopped != "" {
			text = "the run was interrupted after "
		}
		list = append(list, Caveat{CaveatEnded, rounds(a), text + document.Counted(int64(rounds(a)), "complete round")})
	}
	note(CaveatUnranked, len(unranked(a)), "more of their operations failed than of others'"+seemTo(a)+": "+document.SomeOf(unranked(a), 3))
	note(CaveatErrors, len(saidErrors(a)), "operations failed for another reason than a lock: "+document.SomeOf(saidErrors(a), 2))
	few, short, unverified := 0, []string{}, []string{}
	EachGroupTable(a, func(n stats.TableName, t *stats.Table) {
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
	})
	note(CaveatFewRounds, few, fmt.Sprintf("%s with figures of fewer than %d rounds, too few for a rank", document.Counted(int64(few), "row"), stats.MinSamples))
	note(result.WarningUnverified, len(unverified), "the rows that were written could not be checked: "+document.SomeOf(unverified, 3))
	note(CaveatTooShort, len(short), fmt.Sprintf("a phase of less than %s is too short to judge a driver by: %s", conditions.ShortLimit(), document.SomeOf(short, 3)))
	var led []string
	for _, r := range tables {
		if r.Added {
			led = append(led, fmt.Sprintf("%s (%s before %s)", r.Table, r.Best.Name, r.Next.Name))
		}
	}
	note(CaveatAdded, len(led), "what sqlite3perf itself adds could explain the lead in "+document.SomeOf(led, 3))
	if o.Study == nil {
		for _, r := range conditions.RunRisks(a) {
			note(CaveatRisk, 1, r.Text)
		}
		known, defect := conditions.DefectCaveat(a)
		note(CaveatDefect, known, defect)
		names, text := conditions.UnsetInRun(a)
		note(CaveatUnset, names, text+": the drivers' defaults differ")
	}
	if run.Machine.SyncFree {
		note(result.WarningSync, 1, conditions.Storage(run.Machine))
	}
	list = append(list, warned(a)...)
	if o.Study == nil {
		open, text := Settled(a)
		note(CaveatUnsettled, open, text)
		left := notInSummary(a.Overall)
		if len(a.Overall.Tables)+len(a.Overall.LeftOut) < 2 {
			left = nil // a run with one table has no summary that could leave it out
		}
		note(CaveatSummary, len(left), "not in the summary: "+document.SomeOf(left, 2))
	}
	note(CaveatLeftOut, len(run.LeftOut), leftOut(run.LeftOut, o.Hints))
	return list
}

func withoutFigures(a *stats.Analysis) (list []Caveat) {
	type trouble struct {
		code string
		why  string
	}
	type place struct{ driver, workload string }
	var whose conditions.Groups[trouble, place]
	for _, g := range a.Groups {
		for _, o := range g.Outcomes {
			if o.Status != result.OK {
				code := string(o.Status)
				if o.Status == result.Failed && o.Reason.Code == protocol.CodeUnsupported {
					code = CaveatUnsupported
				}
				whose.Add(trouble{code, message(o)}, place{conditions.Label(o.Case), g.Workload})
			}
		}
	}
	for _, t := range whose.Keys {
		var drivers, workloads []string
		for _, p := range whose.Of[t] {
			if !slices.Contains(drivers, p.driver) {
				drivers = append(drivers, p.driver)
			}
			if !slices.Contains(workloads, p.workload) {
				workloads = append(workloads, p.workload)
			}
		}
		list = append(list, Caveat{t.code, len(whose.Of[t]), fmt.Sprintf("%s on %s: %s", document.AndOthers(drivers), document.AndOthers(workloads), t.why)})
	}
	slices.SortStableFunc(list, func(x, y Caveat) int {
		return cmp.Compare(slices.Index(noFigures, x.Code), slices.Index(noFigures, y.Code))
	})
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

// seemTo returns ", or seem to" if for some row it is still open whether more of its operations
// failed than in other rows. Otherwise it returns "".
func seemTo(a *stats.Analysis) (words string) {
	eachTable(a, func(_ stats.TableName, t *stats.Table) {
		if slices.ContainsFunc(t.Cells, func(c *stats.Cell) bool { return c.FailsOpen }) {
			words = ", or seem to"
		}
	})
	return words
}

// unranked lists the rows that have no rank because too many operations failed, each row once.
func unranked(a *stats.Analysis) (list []string) {
	eachRow(a, func(n stats.TableName, c *stats.Cell) {
		if failed, operations := c.Failures(); c.UnlikeFailures() {
			list = append(list, fmt.Sprintf("%s %s (%s ok)", n, cmp.Or(c.As, conditions.Label(c.Case)), document.PercentOK(failed, operations)))
		}
	})
	return list
}

// eachRow calls f with each row that has figures. It calls f once for a row that is in two tables.
func eachRow(a *stats.Analysis, f func(stats.TableName, *stats.Cell)) {
	type row struct {
		id    int // of the case
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

// saidErrors lists the rows whose operations failed with errors other than locks, with the
// message of the driver's library.
func saidErrors(a *stats.Analysis) (list []string) {
	EachGroupTable(a, func(n stats.TableName, t *stats.Table) {
		for _, c := range t.Measured() {
			for _, e := range conditions.Totals(c, func(s stats.Sample) []protocol.ErrorCount { return s.Errors }) {
				if e.Message != "" {
					list = append(list, fmt.Sprintf("%s %s: %s", n, conditions.Label(c.Case), conditions.WithMessage(e)))
					break // one error per row; the full report lists the others
				}
			}
		}
	})
	return list
}

func warned(a *stats.Analysis) (list []Caveat) {
	var alike conditions.Groups[string, result.Warning]
	for _, w := range a.Warnings {
		if w.Code != result.WarningSync || !a.Run.Machine.SyncFree {
			alike.Add(w.Code, w)
		}
	}
	for i, code := range alike.Keys {
		if i == conditions.MostKinds {
			list = append(list, Caveat{code, len(alike.Keys) - i, conditions.MoreKinds(len(alike.Keys) - i)})
			break
		}
		ws := alike.Of[code]
		for _, it := range conditions.MachineWarnings(ws, a.Run.Rounds) {
			list = append(list, Caveat{code, len(ws), it.Text})
		}
	}
	var of conditions.Groups[string, string] // labels of the cases that have other warnings, by the warning's code
	type about struct{ code, what string }
	seen := map[about]bool{}
	for _, g := range a.Groups {
		for _, o := range g.Outcomes {
			for _, w := range o.Warnings {
				what := strings.TrimSpace(g.Workload+" "+w.Phase) + ": " + w.Message
				if w.Code != result.WarningUnverified && !seen[about{w.Code, what}] {
					seen[about{w.Code, what}] = true
					of.Add(w.Code, what)
				}
			}
		}
	}
	for i, code := range of.Keys {
		if i == conditions.MostKinds {
			list = append(list, Caveat{code, len(of.Keys) - i, conditions.MoreKinds(len(of.Keys) - i)})
			break
		}
		first, more := of.Of[code][0], ""
		if n := len(of.Of[code]) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more like it)", n)
		}
		list = append(list, Caveat{code, len(of.Of[code]), first + more})
	}
	// The warning about a virtual machine comes last.
	slices.SortStableFunc(list, func(x, y Caveat) int {
		return btoi(x.Code == result.WarningVirtual) - btoi(y.Code == result.WarningVirtual)
	})
	return list
}
