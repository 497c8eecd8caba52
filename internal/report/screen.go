package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// The ranks of a screen's sections. The section with the highest rank is shortened first.
const (
	rankLast    = 5 // empty lines, and details of the run
	rankShorter = 4 // the end of a long text, which can be cut off
	rankRest    = 3 // rows, cells and warnings beyond the first
	rankFirst   = 1 // the first rows, cells and warnings
)

// writeScreen writes a short report for a terminal of limited height.
func writeScreen(w io.Writer, a *stats.Analysis, opts Options) error {
	opts.Hints.Rest = append(conditions.ToResume(&opts.Hints, a), opts.Hints.Rest...)
	return document.RenderPart(w, nil, screenOf(a, opts), opts.Options)
}

// screenOf returns sections with the answer of a run, its figures, warnings and conditions.
func screenOf(a *stats.Analysis, opts Options) document.Document {
	said := AnswersOf(a, opts)
	s := screen{Options: opts, width: cmp.Or(opts.Width, 120)}
	if said.Recommended != nil {
		s.take = said.Recommended.Names()
		s.named = said.Recommended.Named()
	}
	head := func(most int) document.Document {
		return document.Document{document.Heading{Level: 1, Text: said.Text, Most: most}}
	}
	rank := rankLast // rank of empty lines
	if opts.Lines >= 30 {
		rank = 0
	}
	empty := document.Section{Rank: rank, Forms: []document.Form{{Body: document.Document{document.Space{}}}, {}}}
	d := document.Document{document.Section{Rank: rankShorter, Forms: []document.Form{{Body: head(0)}, {Body: head(max(3, opts.Lines/4))}, {Body: head(3), Rank: rankFirst - rankShorter}}}}
	l := said.Alternatives()
	for i := range l {
		l[i].Kept = l[i].Alarm || i == 0 // the first item says which driver to take without a C compiler
	}
	l = append(l, howSureItem(a, &said, opts))
	d = append(append(d, s.items(l, 0, "other needs")...), empty)
	figures := s.figures(&said)
	switch {
	case opts.Study != nil:
		figures = s.items(claimItems(opts.Study), math.MaxInt, "more claims")
	case a.Run.Compares != nil:
		figures = s.items(sideItems(stats.CompareRun(a)), math.MaxInt, "more cells")
	}
	if figures != nil {
		d = append(append(d, figures...), empty)
	}
	d = append(d, s.items(namingWidest(caveatItems(said.Caveats, opts.Study == nil), a, opts.Hints), 3, "more warnings")...)
	d = append(d, facts(a, &said, opts)...)
	return append(d, empty)
}

// screen builds the sections of a short report for a terminal.
type screen struct {
	Options
	width int
	take  []string // the recommended drivers; nil: none is recommended
	named []string // the drivers recommended for any need, including those in take
}

// items returns a section for each item of a list. The item's field Most limits its lines; 0 means
// four lines. If there is not enough room, the item is shortened, unless Most is negative. Items
// whose field Kept is set are never left out. The first items, as many as "keep" says, are left out
// last. The parameter "missing" is the word for items in the note about the items that are left out.
func (s *screen) items(list document.List, keep int, missing string) (d document.Document) {
	for i, it := range list {
		if i == s.Lines {
			return append(d, document.Section{Forms: []document.Form{{Missing: missing}}})
		}
		rank := rankRest
		if i < keep {
			rank = rankFirst
		}
		section := document.Section{Rank: rank}
		lines := []int{cmp.Or(it.Most, 4), 2, 1}
		if it.Most < 0 {
			lines = []int{0}
		}
		for _, it.Most = range lines {
			section.Forms = append(section.Forms, document.Form{Body: document.Document{document.List{it}}, Rank: rankShorter - rank})
		}
		if !it.Kept {
			section.Forms = append(section.Forms, document.Form{Missing: missing})
		}
		d = append(d, section)
	}
	return d
}

func sideItems(c *stats.Comparison) (l document.List) {
	for _, x := range c.Cells {
		label, t := compare.Told(x), compare.CellName(x)
		if x.Verdict == stats.Bad {
			label = "no figure"
		}
		for _, long := range []string{"probably", "no clear"} { // verdicts with these words are too long for a label
			if rest, ok := strings.CutPrefix(label, long+" "); ok {
				label, t = long, rest+" in "+t
			}
		}
		if x.Measured() {
			t += ": " + document.Times(x.Ratio.Median) + " " + document.Interval(x.Ratio.Interval)
		}
		l = append(l, document.Item{Label: label, Text: t, Alarm: x.Verdict == stats.Bad || x.Verdict == stats.Differing || x.FailuresTold()})
	}
	return l
}

// figures returns the figures of a run. If the run has a summary, they are bars of the summary and
// a list of the tables. Otherwise they are bars of each table with several ratios, and a list of
// the other tables. The text on the screen calls a table a cell.
func (s *screen) figures(said *Answers) (d document.Document) {
	var list []Ranking
	if o := said.Overall; o != nil && len(o.withRatio()) > 1 {
		d = append(d, s.bars(o, nil))
		list = slices.DeleteFunc(slices.Clone(said.Tables), func(r Ranking) bool { return r.Best == nil })
	} else {
		for i := range said.Tables {
			r := &said.Tables[i]
			switch {
			case len(r.withRatio()) > 1 && i < s.Lines:
				var line document.Document
				if len(d) > 0 {
					line = s.cells([]Ranking{*r}, true)[1:]
				}
				d = append(d, s.bars(r, line))
			case r.Best != nil || len(r.withRatio()) > 1:
				list = append(list, *r)
			}
		}
	}
	if len(said.Tables) < 2 || len(list) == 0 {
		return d // the answer already names the rows that the list would name
	}
	const missing = "more cells"
	names, numbers := s.cells(list, true), s.cells(list, false)
	section := document.Section{Rank: rankRest, Forms: []document.Form{{Body: names}}}
	long, short := names[1].(document.Grid), numbers[1].(document.Grid)
	if long.Width() > s.width || len(long.Rows) > len(short.Rows) {
		section.Forms = append(section.Forms, document.Form{Body: numbers, Rank: rankShorter - rankRest})
	}
	for rows := min(len(short.Rows)-1, s.Lines); rows > 2; rows-- {
		beside := (len(list) + len(short.Rows) - 1) / len(short.Rows)
		some := s.cells(list[:rows*beside], false)
		section.Forms = append(section.Forms, document.Form{Body: some, Missing: missing, Rank: rankShorter - rankRest})
	}
	section.Forms = append(section.Forms, document.Form{Missing: missing})
	return append(d, section)
}

func (r *Ranking) withRatio() (rows []int) {
	for i, row := range r.Rows {
		if row.Ratio != nil {
			rows = append(rows, i)
		}
	}
	return rows
}

// bars draws the rows of a ranking as bars. If there is not enough room, it draws fewer rows, and finally it
// shows the document in the parameter "instead", if that is not nil.
func (s *screen) bars(r *Ranking, instead document.Document) document.Section {
	of := fmt.Sprintf("time over %s", document.Counted(int64(r.Tables), "cell"))
	if r.Table != nil {
		of = fmt.Sprintf("%s: %s", r.Table, r.Of)
	}
	title := fmt.Sprintf("%s, × %s", of, r.Base)
	rows := r.withRatio()
	switch {
	case r.Best == nil:
		title += ": too few rounds to rank, so in order of names"
		slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(r.Rows[i].Name, r.Rows[j].Name) })
	case r.IsFloor:
		title += " (│ plain C)"
	}
	harm := func(i int) bool { return r.Rows[i].harm }
	if legend := "; " + HarmMark + " can lose data"; slices.ContainsFunc(rows, harm) && utf8.RuneCountInString(title+legend) <= s.width {
		title += legend
	}
	if longer := strings.Replace(title, of, of+" (workload phases)", 1); r.Table == nil && utf8.RuneCountInString(longer) <= s.width {
		title = longer
	}
	if legend := "; ▓░ interval"; r.Best != nil && utf8.RuneCountInString(title+legend) <= s.width {
		title += legend
	}
	const missing = "more rows"
	least := max(5, s.Lines/3) // fewer rows are shown only if everything less important has been shortened
	if instead != nil {
		least = 3
	}
	section := document.Section{Rank: rankRest}
	for n := len(rows); n > 0; n-- {
		if n < len(rows) {
			n = min(n, s.Lines)
		}
		f := document.Form{Body: document.Document{document.Paragraph{Text: title, Quiet: true, Most: 1}, s.grid(r, s.shown(r, rows, n))}}
		if n < len(rows) {
			f.Missing = missing
		}
		if n < least {
			if instead != nil {
				break
			}
			f.Rank = rankFirst - rankRest
		}
		section.Forms = append(section.Forms, f)
	}
	if instead != nil {
		section.Forms = append(section.Forms, document.Form{Body: instead, Rank: rankFirst - rankRest}, document.Form{Missing: "more cells", Rank: rankFirst - rankRest})
	}
	return section
}

// shown returns n of the rows, in their order. It prefers the floor (plain C, to which the other rows are
// compared), then the drivers that the answer recommends for any need, and then the first rows.
func (s *screen) shown(r *Ranking, rows []int, n int) []int {
	order := func(i int) int {
		switch row := &r.Rows[i]; {
		case row.Floor:
			return 0
		case slices.Contains(s.named, row.driver):
			return 1
		}
		return 2
	}
	picked := slices.Clone(rows)
	slices.SortStableFunc(picked, func(i, j int) int { return cmp.Compare(order(i), order(j)) })
	picked = picked[:n]
	return slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return !slices.Contains(picked, i) })
}

const (
	leastBar = 8 // least width of bars in columns; a narrower terminal shows no bars
	mostBar  = 60
)

// grid returns a grid of the given rows with their ratios. Ratios are drawn as bars too, if the
// rows have ranks.
func (s *screen) grid(r *Ranking, rows []int) document.Grid {
	g := s.gridOf(r, rows, false)
	if g.Width()+leastBar+2 > s.width {
		g = s.gridOf(r, rows, true)
	}
	if width := min(mostBar, s.width-g.Width()-2); width >= leastBar && r.Best != nil {
		most := r.longest(rows)
		g.Columns = slices.Insert(g.Columns, 1, document.Column{Whole: true})
		for k, i := range rows {
			g.Rows[k] = slices.Insert(g.Rows[k], 1, r.Rows[i].bar(width, most, r.IsFloor, s.ASCII))
		}
	}
	return g
}

// gridOf returns a grid with the name, the ratio and the ties of each row. If the parameter
// "short" is true, names have no versions, and settings are shown as values without their names.
func (s *screen) gridOf(r *Ranking, rows []int, short bool) (g document.Grid) {
	var names, figures, spreads, tied []string
	for _, i := range rows {
		row := &r.Rows[i]
		name, tie := strings.TrimSpace(row.Name+" "+row.shownVersion()), r.tiedOnScreen(i, rows)
		if short {
			name, tie = valuesOf(row.Name), strings.Replace(tie, "tied with", "tied", 1)
		}
		first := r.Best != nil && row.Case == r.Best.Case
		if first {
			name += r.mark()
		}
		rank := rankOf(row.Rank)
		if rank == "" && !row.Floor {
			rank = document.Absent
		}
		spread := ""
		if row.Name != r.Base {
			spread = document.Ends(*row.Ratio)
		}
		names, tied = append(names, fmt.Sprintf("%2s %s%s", rank, name, harmMark(row.harm))), append(tied, tie)
		figures, spreads = append(figures, document.Times(row.Ratio.Median)), append(spreads, spread)
		leads := first || slices.Contains(r.Tied, row.Name)
		if s.take != nil {
			leads = slices.Contains(s.take, row.driver)
		}
		g.Leaders = append(g.Leaders, leads)
	}
	g.Add(document.Column{}, names)
	g.Add(document.Column{Whole: true}, document.WithSpreads(figures, spreads))
	g.AddKnown(document.Column{}, tied)
	return g
}

// bar draws a row's ratio as a bar from zero. The bar is solid up to the lower end of the ratio's interval,
// fainter up to the median, and faintest up to the upper end. If the parameter "floor" is true, a line marks
// the ratio 1. If the ratio exceeds the parameter "most", the bar is cut and gets a mark.
func (row *Row) bar(width int, most float64, floor, ascii bool) string {
	glyphs := []rune("█▓░│»")
	if ascii {
		glyphs = []rune("#=-|>")
	}
	middle, low, high := document.OfSummary(*row.Ratio)
	if row.Ratio.Interval == nil {
		low, high = middle, middle
	}
	at := func(v float64) int { return min(int(math.Round(v/most*float64(width))), width) }
	cells := []rune(strings.Repeat(" ", width))
	for i, end := range []int{at(high), at(middle), at(low)} { // each part of the bar is drawn over the previous part, which is longer
		for k := range max(end, 0) {
			cells[k] = glyphs[2-i]
		}
	}
	if i := at(1) - 1; floor && i >= 0 {
		cells[i] = glyphs[3]
	}
	if middle > most {
		cells[width-1] = glyphs[4]
	}
	return string(cells)
}

// longest returns the ratio at which bars are cut: usually the largest ratio. If a few ratios are
// so large that the other bars could not be distinguished, it is four times the typical ratio.
func (r *Ranking) longest(rows []int) float64 {
	most := 1.0
	var medians []float64
	for _, i := range rows {
		v, _, high := document.OfSummary(*r.Rows[i].Ratio)
		most, medians = max(most, v, high), append(medians, v)
	}
	slices.Sort(medians)
	if typical := medians[len(medians)/2]; typical > 0 {
		most = max(min(most, 4*typical), 1)
	}
	return most
}

// cells lists the best row of each table. If the parameter "names" is true, it also names the rows
// tied with the best row; otherwise it counts them. Entries of several tables share a line if
// there is room.
func (s *screen) cells(tables []Ranking, names bool) document.Document {
	title := "in each cell, the best"
	switch tied := slices.ContainsFunc(tables, func(r Ranking) bool { return len(r.Tied) > 0 }); {
	case tied && names:
		title += " and the rows tied with it"
	case tied:
		title += " (+2: and 2 more, tied with it)"
	}
	if i := slices.IndexFunc(tables, func(r Ranking) bool { return r.Best != nil && r.Best.Ratio != nil }); i >= 0 {
		title += ", × " + tables[i].Base
	}
	columns := []document.Column{{}, {}, {Whole: true}}
	if slices.ContainsFunc(tables, func(r Ranking) bool { return r.bestIsHarmful() && r.Sound != nil }) {
		title += "; then the best without " + HarmMark
		columns = append(columns, document.Column{})
	}
	all := make([][]string, len(columns))
	var g document.Grid
	for i := range tables {
		for k, word := range tables[i].inShort(names)[:len(columns)] {
			all[k] = append(all[k], word)
		}
	}
	for k, words := range all {
		g.Add(columns[k], words)
	}
	if g.Width() > s.width {
		for _, row := range g.Rows {
			row[2], _, _ = strings.Cut(row[2], " ")
		}
	}
	beside := max(1, (s.width+2)/(g.Width()+2))
	if beside > 1 {
		lines := (len(tables) + beside - 1) / beside
		g = document.Grid{}
		for at := 0; at < len(tables); at += lines {
			for k, words := range all {
				part := slices.Clone(words[at:min(at+lines, len(words))])
				g.Add(columns[k], append(part, make([]string, lines-len(part))...))
			}
		}
	}
	return document.Document{document.Paragraph{Text: title, Quiet: true, Most: 1}, g}
}

// inShort returns the answer of a table in four short texts: the table's name; the best row and the
// rows tied with it; the best row's ratio or time; and the best row without a known defect, with its
// ratio. The last text is "" if the best row itself has no known defect.
func (r *Ranking) inShort(names bool) []string {
	if r.Best == nil {
		return []string{r.Table.String(), "too few rounds", "", ""}
	}
	marked := func(name string) string {
		at := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Name == name })
		return name + harmMark(at >= 0 && r.Rows[at].harm)
	}
	sound := ""
	if r.bestIsHarmful() {
		sound = r.sound()
	}
	best, figure := r.marked(), ""
	switch n := len(r.Tied); {
	case n > 4 && names:
		best += fmt.Sprintf(" and %d more", n)
	case n > 0 && names:
		best += ", " + document.Join(r.Tied, ", ", marked)
	case n > 0:
		best += fmt.Sprintf(" +%d", n)
	}
	row := r.Rows[r.at(r.Best)]
	switch {
	case r.Best.Ratio != nil:
		figure = document.Times(r.Best.Ratio.Median) + " " + document.Spread(*r.Best.Ratio)
	case len(r.Choices()) < 2 && row.Median != nil:
		figure = document.Nanoseconds(int64(row.Median.Median*1e9)) + " " + document.Ends(*row.Median)
	}
	return []string{r.Table.String(), best, figure, sound}
}

// sound names the best row without a known defect that can lose or falsify data, with its ratio if
// the ratio is known.
func (r *Ranking) sound() string {
	switch {
	case r.Sound == nil:
		return document.Absent
	case r.Sound.Ratio == nil:
		return r.Sound.Name
	}
	return r.Sound.Name + " " + document.Times(r.Sound.Ratio.Median)
}

// marked returns the name of the best row with its marks: [ownCost], [HarmMark], both or none.
func (r *Ranking) marked() string { return r.Best.Name + r.mark() + harmMark(r.bestIsHarmful()) }

// mark returns [ownCost] if the lead of the best row could be due to sqlite3perf's own overhead.
// Otherwise it returns "".
func (r *Ranking) mark() string {
	if r.Added {
		return ownCost
	}
	return ""
}

// valuesOf shortens the name of a row: it replaces each setting name=value by its value.
func valuesOf(name string) string {
	words := strings.Fields(name)
	for i, w := range words {
		if _, value, ok := strings.Cut(w, "="); ok {
			words[i] = value
		}
	}
	return strings.Join(words, " ")
}

// shownVersion returns a row's version. It returns "" if the row's name contains the version or names
// settings. It also returns "" for the floor (plain C), which nobody would take.
func (row *Row) shownVersion() string {
	if row.Floor || strings.ContainsAny(row.Name, "@= ") {
		return ""
	}
	return row.Version
}
