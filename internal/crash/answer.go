package crash

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// Answer says in a few sentences which data survives which faults.
func (c *Crashes) Answer() string {
	return document.Join(c.sentences(), " ", func(i document.Item) string { return i.Text })
}

// sentences returns the sentences of the answer, each with a label.
func (c *Crashes) sentences() (list document.List) {
	groups := c.groups()
	if groups.Keys == nil {
		return document.List{{Text: "Nothing was explored."}}
	}
	of := document.Line(c.drivers()[0])
	if n := len(c.drivers()); n > 1 {
		of = document.Counted(int64(n), "driver")
	}
	names := map[Grade][]string{}
	var unsafe []string // settings with which nothing was lost, although SQLite's documentation does not promise that
	for _, settings := range groups.Keys {
		cells := groups.Of[settings]
		grade, most, only := worst(cells)
		if grade == Kept && !c.promised(cells[0]) {
			unsafe = append(unsafe, settings)
			continue
		}
		var details []string
		if grade == Lost {
			details = append(details, fmt.Sprintf("up to %d", most))
		}
		if only != nil {
			details = append(details, "only "+document.And(only))
		}
		if except := exceptions(cells); except != nil {
			details = append(details, "except "+document.AndOthers(except))
		}
		if details != nil {
			settings += " (" + strings.Join(details, ", ") + ")"
		}
		names[grade] = append(names[grade], settings)
	}
	for _, sentence := range []struct {
		grade Grade
		text  string
	}{
		{Kept, "No acknowledged transaction of " + of + " was lost" + c.after() + ", and no database damaged, with %s."},
		{Lost, "The last transactions were lost" + c.after() + ", but no database was damaged, with %s."},
		{Broken, "Databases were damaged with %s."},
	} {
		if of := names[sentence.grade]; of != nil {
			list.Note(document.Item{Label: string(sentence.grade), Text: fmt.Sprintf(sentence.text, document.Or(of))})
		}
	}
	if unsafe != nil {
		list.Note(document.Item{Label: "unsafe", Text: fmt.Sprintf("Nothing was lost with %s in these states, but SQLite's documentation says that it can be.", document.Or(unsafe))})
	}
	if len(c.Attach) > 0 {
		list.Note(document.Item{Label: "attached", Text: fmt.Sprintf("%s %s in a second file. SQLite promises transactions over both files only with a rollback journal: with WAL, after a fault, one file can have a transaction that the other lacks.",
			document.And(document.Map(c.Attach, document.Line)), document.Verb(len(c.Attach), "is", "are"))})
	}
	if c.Unrecorded != "" {
		list.Note(document.Item{Label: "untried", Text: "Power cuts and errors of the disk were not tried, because " + document.Line(c.Unrecorded) + ".", Alarm: true})
	}
	list.Note(document.Item{Label: "wal", Text: c.checkpoints()})
	list.Note(document.Item{Label: "untried", Text: c.neverCheckpointed()})
	list.Note(document.Item{Label: "errors", Text: c.failedCalls()})
	worse, any := c.worse()
	list.Note(document.Item{Label: "expected", Text: worse, Alarm: any})
	list.Note(document.Item{Label: "disturbed", Text: c.disturbed(), Alarm: true})
	list.Note(document.Item{Label: "defaults", Text: c.defaults()})
	list.Note(document.Item{Label: "price", Text: c.price()})
	return list
}

// promised reports whether SQLite's documentation promises that nothing is lost with a cell's
// settings. It considers all faults except [Errors], also those that were not explored.
func (c *Crashes) promised(cell *Cell) bool {
	return !slices.ContainsFunc(Faults, func(f Fault) bool { return f != Errors && cell.documented(f) != Kept })
}

// The method "after" returns words that name the explored faults. It returns "" if they include all
// three crashes: Kill, Ordered and Posix.
func (c *Crashes) after() string {
	if !slices.ContainsFunc([]Fault{Kill, Ordered, Posix}, func(f Fault) bool { return !slices.Contains(c.Faults, f) }) {
		return ""
	}
	return " after " + document.Or(document.Map(c.Faults, Fault.title))
}

// checkpoints explains what limits the number of lost transactions in WAL mode.
func (c *Crashes) checkpoints() string {
	var values, names []string
	for _, k := range c.Cells {
		if !k.Own && k.Reason == "" && k.InForce["journal_mode"] == "wal" && documentedFor(k.InForce, Ordered) != Kept {
			values = distinct.Append(values, document.Line(k.InForce["wal_autocheckpoint"]))
			names = distinct.Append(names, "wal "+document.Line(k.InForce["synchronous"]))
		}
	}
	if len(values) != 1 || values[0] == "" {
		return ""
	}
	here := "here after " + values[0] + " pages, by SQLite's default after 1,000"
	if values[0] == "1000" {
		here = "after 1,000 pages, as is SQLite's default"
	}
	slices.Sort(names)
	return fmt.Sprintf("With %s, everything since the last checkpoint can be lost: %s.", document.And(names), here)
}

// neverCheckpointed names the drivers that ran no checkpoint between transactions, whatever the settings.
// So no fault was tried during a checkpoint of these drivers. But some databases are damaged only by a
// fault during a checkpoint.
func (c *Crashes) neverCheckpointed() string {
	var without, with []string
	for _, k := range c.Cells {
		switch {
		case k.Reason != "" || k.Cost.Files["wal"].Writes == 0:
		case k.Cost.Files["database"].Writes > 0:
			with = distinct.Append(with, document.Line(k.Driver))
		default:
			without = distinct.Append(without, document.Line(k.Driver))
		}
	}
	without = slices.DeleteFunc(without, func(d string) bool { return slices.Contains(with, d) })
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("With WAL, %s ran no checkpoint, because the transactions wrote too few pages. So no fault was tried during a checkpoint. The setting wal_autocheckpoint=20 makes them more frequent.", document.And(without))
}

// failedCalls names the settings with which more data is lost if the disk reports errors than after
// the other faults.
func (c *Crashes) failedCalls() string {
	names := map[Grade][]string{}
	groups := c.groups()
	for _, settings := range groups.Keys {
		worst := Kept
		for _, cell := range groups.Of[settings] {
			if o := cell.Results[Errors]; o != nil && o.Grade().rank() > max(worst.rank(), cell.worst().rank()) {
				worst = o.Grade()
			}
		}
		names[worst] = append(names[worst], settings)
	}
	var words []string
	if s := names[Broken]; s != nil {
		words = append(words, "databases were also damaged with "+document.Or(s))
	}
	if s := names[Lost]; s != nil {
		words = append(words, "transactions were also lost with "+document.Or(s))
	}
	if words == nil {
		return ""
	}
	return "If the disk reports errors, for which SQLite promises nothing, " + document.And(words) + "."
}

// disturbed names the drivers and faults with trouble other than lost or damaged data.
func (c *Crashes) disturbed() string {
	var list []string
	for i := range c.Cells {
		for _, f := range c.Faults {
			if o := c.Cells[i].Results[f]; o != nil && o.Trouble != "" {
				ids := c.Cells[i].defectsThat(func(d *defects.Defect) bool { return f == Cancel && d.Needs.Cancellation })
				list = distinct.Append(list, withDefects(fmt.Sprintf("%s after %s", document.Line(c.Cells[i].Driver), f.title()), ids))
			}
		}
	}
	if list == nil {
		return ""
	}
	return fmt.Sprintf("Nothing more was lost, but something else went wrong with %s: see below.", document.And(list))
}

// groups returns the cells (drivers with settings), grouped by settings. It leaves out cells with
// the drivers' own defaults, unless there are no other cells.
func (c *Crashes) groups() (groups conditions.Groups[string, *Cell]) {
	onlyOwn := !slices.ContainsFunc(c.Cells, func(k Cell) bool { return !k.Own })
	for i := range c.Cells {
		if cell := &c.Cells[i]; cell.Reason == "" && (!cell.Own || onlyOwn) {
			groups.Add(c.name(cell), cell)
		}
	}
	return groups
}

// exceptions returns the names of those drivers of the given cells that are worse than SQLite's
// documentation says. It returns nil if all of them are worse.
func exceptions(cells []*Cell) (names []string) {
	for _, cell := range cells {
		if len(cell.unexpected()) > 0 {
			names = append(names, document.Line(cell.Driver))
		}
	}
	if len(names) == len(cells) {
		return nil
	}
	return names
}

// worst returns the worst grade of the given cells (drivers with the same settings), and the greatest
// number of transactions that any of them lost. Cells that are worse than SQLite's documentation says are
// ignored, unless all cells are worse. If only few of the drivers have the worst grade, worst also
// returns their names.
func worst(cells []*Cell) (worst Grade, most int, only []string) {
	const few = 2
	n := 0
	all := !slices.ContainsFunc(cells, func(k *Cell) bool { return len(k.unexpected()) == 0 })
	for _, cell := range cells {
		if !all && len(cell.unexpected()) > 0 {
			continue
		}
		n++
		w := cell.worst()
		if worst == "" || w.rank() > worst.rank() {
			worst, only = w, nil
		}
		if w == worst {
			only = append(only, document.Line(cell.Driver))
		}
		for f, o := range cell.Results {
			if f != Errors {
				most = max(most, o.MostLost)
			}
		}
	}
	if len(only) > few || 2*len(only) >= n {
		only = nil
	}
	return worst, most, only
}

// worse names the drivers that are worse than SQLite's documentation says, with the settings and
// the faults. It also reports whether there are any such drivers.
func (c *Crashes) worse() (text string, any bool) {
	var settings, faults, all conditions.Groups[string, string] // by driver
	known := map[string][]string{}
	for i := range c.Cells {
		cell := &c.Cells[i]
		name, inForce := document.Line(cell.Driver), c.name(cell)
		if cell.Own {
			inForce = strings.TrimPrefix(inForce, ownPrefix)
		}
		conditions.AddOnce(&all, name, inForce)
		for _, f := range cell.unexpected() {
			conditions.AddOnce(&settings, name, inForce)
			conditions.AddOnce(&faults, name, f.title())
			known[name] = cell.defects()
		}
	}
	if settings.Keys == nil {
		return "Nothing was worse than " + c.documentation() + ".", false
	}
	return "Worse than " + c.documentation() + ": " + document.Join(settings.Keys, "; ", func(of string) string {
		with := document.Or(settings.Of[of])
		if n := len(settings.Of[of]); n > 1 && n == len(all.Of[of]) {
			with = "all settings"
		}
		return fmt.Sprintf("%s with %s (%s)", withDefects(of, known[of]), with, document.And(faults.Of[of]))
	}) + ".", true
}

// defaults says which settings drivers use if nobody sets them.
func (c *Crashes) defaults() string {
	var drivers conditions.Groups[string, string] // by settings
	for i := range c.Cells {
		if k := &c.Cells[i]; k.Own && k.Reason == "" && !ofServer(k.InForce) {
			drivers.Add(document.Line(k.InForce["journal_mode"]+" "+k.InForce["synchronous"]), document.Line(k.Driver))
		}
	}
	order, of := drivers.Keys, drivers.Of
	if order == nil || len(order) == 1 && len(c.groups().Keys) == 1 {
		return ""
	}
	slices.SortStableFunc(order, func(a, b string) int { return len(of[b]) - len(of[a]) })
	return "By default, " + document.Join(order, "; ", func(s string) string {
		return document.And(of[s]) + " " + document.Verb(len(of[s]), "has", "have") + " " + s
	}) + "."
}

var gradeWords = map[Grade]string{Kept: "nothing lost", Lost: "transactions lost", Broken: "damaged"}

// price names the fastest driver and settings (cell) with which nothing was lost, and for which
// SQLite's documentation promises that nothing is lost.
func (c *Crashes) price() string {
	var best *Cell
	for i := range c.Cells {
		k := &c.Cells[i]
		if k.Driver != PlainC && k.Reason == "" && k.worst() == Kept && c.promised(k) && k.defects() == nil && k.CommitNS > 0 && (best == nil || k.CommitNS < best.CommitNS) {
			best = k
		}
	}
	if best == nil {
		return ""
	}
	with := ""
	switch n := best.syncs(); {
	case c.Unrecorded != "":
	case n == "1":
		with = " with 1 sync,"
	default:
		with = " with " + n + " syncs,"
	}
	return fmt.Sprintf("The least time per transaction with nothing lost was %s,%s by %s and %s. It was measured in one process and has no interval; sqlite3perf run compares times.",
		document.Nanoseconds(best.CommitNS), with, document.Line(best.Driver), c.name(best))
}
