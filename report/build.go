package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// build describes a run in words.
func build(a *stats.Analysis, o Options) document {
	said := AnswersOf(a, o)
	d := document{heading{1, said.Text}}
	if choices := choiceItems(&said); choices != nil {
		d = append(d, choices)
	}
	d = append(d, header(a, o)...)
	if o.Study != nil {
		return append(append(d, studyTables(a, o.Study)...), driverNotes(a)...)
	}
	d = append(d, overall(a)...)
	d = append(d, firsts(said)...)
	eachSection(a, func(f *stats.Factorial) { d = append(d, factorial(f, o.Hints)...) },
		func(g *stats.Group) { d = append(d, group(g, o.Hints)...) })
	d = append(d, drivers(a)...)
	d = append(d, space{})
	if r := reliability(a); r != "" {
		d = append(d, paragraph{text: r})
	}
	d = append(d, legend(a)...)
	return append(d, driverNotes(a)...)
}

// orderNote names the drivers that are below the base, because of their medians, with a
// ratio below 1.
func orderNote(t *stats.Table, measured []*stats.Cell) string {
	var words []string
	for _, c := range measured[t.Base+1:] {
		if t.Base >= 0 && c.Unranked == "" && c.Ratio.N > 0 && c.Ratio.Median < 0.995 {
			words = append(words, fmt.Sprintf("%s took %s the time of %s", name(c.Outcome), times(c.Ratio.Median), name(measured[t.Base].Outcome)))
		}
	}
	if words == nil {
		return ""
	}
	return "rows are in the order of their medians; compared within rounds, " + strings.Join(words, "; ")
}

// floorNote says which drivers are faster than the floor with a different SQLite,
// because the floor is only one for its own SQLite.
func floorNote(t *stats.Table, measured []*stats.Cell) string {
	if !t.IsFloor {
		return ""
	}
	floor := measured[t.Base]
	var faster []string
	for i, c := range measured {
		test, ok := t.Against(i, t.Base)
		if ok && test.Significant() && test.Sign() < 0 && sqliteBuild(c.Outcome) != sqliteBuild(floor.Outcome) {
			faster = append(faster, fmt.Sprintf("%s (SQLite %s)", name(c.Outcome), sqliteBuild(c.Outcome)))
		}
	}
	if faster == nil {
		return ""
	}
	return fmt.Sprintf("%s: faster than %s (SQLite %s). The floor is one for its own SQLite only, its version and its compile options: "+
		"another may choose another plan, or do the same work faster", strings.Join(faster, ", "), label(floor.Case), sqliteBuild(floor.Outcome))
}

// sqliteBuild returns a driver's version of SQLite with the compile options that make
// all of SQLite faster or slower.
func sqliteBuild(o *stats.Outcome) string {
	words := []string{sqliteVersion(o)}
	if p := o.Proof(); p != nil {
		for _, option := range p.CompileOptions {
			if n, _, _ := strings.Cut(option, "="); n == "DEFAULT_MEMSTATUS" || n == "THREADSAFE" {
				words = append(words, option)
			}
		}
	}
	return strings.Join(words, " ")
}

// toResume returns the command that measures what is missing in a run, if anything is.
func (h *Hints) toResume(a *stats.Analysis) []Hint {
	if h.Resume == "" || a.Run.Stopped != result.StoppedInterrupted && a.Run.Stopped != "" && !hostLost(a) {
		return nil
	}
	return []Hint{{"resume", h.Resume}}
}

// resume says how a run that is not whole can go on.
func resume(a *stats.Analysis, h Hints) (l list) {
	for _, h := range h.toResume(a) {
		l = append(l, item{label: h.Shows, text: h.Command + " measures the rest", alarm: true})
	}
	return l
}

func header(a *stats.Analysis, o Options) document {
	run := a.Run
	took := "not ended"
	if !run.Ended.IsZero() {
		took = elapsed(run.Ended.Sub(run.Started))
	}
	title := fmt.Sprintf("sqlite3perf %s · run %d · %s · %s", run.Version, run.ID, run.Started.UTC().Format("2006-01-02 15:04:05 MST"), took)
	l := list{
		{label: "machine", text: over(run.Host) + machine(run.Machine) + stolen(run)},
		{label: "databases", text: storage(run.Machine), alarm: run.Machine.SyncFree},
		{label: "work", text: fmt.Sprintf("scale %s, seed %d", run.Scale, run.Seed)},
		{label: "rounds", text: stopped(a), alarm: run.Stopped == result.StoppedInterrupted || run.Stopped == ""},
	}
	l = append(l, resume(a, o.Hints)...)
	l.note(item{label: "repeated", text: countRepeated(run).String()})
	if o.Study == nil || a.Confidence != stats.Confidence { // a study with fixed rounds asks for its claims only
		_, text := settled(a)
		l.note(item{label: "settled", text: text})
	}
	if o.Study == nil {
		l = append(l, runRisks(a)...)
		if _, text := unsetInRun(a); text != "" {
			l = append(l, item{label: "settings", text: text + ". The drivers' defaults differ, and so may their times: lines below the tables give the values", alarm: true})
		}
	}
	l = append(l, verdicts(a, o.Hints)...)
	l.note(item{label: "left out", text: leftOut(run.LeftOut, o.Hints)})
	l.note(item{label: "command", text: commandLine(run.Command)})
	return document{heading{1, title}, append(l, runWarnings(a)...)}
}

// judgedEarly reports whether a run was judged while it was under way, so that it could end
// when its question was answered.
func judgedEarly(run *result.Run) bool { return run.Compares != nil && run.Compares.Looks }

// verdicts says what has the verdicts of a run that was made to compare two sides. If it was
// judged early, its own p-values and intervals are not those of a run whose end did not depend
// on them.
func verdicts(a *stats.Analysis, h Hints) (l list) {
	if a.Run.Compares == nil {
		return nil
	}
	comparison := cmp.Or(h.Compare, "a comparison of its sides")
	if !judgedEarly(a.Run) {
		return list{{label: "verdicts", text: comparison + " has that of each cell, with its interval"}}
	}
	return list{{label: "verdicts", text: "this run " + answered(a) + ", so the p-values below are too small and the intervals too narrow for verdicts: " +
		comparison + " has those that are corrected for it", alarm: true}}
}

// answered says whether a run that was to end when its question was answered did so.
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

// leftOut says what was not measured. Workloads are listed by name, with how to measure
// them. Drivers are listed in the words of the reason.
func leftOut(list []result.LeftOut, h Hints) string {
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

// plainWord matches an argument that has no special meaning in any shell.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// commandLine formats a command so that it can be typed into a POSIX shell.
func commandLine(arguments []string) string {
	words := slices.Clone(arguments)
	for i, w := range words {
		words[i] = ShellWord(w)
	}
	return strings.Join(words, " ")
}

// ShellWord quotes a word, if necessary, so that a POSIX shell reads it back.
func ShellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// over says by which name a run's machine was reached, if it is another one.
func over(h *result.Host) string {
	if h == nil {
		return ""
	}
	return "host " + h.Name + ": "
}

func machine(m result.Machine) string {
	var words []string
	add := func(w string) {
		if w != "" {
			words = append(words, w)
		}
	}
	add(m.Hostname)
	if m.Cores > 0 {
		add(fmt.Sprintf("%d × %s", m.Cores, m.CPU))
	}
	if m.MemoryBytes > 0 {
		add(size(m.MemoryBytes))
	}
	add(m.OS + "/" + m.Arch + " " + m.Kernel)
	if m.Governor != "" {
		add("governor " + m.Governor)
	}
	if m.Turbo != "" {
		add("turbo " + m.Turbo)
	}
	if m.SMT != "" {
		add("SMT " + m.SMT)
	}
	if m.Virtual != "" {
		add("virtual: " + m.Virtual)
	}
	return strings.Join(words, ", ")
}

// stolen says how much of its CPU time a virtual machine lost.
func stolen(run *result.Run) string {
	if run.Steal == nil || run.Machine.Virtual == "" {
		return ""
	}
	return ", steal time " + percent(*run.Steal)
}

func storage(m result.Machine) string {
	s := fmt.Sprintf("%s on %s", m.Directory, m.FileSystem)
	if m.Device != "" {
		s += ", " + m.Device
	}
	if m.SyncFree {
		s += ": fsync reaches no device, so synchronous costs nothing here"
	}
	return s
}

// stopped says how many rounds were run and why there were no more.
func stopped(a *stats.Analysis) string {
	rounds := fmt.Sprintf("%d complete", a.Run.Rounds)
	switch a.Run.Stopped {
	case result.StoppedRounds:
		return rounds + ", as many as were asked for"
	case result.StoppedSettled:
		if a.Run.Precision > 0 {
			return rounds + ": all cases are settled"
		}
		return rounds + ": then every verdict was clear"
	case result.StoppedTime:
		return rounds + ": another round would not have ended in time"
	case result.StoppedInterrupted:
		_, trials := wholeRounds(a.Run)
		return fmt.Sprintf("%s, %s: interrupted", rounds, counted(int64(trials), "trial"))
	case result.StoppedNothingLeft:
		if hostLost(a) {
			return rounds + ": then the machine went away"
		}
		return rounds + ": nothing was left to measure, because every case had failed or was refused"
	case "": // the run's own count is set when it ends
		whole, trials := wholeRounds(a.Run)
		return fmt.Sprintf("%d complete, %s: the run has not ended, or was killed", whole, counted(int64(trials), "trial"))
	}
	return rounds + ": " + a.Run.Stopped
}

// maxOpen is how many open figures are worth reading.
const maxOpen = 3

// settled says how many figures of a run are as precise as was asked for, and which are
// the widest of the others, the open ones, which it counts.
func settled(a *stats.Analysis) (openFigures int, text string) {
	figures := a.Figures()
	if a.Run.Precision <= 0 || len(figures) == 0 {
		return 0, ""
	}
	what := "median"
	if slices.ContainsFunc(figures, func(f stats.Figure) bool { return f.Base != nil }) {
		what = "ratio"
	}
	figures = onePerRow(figures, a.Run.Precision)
	open := slices.DeleteFunc(slices.Clone(figures), func(f stats.Figure) bool { return f.Settled(a.Run.Precision) })
	text = fmt.Sprintf("%d of %s within ±%s", len(figures)-len(open), counted(int64(len(figures)), what), percent(a.Run.Precision))
	if len(open) == 0 {
		return 0, text
	}
	if !slices.ContainsFunc(open, func(f stats.Figure) bool { return f.Summary.Interval != nil }) {
		return len(open), fmt.Sprintf("%s; the others have fewer than %d samples, and so no interval", text, stats.MinSamples)
	}
	slices.SortStableFunc(open, func(a, b stats.Figure) int {
		x, _ := a.Summary.Spread()
		y, _ := b.Summary.Spread()
		return cmp.Compare(y, x)
	})
	var words []string
	for _, f := range open[:min(len(open), maxOpen)] {
		words = append(words, fmt.Sprintf("%s %s %s", f.TableName, cmp.Or(f.Cell.As, label(f.Cell.Case)), spread(f.Summary)))
	}
	if more := len(open) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return len(open), text + "; open: " + strings.Join(words, ", ")
}

// onePerRow returns the widest figure of each driver, case and phase, because one whose
// settings are side by side with others has two: in its own table, and among them.
func onePerRow(figures []stats.Figure, precision float64) (list []stats.Figure) {
	type row struct {
		of    int // case
		phase string
	}
	at := map[row]int{} // in list
	for _, f := range figures {
		k := row{f.Cell.Case.ID, f.Phase}
		i, ok := at[k]
		if !ok {
			at[k] = len(list)
			list = append(list, f)
			continue
		}
		x, _ := f.Summary.Spread()
		y, _ := list[i].Summary.Spread()
		if settled := f.Settled(precision); settled == list[i].Settled(precision) && x > y || !settled && list[i].Settled(precision) {
			list[i] = f
		}
	}
	return list
}

// wholeRounds counts the rounds that are complete: those after which another began, and
// the last one if every case of the one before that had not failed has a trial. It also
// counts the trials of all rounds.
func wholeRounds(run *result.Run) (rounds, trials int) {
	byRound := map[int]map[int]bool{} // the cases of each round
	ended := map[int]int{}            // by case, the round in which it failed; 0 if before the first
	for i := range run.Trials {
		t := &run.Trials[i]
		if byRound[t.Round] == nil {
			byRound[t.Round] = map[int]bool{}
		}
		byRound[t.Round][t.Case] = true
		if t.Round > 0 {
			trials++
		}
		if t.Status != result.OK {
			ended[t.Case] = t.Round
		}
	}
	for len(byRound[rounds+2]) > 0 {
		rounds++
	}
	if len(byRound[rounds+1]) == 0 {
		return rounds, trials
	}
	for _, c := range run.Cases {
		last, lost := ended[c.ID]
		if due := rounds == 0 || byRound[rounds][c.ID]; due && !byRound[rounds+1][c.ID] && (!lost || last > rounds) {
			return rounds, trials
		}
	}
	return rounds + 1, trials
}

func group(g *stats.Group, h Hints) document {
	title := g.Workload
	if v := g.Variant(); v != "" {
		title += " · " + v
	}
	var varied []string
	for _, v := range g.Varied {
		varied = append(varied, v.Name)
	}
	d := append(document{heading{2, title}}, conditions(g.Outcomes[0].Case, varied)...)
	for _, t := range g.Tables {
		d = append(d, phase(t, h)...)
	}
	d = append(d, troubles(g, result.WarningUnverified)...)
	d = append(d, readLater(g.Outcomes)...)
	return d
}

// unverifiedIn returns the unverified warnings that some cells have in their phase, each
// once.
func unverifiedIn(cells []*stats.Cell, phase string) []string {
	var list []string
	for _, c := range cells {
		for _, w := range c.Warnings {
			if w.Code == result.WarningUnverified && w.Phase == phase && !slices.Contains(list, w.Message) {
				list = append(list, w.Message)
			}
		}
	}
	return list
}

// settings describes the settings in force. If the workload changes a setting between
// phases, the phases are named.
func settings(c *result.Case) []string {
	all := c.Settings
	for _, s := range c.InForce {
		all = all.With(s)
	}
	var words []string
	for _, n := range stats.SettingNames(all) {
		var phases groups[string, string] // by value
		for _, p := range c.Phases {
			phases.add(cmp.Or(c.SettingsIn(p)[n], "not set"), p)
		}
		switch values := phases.keys; len(values) {
		case 0:
			words = append(words, n+"="+all[n])
		case 1:
			words = append(words, n+"="+values[0])
		default:
			for i, v := range values {
				values[i] = v + " in " + strings.Join(phases.of[v], ", ")
			}
			words = append(words, n+"=("+strings.Join(values, "; ")+")")
		}
	}
	return words
}

// changed says which settings the workload itself changes. It returns "" if there are
// none.
func changed(c *result.Case) string {
	var words []string
	for _, d := range driver.Vocabulary {
		n := d.Name
		if !changes(c, n) {
			continue
		}
		if v, asked := c.Settings[n]; asked {
			words = append(words, n+" ("+v+" was asked for)")
		} else {
			words = append(words, n)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "the workload itself changes " + strings.Join(words, ", ") + ", as it declares"
}

// conditions lists the parameters and settings of a case, without those that the title
// has.
func conditions(c *result.Case, varied []string) (d document) {
	var fixed []string
	for _, n := range slices.Sorted(maps.Keys(c.Parameters)) {
		fixed = append(fixed, fmt.Sprintf("%s=%d", n, c.Parameters[n]))
	}
	fixed = slices.DeleteFunc(append(fixed, settings(c)...), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(varied, name)
	})
	if len(fixed) > 0 {
		d = append(d, paragraph{strings.Join(fixed, " "), true})
	}
	if note := changed(c); note != "" {
		d = append(d, list{item{label: "settings", text: note}})
	}
	return d
}

// phase returns a table with what belongs directly below it.
func phase(t *stats.Table, h Hints) document {
	measured := t.Measured()
	if len(measured) == 0 {
		return nil
	}
	d := append(phaseHead(t, measured), figures(t, measured))
	if l := latencies(measured); len(l.rows) > 0 {
		d = append(d, paragraph{text: latencyTitle(measured)}, l)
	}
	return append(d, phaseNotes(t, measured, h))
}

// tableAnswer says who comes first in a table, as a sentence.
func tableAnswer(t *stats.Table) string {
	r := ranking(t)
	if r.say(); r.Best == nil || !strings.HasPrefix(r.Text, r.Best.Name) { // it does not begin with a name
		return strings.ToUpper(r.Text[:1]) + r.Text[1:] + "."
	}
	return r.Text + "."
}

// phaseHead is the heading of a phase, and who comes first in it if several rows have a rank.
func phaseHead(t *stats.Table, measured []*stats.Cell) document {
	d := document{heading{3, t.Phase + ": " + subject(measured)}}
	if r := ranking(t); len(r.choices()) > 1 {
		d = append(d, paragraph{text: tableAnswer(t)})
	}
	return d
}

// phaseNotes is what there is to say of a table's figures.
func phaseNotes(t *stats.Table, measured []*stats.Cell, h Hints) list {
	var below list
	if len(measured) == 2 {
		if test, ok := t.Against(1, 0); ok {
			verdict := "cannot be told from"
			switch {
			case test.Significant() && test.Sign() > 0:
				verdict = "is slower than"
			case test.Significant():
				verdict = "is faster than"
			}
			text := fmt.Sprintf("%s %s %s: %s; it took longer in %s of the rounds",
				name(measured[1].Outcome), verdict, name(measured[0].Outcome), strings.Replace("p="+probability(test.Adjusted), "=<", "<", 1), percent((1+test.Delta)/2))
			if measured[0].TooShort() || measured[1].TooShort() {
				text += "; but the phase is too short to judge them by"
			}
			below = append(below, item{label: "compared", text: text})
		}
	}
	below.note(item{label: "too short", text: tooShort(measured, h), alarm: true})
	for _, it := range unsetIn(t) {
		below = append(below, item{label: "settings", text: "nobody set " + it.label + ": " + it.text, alarm: true})
	}
	if perSecond := ceiling(measured); perSecond > 0 {
		below = append(below, item{label: "ceiling", text: fmt.Sprintf("%s req/s is what the load generator reaches here, in closed loop with %s, of a server that does nothing",
			human(perSecond), counted(int64(measured[0].Samples[0].Load.Clients), "connection"))})
	}
	for _, c := range measured {
		if c.UnlikeFailures() {
			below = append(below, item{label: "not ranked", text: name(c.Outcome) + ": " + c.Unranked, alarm: true})
		}
	}
	for _, w := range unverifiedIn(measured, t.Phase) {
		if len(measured) > 1 {
			w += ": these figures are compared on the drivers' word"
		}
		below = append(below, item{label: "not verified", text: w, alarm: true})
	}
	below.note(item{label: "note", text: orderNote(t, measured)})
	below.note(item{label: "note", text: floorNote(t, measured)})
	below.note(item{label: labels[CaveatAdded], text: addedNote(t, measured, h), alarm: true}) // it may decide who leads
	for _, c := range measured {
		below.note(item{label: "errors", text: errorCounts(c), alarm: true})
		below.note(item{label: "results", text: resultCounts(c)})
		if c.Skipped > 0 {
			below = append(below, item{label: "warning", text: fmt.Sprintf("%s: no ratio of %s, since the base measured zero", name(c.Outcome), counted(int64(c.Skipped), "round")), alarm: true})
		}
	}
	below.note(item{label: "note", text: busyAtOnce(measured)})
	return below
}

// subject says what a table's figures are about.
func subject(cells []*stats.Cell) string {
	first := cells[0].Samples[0]
	included := ""
	if someFailed(cells) {
		included = ", failed ones included"
	}
	switch l := first.Load; {
	case l != nil && l.Rate > 0:
		return fmt.Sprintf("99th percentile of the latency, at %s requests per second%s", number(l.Rate), included)
	case l != nil:
		return "time per request, with " + counted(int64(l.Clients), "connection") + included
	}
	switch first.Metric {
	case result.MetricTimePerOp:
		return "time per operation" + included
	case result.MetricLatency:
		return "99th percentile of the slowest operation's latency, at a fixed rate" + included
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
		return "time for " + counted(first.Rows, "row")
	case first.Rows == 0:
		return "time for " + counted(first.Operations, "operation")
	}
	return "time for " + counted(first.Operations, "operation") + ", " + counted(first.Rows, "row")
}

// label returns a driver as it was named. A driver that was given by the path of an
// executable has the name that it gives itself. The path is added unless it is just that
// name in the working directory.
func label(c *result.Case) string {
	own, d := c.Info.Name, c.Driver
	switch {
	case own == "" || !strings.ContainsAny(result.BaseDriver(d), `/\`):
		return d
	case d == "./"+own:
		return own
	}
	return own + " (" + d + ")"
}

// name returns a driver's label with the version that was measured.
func name(o *stats.Outcome) string {
	if o.As != "" {
		return o.As
	}
	d := label(o.Case)
	if strings.HasPrefix(d, result.BaseDriver(d)+"@") {
		return d
	}
	if v := version(o); v != "" {
		return d + " " + v
	}
	return d
}

func version(o *stats.Outcome) string {
	p := o.Proof()
	if p == nil {
		return ""
	}
	if o.Case.Build["directory"] != "" {
		return revision(o.Case.Build)
	}
	v := p.ModuleVersion
	// Of a pseudo-version, the commit is enough beside a driver's name.
	if parts := strings.Split(v, "-"); len(parts) == 3 && len(parts[2]) == 12 && len(parts[1]) >= 14 {
		return parts[2][:7]
	}
	return v
}

// revision returns the commit of a checkout from what is known of its build.
func revision(build map[string]string) string {
	v := build["vcs.revision"]
	v = v[:min(len(v), 7)]
	if build["vcs.modified"] != "" {
		v += "+changes"
	}
	return v
}

// proof returns what was read back in the case's first trial that has a proof.
func sqliteVersion(o *stats.Outcome) string {
	if p := o.Proof(); p != nil {
		return p.SQLiteVersion
	}
	return absent
}
