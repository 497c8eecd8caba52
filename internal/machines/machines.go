// Package machines compares the verdicts of runs of the same work on several machines. It finds the
// verdicts that are the same on all machines, and those that differ.
package machines

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// OnMachine is the result of a run on one machine.
type OnMachine struct {
	Name     string
	Analysis *stats.Analysis // analysis of the run; nil if nothing was measured
	Failure  string          // why some or all of the run was not measured; "" if no reason is known
	Options  report.Options  // options for the report of this run alone
}

// Named returns runs with the names of their machines. If several runs are from the same machine,
// the name also contains the run's number.
func Named(runs []*stats.Analysis) (list []OnMachine) {
	named := map[string]int{}
	for _, a := range runs {
		name := cmp.Or(a.Run.Machine.Hostname, "unknown")
		if a.Run.Host != nil {
			name = a.Run.Host.Name
		}
		named[name]++
		list = append(list, OnMachine{Name: name, Analysis: a})
	}
	for i, m := range list {
		if named[m.Name] > 1 {
			list[i].Name = fmt.Sprintf("%s (%d)", m.Name, m.Analysis.Run.ID)
		}
	}
	return list
}

// Measured reports whether the run has trials.
func (x OnMachine) Measured() bool { return x.Analysis != nil && len(x.Analysis.Run.Trials) > 0 }

// Formats are the output formats of runs of the same work on several machines. The output begins with
// the verdicts that are the same on all machines and those that contradict each other. If there is room,
// the report of each run follows.
var Formats = document.Question[[]OnMachine]{Name: "machines", Document: machines}.Formats(
	document.Format[[]OnMachine, document.Options]{Name: "json", To: writeMachinesJSON})

func sideBySide(all []OnMachine) *stats.Machines {
	return stats.OnMachines(document.Map(all, func(m OnMachine) *stats.Analysis { return m.Analysis }))
}

// MachinesAnswer summarizes the runs on all machines in a sentence or two.
func MachinesAnswer(all []OnMachine) string {
	m := sideBySide(all)
	sentences := []string{cmp.Or(claimsOn(all), whoIsFirst(all, m)), agreements(all, m)}
	for _, x := range all {
		switch {
		case !x.Measured():
			sentences = append(sentences, fmt.Sprintf("On %s nothing was measured.", x.Name))
		case conditions.HostLost(x.Analysis):
			sentences = append(sentences, fmt.Sprintf("%s went away before its run had ended.", x.Name))
		}
	}
	return strings.TrimSpace(strings.Join(sentences, " "))
}

func together(n int) string {
	if n == 2 {
		return "both machines"
	}
	return fmt.Sprintf("all %d machines", n)
}

// agreementLabels has the labels of [stats.Agreement], in the order in which the answer lists them.
var agreementLabels = []struct {
	agreement stats.Agreement
	label     string
	most      int // greatest number of lines with this label
}{
	{stats.Reversed, "turns around", 40},
	{stats.Everywhere, "same", 20},
	{stats.Partly, "not clear", 10},
}

func machines(all []OnMachine, o document.Options) document.Document {
	m := sideBySide(all)
	d := document.Document{document.Heading{Level: 1, Text: MachinesAnswer(all)}}
	var l document.List
	for _, words := range shared(all) {
		l = append(l, conditions.KindOf(result.WarningShared).Item(words))
	}
	for _, x := range all {
		if x.Failure != "" {
			l = append(l, document.Item{Label: x.Name, Text: x.Failure, Alarm: true})
		}
		if x.Analysis != nil {
			for _, h := range conditions.ToResume(&x.Options.Hints, x.Analysis) {
				l = append(l, document.Item{Label: h.Shows, Text: h.Command + " measures the rest on " + x.Name, Alarm: true})
			}
		}
	}
	for _, x := range all {
		if x.Measured() {
			l = append(l, document.Item{Label: "how sure", Text: x.Name + ": " + x.trust(), Alarm: false})
		}
	}
	for _, x := range agreementLabels {
		said := 0
		for _, p := range m.Pairs {
			if p.Agreement != x.agreement {
				continue
			}
			if said++; said <= x.most {
				l = append(l, document.Item{Label: x.label, Text: pairWords(p, all), Alarm: x.agreement == stats.Reversed})
			}
		}
		if more := said - x.most; more > 0 {
			l = append(l, document.Item{Label: x.label, Text: fmt.Sprintf("and %d more, which JSON has", more), Alarm: false})
		}
	}
	if short := o.Lines; short > 0 && len(l) > short/2 { // shorten the list, because the tables show the rest of it
		l = append(l[:short/2], document.Item{Label: "", Text: "and more, in the tables", Alarm: false})
	}
	d = append(d, l)
	d = append(d, allRatiosOn(all)...)
	if len(m.Pairs) > 0 {
		d = append(d, document.Space{}, document.Paragraph{Text: "A difference counts on a machine if its own run tells it: machines are judged one by one. Times of different machines are not compared, only ratios within each.", Quiet: true})
	}
	for _, x := range all {
		if x.Analysis == nil {
			continue
		}
		title := fmt.Sprintf("%s: run %d", x.Name, x.Analysis.Run.ID)
		if o.Lines > 0 {
			rest := ""
			if h := x.Options.Hints.Rest; len(h) > 0 {
				rest = h[0].Command
			}
			d = append(d, document.List{{Label: title, Text: rest}})
			continue
		}
		d = append(d, document.Heading{Level: 1, Text: title})
		d = append(d, deeper(x.document())...)
	}
	return d
}

// shared lists the warnings about hosts that turned out to be the same machine.
func shared(all []OnMachine) (list []string) {
	for _, x := range all {
		if x.Analysis == nil {
			continue
		}
		for _, w := range x.Analysis.Run.Warnings {
			if w.Code == result.WarningShared {
				list = distinct.Append(list, w.Message)
			}
		}
	}
	return list
}

// trust says how certain the verdicts of a run are, what disturbed the run, and how many further
// warnings its report has.
func (x OnMachine) trust() string {
	said := report.AnswersOf(x.Analysis, x.Options)
	words := report.HowSure(x.Analysis, &said, x.Options)
	shared := conditions.KindOf(result.WarningShared).Name // this warning is shown once for all machines, not for each
	more := 0
	for _, it := range conditions.CaveatItems(said.Caveats) {
		switch {
		case it.Label == shared:
		case it.Label == conditions.Noise, it.Label == conditions.KindOf(result.WarningSync).Name:
			words += ". " + document.Upper(it.Label) + ": " + it.Text
		default:
			more++
		}
	}
	if more > 0 {
		words += ". " + document.Counted(int64(more), "more warning") + " in its own report"
	}
	return words
}

func (x OnMachine) document() document.Document {
	if c := x.comparison(); c != nil {
		return compare.Comparison(*c, x.Options.Options)
	}
	return report.Build(x.Analysis, x.Options)
}

func (x OnMachine) comparison() *compare.Compared {
	if x.Analysis.Run.Compares == nil {
		return nil
	}
	return &compare.Compared{Comparison: stats.CompareRun(x.Analysis), First: x.Analysis, Second: x.Analysis}
}

// deeper lowers the headings of a document by one level, so that it can be a part of another
// document.
func deeper(d document.Document) document.Document {
	for i, b := range d {
		if h, ok := b.(document.Heading); ok {
			d[i] = document.Heading{Level: h.Level + 1, Text: h.Text}
		}
	}
	return d
}

// pairWords says how two drivers, or two sides, compare on each machine.
func pairWords(p stats.MachinesPair, all []OnMachine) string {
	if p.Agreement != stats.Reversed && !ofTwoSides(all) {
		p = p.SlowerSecond()
	}
	var ratios, same, unclear []string
	for i, s := range p.Said {
		switch on := " on " + all[i].Name; s.Verdict {
		case "":
		case stats.Slower, stats.Faster:
			by := document.SlowerBy(s.Ratio)
			if ratios == nil {
				by = document.Than(by, p.First)
			}
			ratios = append(ratios, by+on)
		case stats.Same:
			same = append(same, all[i].Name)
		default:
			unclear = append(unclear, all[i].Name)
		}
	}
	var parts []string
	if ratios != nil {
		parts = append(parts, p.Second+" is "+strings.Join(ratios, ", "))
	}
	if same != nil {
		parts = append(parts, fmt.Sprintf("%s is as fast as %s on %s", p.Second, p.First, strings.Join(same, ", ")))
	}
	if unclear != nil {
		parts = append(parts, "there is no clear difference on "+strings.Join(unclear, ", "))
	}
	return p.String() + ": " + strings.Join(parts, "; ")
}

// allRatiosOn returns a grid for each table that more than one machine has. In a grid, all ratios
// are relative to the same driver.
func allRatiosOn(all []OnMachine) (grids document.Document) {
	byName := map[stats.TableName][]*stats.Table{} // tables by name, one for each machine
	var names []stats.TableName
	for i, m := range all {
		if m.Analysis == nil {
			continue
		}
		for g, t := range m.Analysis.Tables() {
			n := g.Named(t)
			if byName[n] == nil {
				byName[n], names = make([]*stats.Table, len(all)), append(names, n)
			}
			byName[n][i] = t
		}
	}
	for _, n := range names {
		grids = append(grids, ratiosOn(n, byName[n], all)...)
	}
	return grids
}

// ratiosOn returns a heading and the grid of one table. It returns nil if the table has only one
// driver, or if the driver to which ratios are relative was measured on only one machine.
func ratiosOn(n stats.TableName, tables []*stats.Table, all []OnMachine) document.Document {
	cells := make([]map[string]int, len(tables)) // index in t.Measured() of each driver that has figures, by machine and driver
	var drivers []string
	on := map[string]int{} // number of machines on which each driver was measured
	floor := ""
	for i, t := range tables {
		cells[i] = map[string]int{}
		if t == nil {
			continue
		}
		for k, c := range t.Measured() {
			name := c.Case.Driver
			cells[i][name] = k
			on[name]++
			drivers = distinct.Append(drivers, name)
			if t.IsFloor && k == t.Base {
				floor = name
			}
		}
	}
	base := ""
	for _, name := range drivers { // the drivers are in the order of the first machine's table
		if on[name] > on[base] || on[name] == on[base] && name == floor {
			base = name
		}
	}
	if len(drivers) < 2 || on[base] < 2 {
		return nil
	}
	var grid document.Grid
	grid.Add(document.Column{Title: "driver"}, drivers)
	for i, m := range all {
		t := tables[i]
		var words []string
		for _, name := range drivers {
			k, measured := cells[i][name]
			b, based := cells[i][base]
			switch {
			case !measured || !based:
				words = append(words, "–")
			case name == base:
				words = append(words, "1")
			default:
				r := t.Ratio(stats.Pair{First: k, Second: b})
				words = append(words, cmp.Or(strings.TrimSpace(document.Times(r.Median)+" "+document.Ends(r)), "–"))
			}
		}
		grid.Add(document.Column{Title: m.Name, Right: true, Whole: true}, words)
	}
	return document.Document{document.Heading{Level: 2, Text: n.String() + ": time relative to " + base}, grid}
}

// MachinesVersion is the version of the JSON form of runs on several machines.
const MachinesVersion = 1

// JSONMachines is the JSON form of runs on several machines.
type JSONMachines struct {
	Version  int               `json:"version"`
	Answer   string            `json:"answer"`
	Machines []JSONMachine     `json:"machines"`
	Pairs    []JSONMachinePair `json:"pairs"`
}

// JSONMachine is the JSON form of the run on one machine.
type JSONMachine struct {
	Name    string `json:"name"`
	Run     int64  `json:"run,omitempty"` // ID of the run; absent if nothing was measured
	Failure string `json:"failure,omitempty"`
	Report  any    `json:"report,omitempty"` // the report of the run, or the comparison for which the run was made
}

// JSONMachinePair is the verdict of each machine on two drivers, or two sides, in one table.
type JSONMachinePair struct {
	stats.TableName
	First     string            `json:"first"`
	Second    string            `json:"second"`
	Agreement stats.Agreement   `json:"agreement"`
	Said      []JSONMachineSaid `json:"said"`
}

// JSONMachineSaid is the verdict of one machine on two drivers, or two sides.
type JSONMachineSaid struct {
	Machine string        `json:"machine"`
	Verdict stats.Verdict `json:"verdict"` // verdict on Second, relative to First
	Ratio   stats.Summary `json:"ratio"`   // time of Second divided by the time of First
}

func writeMachinesJSON(w io.Writer, all []OnMachine, _ document.Options) error {
	m := sideBySide(all)
	out := JSONMachines{Version: MachinesVersion, Answer: MachinesAnswer(all), Machines: []JSONMachine{}, Pairs: []JSONMachinePair{}}
	for _, x := range all {
		j := JSONMachine{Name: x.Name, Failure: x.Failure}
		if x.Analysis != nil {
			j.Run = x.Analysis.Run.ID
			if c := x.comparison(); c != nil {
				j.Report = compare.JSONOf(*c)
			} else {
				var b bytes.Buffer
				if err := report.WriteJSON(&b, x.Analysis, x.Options); err != nil {
					return err
				}
				j.Report = json.RawMessage(b.Bytes())
			}
		}
		out.Machines = append(out.Machines, j)
	}
	for _, p := range m.Pairs {
		j := JSONMachinePair{TableName: p.TableName, First: p.First, Second: p.Second, Agreement: p.Agreement, Said: []JSONMachineSaid{}}
		for i, s := range p.Said {
			if s.Verdict != "" {
				j.Said = append(j.Said, JSONMachineSaid{all[i].Name, s.Verdict, s.Ratio})
			}
		}
		out.Pairs = append(out.Pairs, j)
	}
	return document.Encode(w, out)
}
