package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

// leastLines is the least height of a screen. On a lower terminal it scrolls.
const leastLines = 16

// roomy is the height from which sections are separated by empty lines.
const roomy = 30

// screen is what is read first, on a terminal: a part of a run's report that always fits.
// Each section has its share of the lines and says what it leaves out.
type screen struct {
	textRenderer
	left  int // lines
	ascii bool
}

// writeScreen writes at most opts.Lines lines.
func writeScreen(w io.Writer, a *stats.Analysis, opts Options) error {
	s := &screen{textRenderer: newTextRenderer(opts), left: max(opts.Lines, leastLines), ascii: opts.ASCII}
	said := AnswersOf(a, opts)
	space := opts.Lines >= roomy

	rest := s.section(func() { s.rest(opts.Hints.Rest) })
	facts := s.section(func() { s.facts(a, &said, opts, s.left < roomy) })
	head := s.section(func() { s.clipped(said.Text, "", "", max(3, opts.Lines/4), bold) })
	fit := s.section(func() {
		if !space && said.Choices != nil {
			s.labeled("the best", choicesInShort(&said), 1, false)
			return
		}
		for _, it := range choiceItems(&said) {
			s.labeled(it.label, it.text, 1, false)
		}
	})
	s.left -= len(rest) + len(facts) + len(head) + len(fit)
	spaces := 0
	if space {
		spaces = 3
	}
	s.left -= spaces
	tables := slices.DeleteFunc(slices.Clone(said.Tables), func(r Ranking) bool { return r.Best == nil && (said.Overall != nil || !r.bars()) })
	need := s.wanted(&said, tables)
	if opts.Study != nil {
		need = 3 * len(opts.Study.Claims)
	}
	share := s.left / 4
	if crowded := need+share > s.left; crowded && space && opts.Study == nil {
		short := s.section(func() { s.facts(a, &said, opts, true) })
		s.left += len(facts) - len(short) + 1
		facts, spaces, share = short, 2, s.left/5
	}
	risks, without := 0, false
	for _, c := range said.Caveats {
		if c.Code == CaveatRisk {
			risks++
		}
		without = without || slices.Contains(noFigures, c.Code)
	}
	switch {
	case without || risks > 1:
		share = s.left / 3
	case risks > 0:
		share = s.left / 4
	}
	beware := s.caveats(said.Caveats, max(3, share, s.left-need))
	s.left -= len(beware)
	var figures []string
	if opts.Study != nil {
		figures = s.claims(opts.Study)
	} else {
		figures = s.figures(&said, tables)
	}
	for i, part := range [][]string{slices.Concat(head, fit), figures, slices.Concat(beware, facts), rest} {
		if i > 0 && i <= spaces && len(part) > 0 {
			s.out.WriteByte('\n')
		}
		for _, line := range part {
			s.out.WriteString(line + "\n")
		}
	}
	_, err := io.WriteString(w, s.out.String())
	return err
}

// section returns the lines that f writes.
func (s *screen) section(f func()) []string {
	whole := s.out
	s.out = strings.Builder{}
	f()
	lines := strings.SplitAfter(s.out.String(), "\n")
	s.out = whole
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\n")
	}
	return lines[:len(lines)-1]
}

// plain makes text that others may have written printable, and ASCII if that is all that
// the terminal shows.
func (s *screen) plain(t string) string {
	t = Line(t)
	if s.ascii {
		t = inASCII(t)
	}
	return t
}

// clipped writes text in at most some lines, after a label of its own color. Further lines
// are indented as far as the label is wide. An ellipsis is where it is cut.
func (s *screen) clipped(t, label, painted string, most int, c text.Colors) {
	indent := strings.Repeat(" ", text.StringWidth(label))
	room := s.width - len(indent)
	lines := wrap(s.plain(t), room)
	if len(lines) > most {
		dots := s.plain("…")
		last := lines[most-1] + " " + lines[most]
		part := text.Trim(last, room-text.StringWidth(dots))
		if at := strings.LastIndexByte(part, ' '); at > len(part)/2 && !strings.HasPrefix(last[len(part):], " ") {
			part = part[:at] // a part of a figure would be a wrong one
		}
		lines = append(lines[:most-1], strings.TrimRight(part, " ,;:")+dots)
	}
	for i, line := range lines {
		before := indent
		if i == 0 {
			before = cmp.Or(painted, label)
		}
		s.out.WriteString(before + s.paint(line, c) + "\n")
	}
}

// fit cuts a text that is wider than a column, with an ellipsis.
func (s *screen) fit(t string, width int) string {
	dots := s.plain("…")
	if text.StringWidth(t) <= width || width <= len(dots) {
		return text.Trim(t, width)
	}
	return strings.TrimRight(text.Trim(t, width-text.StringWidth(dots)), " ") + dots
}

// labelWidth is the width of the labels of a screen, with the gap after them.
const labelWidth = 14

// labeled writes a line of a label and text, in at most some lines.
func (s *screen) labeled(label, t string, most int, alarming bool) {
	c := faint
	if alarming {
		c = alarm
	}
	width := min(labelWidth, s.width/4+2)
	label = text.Pad(text.Trim(s.plain(label), width-1), width, ' ')
	s.clipped(t, label, s.paint(label, c), most, nil)
}

// rest names the commands that show the rest.
func (s *screen) rest(hints []Hint) {
	most := 2
	if s.left < roomy {
		hints, most = hints[:min(2, len(hints))], 1
	}
	for _, h := range hints {
		s.labeled(h.Shows, h.Command, most, false)
	}
}

// facts says what was measured, and how sure verdicts are.
func (s *screen) facts(a *stats.Analysis, said *Answers, opts Options, short bool) {
	run, most := a.Run, 2
	if short {
		most = 1
	}
	sure := []string{counted(int64(rounds(a)), "round")}
	if n := said.leastRounds(); n > 0 && n < rounds(a) {
		sure[0] = fmt.Sprintf("%d–%s", n, sure[0])
	}
	if slices.ContainsFunc(said.Tables, func(r Ranking) bool { return r.certain() }) {
		sure = append(sure, percent(a.Confidence)+" intervals")
	}
	if r := a.Reliability; r.Telling > 0 && opts.Study == nil {
		wrong := fmt.Sprintf("at most %g%% of such verdicts wrong", 100*stats.Alpha)
		if n := r.FalseTables(); n >= 0.5 {
			wrong = fmt.Sprintf("at most about %.0f of %d tables wrong", math.Ceil(n), r.Telling)
		}
		sure = append(sure, wrong)
	}
	s.labeled("how sure", strings.Join(sure, ", "), most, false)
	if in := inForceInRun(a); in != "" {
		s.labeled("settings", in, most, false)
	}
	if short {
		return
	}
	words := []string{fmt.Sprint(run.ID), run.Started.UTC().Format("2006-01-02 15:04 MST")}
	if !run.Ended.IsZero() {
		words = append(words, elapsed(run.Ended.Sub(run.Started)))
	}
	if opts.Study == nil && run.Scale != "" {
		words = append(words, "scale "+run.Scale)
	}
	if m := run.Machine; m.Cores > 0 {
		words = append(words, fmt.Sprintf("%d × %s", m.Cores, m.CPU))
	}
	s.labeled("run", strings.Join(words, " · "), 1, false)
}

// leastRounds returns the fewest rounds behind what is shown: cases end when their figures
// are settled. It returns 0 if nothing is ranked.
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

// certain reports whether any row has an interval.
func (r *Ranking) certain() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool {
		return row.Median != nil && row.Median.Interval != nil || row.Ratio != nil && row.Ratio.Interval != nil
	})
}

// inForceInRun says which settings all workloads have, and in which they differ.
func inForceInRun(a *stats.Analysis) string {
	count, where := map[string]int{}, []string{}
	for _, g := range a.Groups {
		for _, word := range settings(g.Outcomes[0].Case) {
			if count[word]++; count[word] == 1 {
				where = append(where, word)
			}
		}
	}
	var all, names []string
	for _, word := range where {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case count[word] == len(a.Groups):
			all = append(all, word)
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	switch {
	case names == nil:
		return strings.Join(all, " ")
	case all == nil:
		return "they differ by phase: " + strings.Join(names, ", ")
	}
	return strings.Join(all, " ") + "; differ by phase: " + strings.Join(names, ", ")
}

// labels has the words for codes of caveats that are not of noise. The others are warnings.
var labels = map[string]string{
	CaveatEnded: "cut short", CaveatFewRounds: "not ranked", CaveatUnranked: "not ranked", CaveatTooShort: "too short",
	CaveatUnset: "defaults", CaveatAdded: ownCost + " own cost", CaveatRisk: "risk", CaveatUnsettled: "precision", CaveatSummary: "left out", CaveatLeftOut: "left out", CaveatUnsupported: CaveatUnsupported,
	result.WarningUnverified: "unverified", result.WarningSync: "databases", string(result.Wrong): string(result.Wrong),
	string(result.Refused): string(result.Refused), string(result.Failed): string(result.Failed),
	string(result.Unavailable): string(result.Unavailable), string(stats.NotMeasured): string(stats.NotMeasured),
}

// noises has a few words for the warnings of a noisy machine, which share a line.
var noises = map[string]func(n int) string{
	result.WarningCalibration: func(n int) string { return "speed changed in " + counted(int64(n), "round") },
	result.WarningSteal:       func(int) string { return "CPU time was stolen" },
	result.WarningLoad:        func(int) string { return "other processes ran" },
	result.WarningRobbed:      func(int) string { return "trials were robbed" },
	result.WarningFsync:       func(int) string { return "the disk's speed changed" },
	result.WarningGovernor:    func(int) string { return "clock rate not fixed" },
	result.WarningVirtual:     func(int) string { return "virtual machine" },
}

// caveats returns the lines of what to beware of: all of them shorter if there is not
// enough room, and then without the last.
func (s *screen) caveats(list []Caveat, room int) []string {
	var items []item
	noise := -1 // its place in items
	for _, c := range list {
		if words, ok := noises[c.Code]; ok {
			if noise < 0 {
				noise = len(items)
				items = append(items, item{label: "noise", text: "trust ratios, not times: " + words(c.Count), alarm: true})
			} else {
				items[noise].text += ", " + words(c.Count)
			}
			continue
		}
		items = append(items, item{label: cmp.Or(labels[c.Code], "warning"), text: c.Text, alarm: c.Code != CaveatLeftOut && c.Code != CaveatUnsupported})
	}
	// Why a case has no figures can be long. Risks are never cut.
	type most struct{ why, other int }
	write := func(it item, m most) {
		n := m.other
		switch {
		case it.label == labels[CaveatRisk]:
			n = math.MaxInt
		case slices.Contains(noFigures, it.label):
			n = m.why
		}
		s.labeled(it.label, it.text, n, it.alarm)
	}
	shorter := []most{{4, 4}, {4, 2}, {3, 1}, {2, 1}, {1, 1}}
	for _, m := range shorter {
		lines := s.section(func() {
			for _, it := range items {
				write(it, m)
			}
		})
		if len(lines) <= room {
			return lines
		}
	}
	var lines []string
	left := 0
	// How precise figures are says least.
	last := func(it item) bool { return it.label == labels[CaveatUnsettled] }
	items = append(slices.DeleteFunc(slices.Clone(items), last), slices.DeleteFunc(items, func(it item) bool { return !last(it) })...)
	for _, it := range items {
		more := s.section(func() { write(it, shorter[len(shorter)-1]) })
		if left > 0 || len(lines)+len(more) > room-1 {
			left++
			continue
		}
		lines = append(lines, more...)
	}
	return append(lines, s.section(func() { s.clipped(fmt.Sprintf("and %d more to beware of", left), "", "", 1, alarm) })...)
}

// wanted returns how many lines the figures would take.
func (s *screen) wanted(said *Answers, tables []Ranking) (lines int) {
	if o := said.Overall; o != nil && o.bars() {
		return len(o.shown()) + 2 + s.layout(tables, true).lines
	}
	for i := range tables {
		if r := &tables[i]; r.bars() {
			lines += len(r.shown()) + 1
		} else {
			lines++
		}
	}
	return lines
}

// figures returns the ranked bars, and the answers of the tables that have none.
func (s *screen) figures(said *Answers, tables []Ranking) []string {
	var lines []string
	s.left = max(s.left, 4)
	if o := said.Overall; o != nil && o.bars() {
		list := s.layout(tables, true).lines + 1
		if len(o.shown())+1+list > s.left {
			list = min(s.layout(tables, false).lines+1, max(0, s.left-len(o.shown())-1))
		}
		lines = s.section(func() { s.ranked(o, s.left-list) })
	} else {
		for len(tables) > 0 && tables[0].bars() {
			room := s.left - len(lines)
			if len(tables) > 1 {
				room -= min(3, len(tables)) // for the others
			}
			if need := len(tables[0].shown()) + 1; len(lines) > 0 && room < min(need, 5) {
				break
			}
			lines = append(lines, s.section(func() { s.ranked(&tables[0], room) })...)
			tables = tables[1:]
		}
	}
	if len(said.Tables) == 1 {
		return lines // the answer says it
	}
	if room := s.left - len(lines); len(tables) > 0 && (room > 2 || room > s.layout(tables, false).lines) {
		lines = append(lines, s.section(func() { s.list(tables, room) })...)
	}
	return lines
}

// bars reports whether rows can be drawn as bars.
func (r *Ranking) bars() bool { return len(r.shown()) > 1 }

// shown returns the rows that have a ratio.
func (r *Ranking) shown() (rows []int) {
	for i, row := range r.Rows {
		if row.Ratio != nil {
			rows = append(rows, i)
		}
	}
	return rows
}

// bar is the drawing of a row.
type bar struct{ low, middle, high, floor float64 }

// draw draws a bar from zero: solid to the lower end of its interval, then fainter to the
// middle and the upper end. A line marks the floor. What is longer than most is cut, and
// marked.
func (b bar) draw(width int, most float64, ascii bool) string {
	glyphs := []rune("█▓░│»")
	if ascii {
		glyphs = []rune("#=-|>")
	}
	at := func(v float64) int { return int(math.Round(v / most * float64(width))) }
	cells := make([]rune, width)
	for i := range cells {
		switch {
		case i < at(b.low):
			cells[i] = glyphs[0]
		case i < at(b.middle):
			cells[i] = glyphs[1]
		case i < at(b.high):
			cells[i] = glyphs[2]
		default:
			cells[i] = ' '
		}
	}
	if i := at(b.floor) - 1; b.floor > 0 && i >= 0 && i < width {
		cells[i] = glyphs[3]
	}
	if b.middle > most {
		cells[width-1] = glyphs[4]
	}
	return string(cells)
}

// shortTie shortens what [tiedWith] says.
var shortTie = strings.NewReplacer("tied with ", "tied ", " and the floor", ", floor", "the floor", "floor")

// leastBar is how narrow bars may become. Then columns are left out instead.
const leastBar = 8

// ranked writes a title and rows, in at most some lines. Rows that have a rank have bars.
func (s *screen) ranked(r *Ranking, room int) {
	rows := r.shown()
	of := fmt.Sprintf("time over %s", counted(int64(r.Tables), "phase"))
	if r.Table != nil {
		of = fmt.Sprintf("%s: %s", r.Table, r.Of)
	}
	title := fmt.Sprintf("%s, × %s", of, r.Base)
	switch {
	case r.Best == nil:
		title += ": too few rounds to rank, so in order of names"
		slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(r.Rows[i].Name, r.Rows[j].Name) })
	case r.IsFloor:
		title += " (│ the floor, not a choice)"
	}
	legend := "; ▓░ interval"
	if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Tied != nil }) {
		legend += "; tied: not told apart"
	}
	if r.Best != nil && text.StringWidth(s.plain(title+legend)) <= s.width {
		title += legend
	}
	s.clipped(title, "", "", 1, faint)
	more := 0
	if over := len(rows) + 1 - room; over > 0 {
		more = over + 1
		rows = rows[:max(1, len(rows)-more)]
		more = len(r.shown()) - len(rows)
	}
	var names, plain, figures, spreads, tied []string
	var medians []float64
	var standings []stats.Standing
	for _, row := range r.Rows {
		standings = append(standings, row.Standing)
	}
	for _, i := range rows {
		row := r.Rows[i]
		names = append(names, s.plain(strings.TrimSpace(row.Name+" "+row.shownVersion())))
		plain = append(plain, s.plain(valuesOf(row.Name)))
		if r.Best != nil && row.Case == r.Best.Case {
			names[len(names)-1] += r.mark()
			plain[len(plain)-1] += r.mark()
		}
		figures = append(figures, times(row.Ratio.Median))
		spread := ""
		if row.Name != r.Base {
			spread = s.plain(ends(*row.Ratio))
		}
		spreads = append(spreads, spread)
		tied = append(tied, s.plain(tiedWith(standings, row.Tied)))
		medians = append(medians, row.Ratio.Median)
	}
	figures = withSpreads(figures, spreads)
	widest := func(words []string) (n int) {
		for _, w := range words {
			n = max(n, text.StringWidth(w))
		}
		return n
	}
	const place = 3 // the width of ranks
	bars := leastBar + gap
	if r.Best == nil {
		bars = 0
	}
	taken := func() int {
		n := place + widest(names) + gap + bars + widest(figures)
		if w := widest(tied); w > 0 {
			n += gap + w
		}
		return n
	}
	// What there is no room for is left out, what says least first. A tie never is.
	wanted := leastBar // more for bars
	for _, less := range []func(){
		func() { eachOf(tied, shortTie.Replace) },
		func() { names = plain },
		func() { bars = 0 },
		func() {
			for k, i := range rows {
				figures[k] = times(r.Rows[i].Ratio.Median)
			}
		},
		func() { eachOf(tied, func(t string) string { return t[:min(len(t), len("tied"))] }) },
	} {
		if taken()+wanted > s.width {
			less()
		}
		wanted = 0
	}
	figureWidth, tiedWidth := widest(figures), widest(tied)
	nameWidth := max(min(widest(names), widest(names)+s.width-taken()), 6)
	if bars > 0 {
		bars = min(bars+s.width-taken(), 60+gap)
	}
	most := r.longest(rows, medians)
	for k, i := range rows {
		row := r.Rows[i]
		rank := rankOf(row.Rank)
		if rank == "" && !row.Floor {
			rank = absent
		}
		line := fmt.Sprintf("%2s ", rank) + text.Pad(s.fit(names[k], nameWidth), nameWidth, ' ') + strings.Repeat(" ", gap)
		if bars > 0 {
			b := bar{row.Ratio.Median, row.Ratio.Median, row.Ratio.Median, 0}
			if in := row.Ratio.Interval; in != nil {
				b.low, b.high = in.Low, in.High
			}
			if r.IsFloor {
				b.floor = 1
			}
			line += b.draw(bars-gap, most, s.ascii) + strings.Repeat(" ", gap)
		}
		line += text.Pad(figures[k], figureWidth, ' ')
		if tiedWidth > 0 {
			line += strings.Repeat(" ", gap) + tied[k]
		}
		c := text.Colors(nil)
		switch {
		case row.Floor:
			c = faint
		case r.Best != nil && (row.Name == r.Best.Name || slices.Contains(r.Tied, row.Name)):
			c = leader
		}
		s.out.WriteString(s.paint(strings.TrimRight(text.Trim(line, s.width), " "), c) + "\n")
	}
	if more > 0 {
		s.clipped(fmt.Sprintf("   and %s", counted(int64(more), "more row")), "", "", 1, faint)
	}
}

// eachOf replaces words.
func eachOf(words []string, f func(string) string) {
	for i := range words {
		words[i] = f(words[i])
	}
}

// valuesOf returns the name of a row without those of settings: the driver and the values.
func valuesOf(name string) string {
	words := strings.Fields(name)
	for i, w := range words {
		if _, value, ok := strings.Cut(w, "="); ok {
			words[i] = value
		}
	}
	return strings.Join(words, " ")
}

// shownVersion returns the version, unless the name has it, or is of settings.
func (row *Row) shownVersion() string {
	if strings.ContainsAny(row.Name, "@= ") {
		return ""
	}
	return row.Version
}

// longest returns the ratio that takes the whole width: that of the longest bar, unless a
// few are so long that the others could not be told apart.
func (r *Ranking) longest(rows []int, medians []float64) float64 {
	most := 0.0
	for _, i := range rows {
		most = max(most, r.Rows[i].Ratio.Median)
		if in := r.Rows[i].Ratio.Interval; in != nil {
			most = max(most, in.High)
		}
	}
	sorted := slices.Sorted(slices.Values(medians))
	if typical := sorted[len(sorted)/2]; most > 4*typical && typical > 0 {
		most = 4 * typical
	}
	return max(most, 1)
}

// listed is the answer of a table in a few words: the table, the best and how many are tied
// with it, and its ratio or time, with its spread or without.
func (s *screen) listed(r *Ranking, spreads bool) (words [3]string) {
	words[0] = s.plain(r.Table.String())
	if r.Best == nil {
		words[1] = "too few rounds"
		return words
	}
	words[1] = s.plain(r.Best.Name) + r.mark()
	if n := len(r.Tied); n > 0 {
		words[1] += fmt.Sprintf(" +%d", n)
	}
	row := r.Rows[slices.IndexFunc(r.Rows, func(row Row) bool { return row.Case == r.Best.Case })]
	switch {
	case r.Best.Ratio != nil && spreads:
		words[2] = s.plain(times(r.Best.Ratio.Median) + " " + spread(*r.Best.Ratio))
	case r.Best.Ratio != nil:
		words[2] = times(r.Best.Ratio.Median)
	case len(r.choices()) < 2 && row.Median != nil:
		words[2] = s.plain(duration(int64(row.Median.Median*1e9)) + " " + ends(*row.Median))
	}
	return words
}

// ownCost marks the best of a table whose lead could be due to what sqlite3perf adds.
const ownCost = "*"

// mark returns the mark of the best.
func (r *Ranking) mark() string {
	if r.Added {
		return ownCost
	}
	return ""
}

// listing is how a list of tables is laid out.
type listing struct {
	words          [][3]string // of each table
	widths         [3]int      // of the columns
	columns, lines int         // tables beside each other, and below
}

// layout lays out a list of tables. Their names are cut a little if more of them fit beside
// each other then.
func (s *screen) layout(tables []Ranking, spreads bool) (l listing) {
	w := &l.widths
	for i := range tables {
		words := s.listed(&tables[i], spreads)
		l.words = append(l.words, words)
		for j := range words {
			w[j] = max(w[j], text.StringWidth(words[j]))
		}
	}
	const cut = 4
	all := w[0] + w[1] + w[2] + 2*gap
	l.columns = min(max(1, (s.width+2*gap)/(all-cut+2*gap)), max(1, len(tables)))
	if over := all - ((s.width+2*gap)/l.columns - 2*gap); over > 0 {
		less := min(over, max(cut, w[0]-s.width/2))
		w[0], w[1] = w[0]-less, max(0, w[1]-(over-less))
	}
	l.lines = (len(tables) + l.columns - 1) / l.columns
	return l
}

// list writes the answers of tables, as many as there is room for, with spreads if all fit
// that way.
func (s *screen) list(tables []Ranking, room int) {
	title := "in each phase, the best"
	if slices.ContainsFunc(tables, func(r Ranking) bool { return len(r.Tied) > 0 }) {
		title += " (+2: tied with 2 others)"
	}
	if i := slices.IndexFunc(tables, func(r Ranking) bool { return r.Best != nil && r.Best.Ratio != nil }); i >= 0 {
		title += ", × " + tables[i].Base
	}
	s.clipped(title, "", "", 1, faint)
	l, more := s.layout(tables, true), 0
	if l.lines > room-1 {
		l = s.layout(tables, false)
	}
	if l.lines > room-1 {
		l.lines = max(1, room-2)
		more = max(0, len(tables)-l.lines*l.columns)
	}
	space := strings.Repeat(" ", gap)
	for i := range l.lines {
		var line strings.Builder
		for j := i; j < len(tables)-more; j += l.lines {
			if j > i {
				line.WriteString(space + space)
			}
			words := l.words[j]
			line.WriteString(text.Pad(s.fit(words[0], l.widths[0]), l.widths[0], ' ') + space +
				text.Pad(s.fit(words[1], l.widths[1]), l.widths[1], ' ') + space + text.AlignRight.Apply(words[2], l.widths[2]))
		}
		s.out.WriteString(strings.TrimRight(text.Trim(line.String(), s.width), " ") + "\n")
	}
	if more > 0 {
		s.clipped("and "+counted(int64(more), "more phase"), "", "", 1, faint)
	}
}

// claims returns the claims of a study with their verdicts: all of them shorter if there is
// not enough room, and then without the last.
func (s *screen) claims(r *Study) []string {
	for most := 3; most > 0; most-- {
		lines := s.section(func() {
			for i := range r.Claims {
				s.claim(r, i, most)
			}
		})
		if len(lines) <= s.left {
			return lines
		}
	}
	return s.section(func() {
		shown := max(1, s.left-1)
		for i := range shown {
			s.claim(r, i, 1)
		}
		s.clipped("and "+counted(int64(len(r.Claims)-shown), "more claim"), "", "", 1, faint)
	})
}

// claim writes a claim with its verdict, in at most some lines.
func (s *screen) claim(r *Study, i, most int) {
	c := &r.Claims[i]
	var here []string
	for j := range c.Comparisons {
		if x := &c.Comparisons[j]; x.Summary != nil {
			here = append(here, strings.TrimSpace(claimBound(x.Median, x.Unit)+" "+x.Unit))
		}
	}
	t := fmt.Sprintf("%d. %s", i+1, c.Claim)
	if here != nil {
		t += ": here " + someOf(here, 2)
	}
	verdict := map[Verdict]string{Holds: "holds", DoesNotHold: "not so", CannotBeTold: "not told"}[c.Verdict]
	s.labeled(verdict, t, most, c.Verdict == DoesNotHold)
}

// asciiWords has the words for what is not ASCII in reports.
var asciiWords = strings.NewReplacer("×", "x", "·", "-", "±", "+/-", "…", "...", "│", "|", "▓", "=", "░", "-", "–", "-", "−", "-", "’", "'", "µ", "u", "→", "->")

// inASCII converts text for a terminal that shows nothing but ASCII.
func inASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, asciiWords.Replace(s))
}
