package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// runScreen is what is read first of a run. Each section has its share of the lines and says
// what it leaves out.
type runScreen struct {
	document.Screen
	left   int  // lines
	marked bool // a row that is shown has [ownCost]
}

// writeScreen writes at most opts.Lines lines.
func writeScreen(w io.Writer, a *stats.Analysis, opts Options) error {
	s := &runScreen{Screen: document.NewScreen(opts.Options), left: max(opts.Lines, document.LeastLines)}
	said := AnswersOf(a, opts)
	space := opts.Lines >= document.Roomy

	rest := s.Section(func() {
		s.Rest(append(conditions.ToResume(&opts.Hints, a), opts.Hints.Rest...), s.left >= document.Roomy)
	})
	facts := s.Section(func() { s.facts(a, &said, opts, s.left < document.Roomy) })
	head := s.Section(func() { s.Clipped(said.Text, "", "", max(3, opts.Lines/4), document.Bold) })
	fit := s.Section(func() {
		if !space && said.Choices != nil {
			s.Labeled("the best", choicesInShort(&said), 1, false)
			return
		}
		for _, it := range choiceItems(&said) {
			s.Labeled(it.Label, it.Text, 1, false)
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
	var sides *stats.Comparison
	switch {
	case opts.Study != nil:
		need = 3 * len(opts.Study.Claims)
	case a.Run.Compares != nil:
		sides = stats.CompareRun(a)
		need = len(sides.Cells)
	}
	share := s.left / 4
	if crowded := need+share > s.left; crowded && space && opts.Study == nil {
		short := s.Section(func() { s.facts(a, &said, opts, true) })
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
	room := max(3, share, s.left-need)
	beware := s.caveats(said.Caveats, room)
	s.left -= len(beware)
	var figures []string
	switch {
	case opts.Study != nil:
		figures = s.claims(opts.Study)
	case sides != nil:
		figures = s.Section(func() { s.sides(sides) })
	default:
		figures = s.figures(&said, tables)
	}
	if s.marked {
		beware = s.caveats(said.Caveats, room) // with the meaning of the mark
	}
	for i, part := range [][]string{slices.Concat(head, fit), figures, slices.Concat(beware, facts), rest} {
		if i > 0 && i <= spaces && len(part) > 0 {
			s.Out.WriteByte('\n')
		}
		for _, line := range part {
			s.Out.WriteString(line + "\n")
		}
	}
	_, err := io.WriteString(w, s.Out.String())
	return err
}

// sides writes the verdicts of a comparison, a line for each cell.
func (s *runScreen) sides(c *stats.Comparison) {
	shown := c.Cells
	if len(shown) > s.left {
		shown = shown[:max(0, s.left-1)]
	}
	for _, x := range shown {
		words := compare.CellName(x)
		if x.Measured() {
			words += ": " + document.Times(x.Ratio.Median) + " " + document.Interval(x.Ratio.Interval)
		}
		verdict := string(x.Verdict)
		switch x.Verdict {
		case stats.Bad:
			verdict = "no figure"
		case stats.Unclear:
			verdict = "not yet told"
		}
		s.Labeled(verdict, words, 1, x.Verdict == stats.Bad || x.Verdict == stats.Differing || x.FailuresTold())
	}
	if more := len(c.Cells) - len(shown); more > 0 {
		s.Clipped("and "+document.Counted(int64(more), "more cell"), "", "", 1, document.Faint)
	}
}

// wanted returns how many lines the figures would take.
func (s *runScreen) wanted(said *Answers, tables []Ranking) (lines int) {
	if o := said.Overall; o != nil && o.bars() {
		return len(o.shown()) + 2 + s.layout(tables, detail{spreads: true}).lines
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
func (s *runScreen) figures(said *Answers, tables []Ranking) []string {
	var lines []string
	s.left = max(s.left, 4)
	if o := said.Overall; o != nil && o.bars() {
		room := max(0, s.left-len(o.shown())-1)
		list := min(s.fullest(tables, room-1).lines+1, room)
		lines = s.Section(func() { s.ranked(o, s.left-list) })
	} else {
		for len(tables) > 0 && tables[0].bars() {
			room := s.left - len(lines)
			if len(tables) > 1 {
				room -= min(3, len(tables)) // for the others
			}
			if need := len(tables[0].shown()) + 1; len(lines) > 0 && room < min(need, 5) {
				break
			}
			lines = append(lines, s.Section(func() { s.ranked(&tables[0], room) })...)
			tables = tables[1:]
		}
	}
	if len(said.Tables) == 1 {
		return lines // the answer says it
	}
	if room := s.left - len(lines); len(tables) > 0 && (room > 2 || room > s.layout(tables, detail{}).lines) {
		lines = append(lines, s.Section(func() { s.list(tables, room) })...)
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

// leastBar is how narrow bars may become. Then columns are left out instead.
const leastBar = 8

// ranked writes a title and rows, in at most some lines. Rows that have a rank have bars.
func (s *runScreen) ranked(r *Ranking, room int) {
	rows := r.shown()
	of := fmt.Sprintf("time over %s", document.Counted(int64(r.Tables), "cell"))
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
	if r.Best != nil && text.StringWidth(s.Plain(title+legend)) <= s.Width {
		title += legend
	}
	s.Clipped(title, "", "", 1, document.Faint)
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
		names = append(names, s.Plain(strings.TrimSpace(row.Name+" "+row.shownVersion())))
		plain = append(plain, s.Plain(valuesOf(row.Name)))
		if r.Best != nil && row.Case == r.Best.Case {
			names[len(names)-1] += r.mark()
			plain[len(plain)-1] += r.mark()
			s.marked = s.marked || r.Added
		}
		figures = append(figures, document.Times(row.Ratio.Median))
		spread := ""
		if row.Name != r.Base {
			spread = s.Plain(document.Ends(*row.Ratio))
		}
		spreads = append(spreads, spread)
		tied = append(tied, s.Plain(tiedWith(standings, row.Tied)))
		medians = append(medians, row.Ratio.Median)
	}
	figures = document.WithSpreads(figures, spreads)
	widest := func(words []string) (n int) {
		for _, w := range words {
			n = max(n, text.StringWidth(w))
		}
		return n
	}
	const place = 3 // the width of ranks
	bars := leastBar + document.Gap
	if r.Best == nil {
		bars = 0
	}
	taken := func() int {
		n := place + widest(names) + document.Gap + bars + widest(figures)
		if w := widest(tied); w > 0 {
			n += document.Gap + w
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
				figures[k] = document.Times(r.Rows[i].Ratio.Median)
			}
		},
		func() { eachOf(tied, func(t string) string { return t[:min(len(t), len("tied"))] }) },
	} {
		if taken()+wanted > s.Width {
			less()
		}
		wanted = 0
	}
	figureWidth, tiedWidth := widest(figures), widest(tied)
	nameWidth := max(min(widest(names), widest(names)+s.Width-taken()), 6)
	if bars > 0 {
		bars = min(bars+s.Width-taken(), 60+document.Gap)
	}
	most := r.longest(rows, medians)
	for k, i := range rows {
		row := r.Rows[i]
		rank := rankOf(row.Rank)
		if rank == "" && !row.Floor {
			rank = document.Absent
		}
		line := fmt.Sprintf("%2s ", rank) + text.Pad(s.Fit(names[k], nameWidth), nameWidth, ' ') + strings.Repeat(" ", document.Gap)
		if bars > 0 {
			b := bar{row.Ratio.Median, row.Ratio.Median, row.Ratio.Median, 0}
			if in := row.Ratio.Interval; in != nil {
				b.low, b.high = in.Low, in.High
			}
			if r.IsFloor {
				b.floor = 1
			}
			line += b.draw(bars-document.Gap, most, s.Ascii) + strings.Repeat(" ", document.Gap)
		}
		line += text.Pad(figures[k], figureWidth, ' ')
		if tiedWidth > 0 {
			line += strings.Repeat(" ", document.Gap) + tied[k]
		}
		c := text.Colors(nil)
		switch {
		case row.Floor:
			c = document.Faint
		case r.Best != nil && (row.Name == r.Best.Name || slices.Contains(r.Tied, row.Name)):
			c = document.Leader
		}
		s.Out.WriteString(s.Paint(strings.TrimRight(text.Trim(line, s.Width), " "), c) + "\n")
	}
	if more > 0 {
		s.Clipped(fmt.Sprintf("   and %s", document.Counted(int64(more), "more row")), "", "", 1, document.Faint)
	}
}

// eachOf replaces words.
func eachOf(words []string, f func(string) string) {
	for i := range words {
		words[i] = f(words[i])
	}
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

// listing is how a list of tables is laid out.
type listing struct {
	words          [][3]string // of each table
	widths         [3]int      // of the columns
	columns, lines int         // tables beside each other, and below
	cut            bool        // there is no room for what is best and tied
	detail
}

// fullest lays out a list of tables with as much detail as there is room for in some lines. If
// there is none for all tables, it is the shortest.
func (s *runScreen) fullest(tables []Ranking, room int) (l listing) {
	for _, d := range allDetails {
		if l = s.layout(tables, d); l.lines <= room && !l.cut {
			break
		}
	}
	return l
}

// layout lays out a list of tables. Their names are cut a little if more of them fit beside
// each other then.
func (s *runScreen) layout(tables []Ranking, d detail) (l listing) {
	l.detail = d
	w := &l.widths
	for i := range tables {
		words := s.listed(&tables[i], d)
		l.words = append(l.words, words)
		for j := range words {
			w[j] = max(w[j], text.StringWidth(words[j]))
		}
	}
	const cut = 4
	all := w[0] + w[1] + w[2] + 2*document.Gap
	l.columns = min(max(1, (s.Width+2*document.Gap)/(all-cut+2*document.Gap)), max(1, len(tables)))
	if over := all - ((s.Width+2*document.Gap)/l.columns - 2*document.Gap); over > 0 {
		less := min(over, max(cut, w[0]-s.Width/2))
		w[0], w[1], l.cut = w[0]-less, max(0, w[1]-(over-less)), over > less
	}
	l.lines = (len(tables) + l.columns - 1) / l.columns
	return l
}

// list writes the answers of tables, as many as there is room for.
func (s *runScreen) list(tables []Ranking, room int) {
	l, more := s.fullest(tables, room-1), 0
	title := "in each cell, the best"
	switch tied := slices.ContainsFunc(tables, func(r Ranking) bool { return len(r.Tied) > 0 }); {
	case tied && (l.names || l.detail.words):
		title += " and what is tied with it"
	case tied:
		title += " (+2: and 2 more, tied with it)"
	}
	if i := slices.IndexFunc(tables, func(r Ranking) bool { return r.Best != nil && r.Best.Ratio != nil }); i >= 0 {
		title += ", × " + tables[i].Base
	}
	s.Clipped(title, "", "", 1, document.Faint)
	if l.lines > room-1 {
		l.lines = max(1, room-2)
		more = max(0, len(tables)-l.lines*l.columns)
	}
	space := strings.Repeat(" ", document.Gap)
	for i := range l.lines {
		var line strings.Builder
		for j := i; j < len(tables)-more; j += l.lines {
			if j > i {
				line.WriteString(space + space)
			}
			words := l.words[j]
			s.marked = s.marked || tables[j].Best != nil && tables[j].Added
			line.WriteString(text.Pad(s.Fit(words[0], l.widths[0]), l.widths[0], ' ') + space +
				text.Pad(s.Fit(words[1], l.widths[1]), l.widths[1], ' ') + space + text.AlignRight.Apply(words[2], l.widths[2]))
		}
		s.Out.WriteString(strings.TrimRight(text.Trim(line.String(), s.Width), " ") + "\n")
	}
	if more > 0 {
		s.Clipped("and "+document.Counted(int64(more), "more cell"), "", "", 1, document.Faint)
	}
}
