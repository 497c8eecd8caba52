package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Formats are the output formats of [Crashes].
var Formats = document.Question[*Crashes]{Name: "crash", Document: crashDocument, Title: "What survives", Fits: true,
	JSON: func(c *Crashes) any { return JSONCrashes{1, c.Answer(), c.Machine, c.Warnings, c} }}.Formats()

// settingsWords names a combination of settings: the journal mode and synchronous by their values, and
// other settings by their names. It leaves out the settings in the parameter "hidden".
func settingsWords(s driver.Settings, own bool, hidden []string) string {
	words := []string{}
	if own {
		words = append(words, "own")
	}
	named := []string{"journal_mode", "synchronous"}
	for _, name := range named {
		if v := s[name]; v != "" {
			words = append(words, document.Line(v))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(named, name) && !slices.Contains(hidden, name) {
			words = append(words, document.Line(name+"="+s[name]))
		}
	}
	if len(words) == 0 {
		return "no settings"
	}
	return strings.Join(words, " ")
}

// shared returns the names of the settings that have the same value in all cells, other than
// journal_mode and synchronous. Cells with a driver's own defaults do not count, unless there are no
// other cells. The result "words" has the names with their values.
func (c *Crashes) shared() (names, words []string) {
	cells := slices.DeleteFunc(slices.Clone(c.Cells), func(k Cell) bool { return k.Own })
	if len(cells) == 0 {
		cells = c.Cells
	}
	first := cells[0].Settings
	for _, name := range slices.Sorted(maps.Keys(first)) {
		same := !slices.ContainsFunc(cells, func(k Cell) bool { return k.Settings[name] != first[name] })
		if same && name != "journal_mode" && name != "synchronous" {
			names = append(names, name)
			words = append(words, document.Line(name+"="+first[name]))
		}
	}
	return names, words
}

// name returns the settings of a cell in words, without settings that all cells share. For a
// driver's own defaults, it returns the journal mode and synchronous as they were read back.
func (c *Crashes) name(cell *Cell) string {
	if ofServer(cell.InForce) {
		return serverWords(cell)
	}
	hidden, _ := c.shared()
	if cell.Own && cell.InForce != nil {
		return ownPrefix + document.Line(cell.InForce["journal_mode"]+" "+cell.InForce["synchronous"])
	}
	return settingsWords(cell.Settings, cell.Own, hidden)
}

// ownPrefix is the beginning of a cell's name if the cell has the driver's own defaults.
const ownPrefix = "own: "

// row is a row of a table. All its cells (drivers with settings) have the same settings and the
// same results.
type row struct {
	settings string
	cells    []*Cell
	all      []string // all drivers with the row's settings
}

// rows groups the cells by settings and results, in the order of the settings.
func (c *Crashes) rows() (list []*row) {
	var bySettings conditions.Groups[string, *Cell]
	for i := range c.Cells {
		if cell := &c.Cells[i]; cell.Reason == "" {
			bySettings.Add(c.name(cell), cell)
		}
	}
	for _, name := range bySettings.Keys {
		var byResults conditions.Groups[string, *Cell]
		for _, cell := range bySettings.Of[name] {
			byResults.Add(c.results(cell), cell)
		}
		var all []string
		for _, key := range byResults.Keys {
			all = append(all, driversOf(byResults.Of[key])...)
		}
		for _, key := range byResults.Keys {
			list = append(list, &row{name, byResults.Of[key], all})
		}
	}
	return list
}

// results returns the results by which rows differ, as text.
func (c *Crashes) results(cell *Cell) (words string) {
	for _, f := range c.Faults {
		if o := cell.Results[f]; o != nil {
			words += " " + string(o.Grade())
		}
	}
	return words + fmt.Sprint(cell.syncs(), perTransaction(cell, cell.Cost.DirSyncs))
}

func driversOf(cells []*Cell) []string {
	return document.Map(cells, func(k *Cell) string { return document.Line(k.Driver) })
}

// syncs returns the number of syncs of files per transaction.
func (c *Cell) syncs() string { return perTransaction(c, c.Cost.Syncs+c.Cost.DataSyncs) }

func perTransaction(c *Cell, n int64) string {
	if c.Cost.Transactions == 0 {
		return document.Absent
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(c.Cost.Transactions)), ".0")
}

// drivers names the drivers of a row. If the row lacks only few of the drivers with these settings, it
// names the drivers that it lacks: "all but …".
func (r *row) drivers() string {
	const few = 2
	names := driversOf(r.cells)
	others := slices.DeleteFunc(slices.Clone(r.all), func(name string) bool { return slices.Contains(names, name) })
	switch {
	case len(names) <= few+1 || len(others) > few:
		return strings.Join(names, ", ")
	case len(others) == 0:
		return fmt.Sprintf("all %d", len(names))
	}
	return "all but " + strings.Join(others, ", ")
}

func (c *Crashes) drivers() (names []string) {
	for i := range c.Cells {
		names = distinct.Append(names, c.Cells[i].Driver)
	}
	return names
}

// found says in a few words what was found after the fault f, with the given drivers and settings
// (cells).
func found(cells []*Cell, f Fault) string {
	worst := &Outcome{}
	measured, disturbed := false, 0
	for _, c := range cells {
		if o := c.Results[f]; o != nil {
			measured = true
			worst.States += o.States
			worst.Broken += o.Broken
			worst.Lost += o.Lost
			worst.MostLost = max(worst.MostLost, o.MostLost)
			if o.Trouble != "" {
				disturbed++
			}
		}
	}
	switch share := 100 * float64(worst.Broken) / float64(max(worst.States, 1)); {
	case !measured:
		return document.Absent
	case worst.Broken > 0 && share < 1:
		return "<1% broken"
	case worst.Broken > 0:
		return fmt.Sprintf("%.0f%% broken", share)
	case worst.Lost > 0:
		return fmt.Sprintf("lost ≤%d", worst.MostLost)
	case disturbed > 0 && len(cells) > 1:
		return fmt.Sprintf("%d disturbed", disturbed)
	case disturbed > 0:
		return "disturbed"
	}
	return "kept"
}

// times returns the least and the greatest of the cells' times per transaction.
func times(cells []*Cell) string {
	var list []int64
	for _, c := range cells {
		if c.CommitNS > 0 {
			list = append(list, c.CommitNS)
		}
	}
	if len(list) == 0 {
		return document.Absent
	}
	low, high := slices.Min(list), slices.Max(list)
	if low == high {
		return document.Nanoseconds(low)
	}
	return document.Nanoseconds(low) + "–" + document.Nanoseconds(high)
}

// faultMeanings says what each kind of fault is, for people.
var faultMeanings = map[Fault]string{
	Kill:    "the process is killed, not the system",
	Ordered: "the power fails; as with ext4, xfs and btrfs by default, names persist in order, and of unsynced data any pages persist",
	Posix:   "the power fails; names need a sync of their directory, and writes may be torn at 512 bytes",
	Errors:  "calls fail with EIO or ENOSPC, and then the process is killed or the power fails",
	Shared:  "another process writes and checkpoints at the same time",
	Cancel:  "contexts end at random times during transactions",
}

// title returns the title of a fault's column.
func (f Fault) title() string {
	if f == Posix {
		return "POSIX"
	}
	return string(f)
}

// varying returns the faults that are columns of the table. A fault is left out if, in all rows, all
// data survives it.
func (c *Crashes) varying() (list []Fault) {
	for _, f := range c.explored() {
		if slices.ContainsFunc(c.rows(), func(r *row) bool { return found(r.cells, f) != "kept" }) {
			list = append(list, f)
		}
	}
	return list
}

// harmless says after which faults everything is kept.
func (c *Crashes) harmless() string {
	varying := c.varying()
	list := slices.DeleteFunc(slices.Clone(c.explored()), func(f Fault) bool { return slices.Contains(varying, f) })
	if len(list) == 0 || len(c.rows()) == 0 {
		return ""
	}
	return fmt.Sprintf("After %s, everything was kept in all rows. ", document.And(document.Map(list, Fault.title)))
}

func (c *Crashes) table() document.Grid {
	columns := slices.Clone(whose)
	for _, f := range c.varying() {
		columns = append(columns, document.Words(f.title(), func(r *row) string { return found(r.cells, f) }))
	}
	if c.Unrecorded == "" {
		columns = append(columns, costs...)
	}
	columns = append(columns, document.Figures("time", 1, func(r *row) string { return times(r.cells) }))
	return document.GridOf(c.rows(), columns...)
}

// whose are the first columns of a table, which say what a row is about.
var whose = []document.ColumnOf[*row]{
	document.Words("settings", func(r *row) string { return r.settings }),
	document.Words("drivers", (*row).drivers),
}

// costs are the columns that show the costs of a transaction: syncs, writes and bytes written.
var costs = []document.ColumnOf[*row]{
	document.Figures("syncs", 0, func(r *row) string { return r.cells[0].syncs() }),
	document.Figures("dir syncs", 2, func(r *row) string { return perTransaction(r.cells[0], r.cells[0].Cost.DirSyncs) }),
	document.Figures("writes", 3, func(r *row) string { return perTransaction(r.cells[0], r.cells[0].Cost.Writes) }),
	document.Figures("written", 4, func(r *row) string {
		k := r.cells[0]
		return document.Bytes(k.Cost.Bytes / int64(max(k.Cost.Transactions, 1)))
	}),
}

// files says to which files the syncs and writes of the table go.
func (c *Crashes) files() document.Grid {
	rows, columns := c.rows(), slices.Clone(whose)
	for _, kind := range trace.Kinds {
		cell := func(r *row) string {
			k := r.cells[0]
			f := k.Cost.Files[kind]
			if f == (trace.FileCost{}) {
				return ""
			}
			return fmt.Sprintf("%s + %s (%s)", perTransaction(k, f.Syncs), perTransaction(k, f.Writes), document.Bytes(f.Bytes/int64(max(k.Cost.Transactions, 1))))
		}
		if slices.ContainsFunc(rows, func(r *row) bool { return cell(r) != "" }) {
			columns = append(columns, document.Figures(kind, 0, cell))
		}
	}
	return document.GridOf(rows, columns...)
}

// states returns how many states were judged.
func (c *Crashes) states() (n int) {
	for i := range c.Cells {
		for _, o := range c.Cells[i].Results {
			n += o.States
		}
	}
	return n
}

func crashDocument(c *Crashes, _ document.Options) document.Document {
	d := document.Document{c.sentences(), document.Paragraph{Text: c.howSure(), Quiet: true}, document.Space{}}
	counted := ""
	if c.Unrecorded == "" {
		counted = " syncs: fsync and fdatasync of files. dir syncs: syncs of directories."
	}
	meanings := []string{fmt.Sprintf(c.harmless()+"own: what the driver does if nobody sets journal_mode and synchronous. Each figure is per transaction of workload %s.%s time: the median with the real disk, without recording.",
		document.Line(c.Workload), counted)}
	if _, words := c.shared(); words != nil {
		meanings = append(meanings, "Settings of all, except own defaults: "+strings.Join(words, " ")+".")
	}
	for _, f := range c.explored() {
		meanings = append(meanings, f.title()+": "+faultMeanings[f]+".")
	}
	if text := c.aboutServers(); text != "" {
		meanings = append(meanings, text)
	}
	d = append(d, c.table(), document.Paragraph{Quiet: true, Text: strings.Join(append(meanings, "lost: acknowledged transactions, at most. broken: the share of states that are damaged; others may have lost transactions. disturbed: nothing more is lost, but something else went wrong, see below."), " ")})
	if pic, ok := c.picture(); ok {
		d = append(d, document.PictureBlock{Picture: pic})
	}
	if list := c.failures(); list != nil {
		d = append(d, document.Heading{Level: 2, Text: "What was found"}, list)
	}
	if slices.ContainsFunc(c.Cells, func(k Cell) bool { return len(k.Cost.Files) > 0 }) { // some cell has a result
		d = append(d, document.Heading{Level: 2, Text: "Syncs + writes (bytes) per transaction, by file"}, c.files())
	}
	var notes document.List
	for i := range c.Cells {
		if k := &c.Cells[i]; k.Reason != "" {
			notes.Note(document.Item{Label: "no result", Text: document.Line(k.Driver) + ", " + c.name(k) + ": " + document.Line(k.Reason), Alarm: true})
		}
	}
	var differing []string
	for i := range c.Cells {
		if k := &c.Cells[i]; k.Differs > 0 {
			differing = distinct.Append(differing, document.Line(k.Driver))
		}
	}
	if differing != nil {
		notes.Note(document.Item{Label: "content", Text: fmt.Sprintf("without any fault, the rows that %s %s differ from those that %s writes: each is judged by its own rows; the known defects of the library may say why",
			document.And(differing), document.Verb(len(differing), "writes", "write"), document.Line(c.Judges[0]))})
	}
	for _, p := range c.Proofs {
		notes.Note(document.Item{Label: "proven", Text: fmt.Sprintf("%s: found %s in %s", document.Line(p.Name), gradeWords[p.Found], document.Counted(int64(p.States), "state"))})
	}
	d = append(d, document.Space{}, notes, append(conditions.MachineItems(c.Machine), conditions.MachineWarnings(c.Warnings, 1)...))
	return append(d, document.Reference{Title: "what the models mean and can't show", Address: "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/durability.md"})
}

func (c *Crashes) howSure() string {
	var by []string
	for _, f := range c.explored() {
		n, runs := 0, 0
		for k := range c.Cells {
			if o := c.Cells[k].Results[f]; o != nil {
				n += o.States
				runs += o.Runs
			}
		}
		words := f.title() + " " + document.Thousands(int64(n))
		if f == Kill && runs > 0 {
			words += " with " + document.Counted(int64(runs), "real SIGKILL")
		}
		by = append(by, words)
	}
	how, when := "These are simulated faults", "the file operations of "+document.Counted(int64(c.Transactions), "transaction")
	if c.Unrecorded != "" {
		how, when = "The faults are real", "random times"
	}
	return fmt.Sprintf("Settings are named by their journal_mode and synchronous. %s: a sample of %s (%s), at %s, judged by the driver itself%s. "+
		"What is kept here can still be lost by a disk that lies about syncs. First, %s showed that the laboratory notices faults.",
		how, document.Counted(int64(c.states()), "different state"), strings.Join(by, ", "), when, c.alsoJudge(), document.Counted(int64(len(c.Proofs)), "proof"))
}

// failures describes the worst state of each row. It also describes what else went wrong with each
// driver.
func (c *Crashes) failures() (list document.List) {
	list = c.troubles()
	for _, r := range c.rows() {
		var worst *Failure
		for _, cell := range r.cells {
			for _, f := range c.Faults {
				if o := cell.Results[f]; o != nil && len(o.Failing) > 0 && (worst == nil || o.Failing[0].Grade.rank() > worst.Grade.rank()) {
					worst = &o.Failing[0]
				}
			}
		}
		if worst == nil {
			continue
		}
		text := fmt.Sprintf("%s: %s, %s, with %s: %s (judged by %s)", r.drivers(), worst.Fault.title(), document.Line(worst.Operation), document.Line(worst.Persisted), document.Line(worst.Why), document.Line(worst.Judge))
		if worst.Injected != nil {
			text += ", after " + document.Line(worst.Injected.String())
		}
		if worst.Kept != "" {
			text += "; kept in " + document.Line(worst.Kept)
		}
		list.Note(document.Item{Label: r.settings, Text: text})
	}
	return list
}

// troubles describes what went wrong besides lost or damaged data, once for each driver and fault.
func (c *Crashes) troubles() (list document.List) {
	told := map[string]bool{}
	for i := range c.Cells {
		cell := &c.Cells[i]
		for _, f := range c.Faults {
			key := cell.Driver + " " + string(f)
			if o := cell.Results[f]; o != nil && o.Trouble != "" && !told[key] {
				told[key] = true
				list.Note(document.Item{Label: "disturbed", Text: fmt.Sprintf("%s, %s, first with %s: %s", document.Line(cell.Driver), f.title(), c.name(cell), document.Line(o.Trouble)), Alarm: true})
			}
		}
	}
	return list
}

// picture shows the time per transaction by settings, for each driver.
func (c *Crashes) picture() (document.Picture, bool) {
	g := &chart.Grouped{Axis: chart.Axis{Label: "time per transaction, lower is better", Format: func(v float64) string { return document.Nanoseconds(int64(v)) }}}
	for _, r := range c.rows() {
		group := chart.Group{Name: fmt.Sprintf("%s: %s", r.settings, gradeWords[r.cells[0].worst()])}
		for _, cell := range r.cells {
			if cell.CommitNS > 0 {
				v := float64(cell.CommitNS)
				group.Bars = append(group.Bars, chart.Bar{Name: document.Line(cell.Driver), Value: v, Low: v, High: v,
					Tip: fmt.Sprintf("%s syncs, %s syncs of directories", cell.syncs(), perTransaction(cell, cell.Cost.DirSyncs))})
			}
		}
		if group.Bars != nil {
			g.Groups = append(g.Groups, group)
		}
	}
	return document.Picture{Name: "price", Title: "What a transaction costs, and what survives a power cut", Plot: g}, len(g.Groups) > 0
}
