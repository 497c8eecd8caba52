package document

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

const (
	defaultWidth = 120
	Unlimited    = 1 << 20 // a width so large that no text is broken and no column left out
	leastText    = 20      // least number of columns for the text after a label
	minWidth     = 40      // least number of columns; a narrower output would not be readable
	gap          = 2       // spaces between the columns of a grid
)

var (
	bold   = text.Colors{text.Bold}
	faint  = text.Colors{text.Faint}
	leader = text.Colors{text.FgGreen}
	alarm  = text.Colors{text.FgYellow}
)

type textRenderer struct {
	out     strings.Builder
	width   int
	color   bool
	dots    string   // dots that mark where a text is cut
	dropped []string // titles of columns for which there was no room
	shown   []string // titles of columns for which there was room
}

func newTextRenderer(opts Options) textRenderer {
	r := textRenderer{width: max(cmp.Or(opts.Width, defaultWidth), minWidth), color: opts.Color, dots: "…"}
	if opts.ASCII {
		r.dots = inASCII(r.dots)
	}
	return r
}

func RenderText(w io.Writer, d Document, opts Options) error {
	r := newTextRenderer(opts)
	r.document(d.plain(opts))
	if len(r.dropped) > 0 {
		r.lines(fmt.Sprintf("No room in %d columns for: %s. They are in the other formats.", r.width, strings.Join(r.dropped, ", ")), "", faint, 0)
	}
	_, err := io.WriteString(w, r.out.String())
	return err
}

func (d Document) plain(opts Options) Document {
	if d = d.cleaned(); opts.ASCII {
		d = d.each(inASCII, inASCII)
	}
	return d
}

func (r *textRenderer) document(d Document) {
	for i, b := range d {
		if _, ok := b.(Heading); ok && i > 0 {
			r.out.WriteByte('\n')
		}
		switch b := b.(type) {
		case Space:
			r.out.WriteByte('\n')
		case Heading:
			r.lines(b.Text, "", bold, b.Most)
		case Paragraph:
			r.paragraph(b)
		case Reference:
			r.lines("See "+b.Address+".", "", faint, 0)
		case List:
			r.list(b)
		case Details:
			r.document(b.Body)
		case Grid:
			r.grid(b)
		case Glossary:
			r.lines(b.paragraph(r.shown).Text, "", faint, 0)
		}
	}
}

func (r *textRenderer) paint(s string, c text.Colors) string {
	if !r.color || c == nil || s == "" {
		return s
	}
	return text.Escape(s, c.EscapeSeq())
}

func (r *textRenderer) paragraph(p Paragraph) {
	c := text.Colors(nil)
	if p.Quiet {
		c = faint
	}
	r.out.WriteString(p.Label)
	if p.Whole {
		r.out.WriteString(r.paint(p.Text, c) + "\n")
	} else {
		r.lines(p.Text, strings.Repeat(" ", Width(p.Label)), c, p.Most)
	}
}

// lines writes s, wrapped into lines. If the parameter "most" is above 0, it is the greatest number of
// lines, and a longer text is cut and ends with dots. Lines after the first begin with the text
// "indent".
func (r *textRenderer) lines(s, indent string, c text.Colors, most int) {
	width := max(r.width-len(indent), leastText)
	lines := wrapText(s, width, r.width)
	if most > 0 && len(lines) > most {
		last := lines[most-1] + " " + lines[most]
		part := text.Trim(last, width-Width(r.dots))
		if at := strings.LastIndexByte(part, ' '); at > len(part)/2 && !strings.HasPrefix(last[len(part):], " ") {
			part = part[:at] // cut before the last word: a part of a number would be a wrong number
		}
		lines = append(lines[:most-1], strings.TrimRight(part, " ,;:")+r.dots)
	}
	for i, line := range lines {
		if i > 0 {
			r.out.WriteString(indent[:min(len(indent), max(0, r.width-Width(line)))])
		}
		r.out.WriteString(r.paint(line, c) + "\n")
	}
}

// Width returns the number of columns of a terminal that s takes.
func Width(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return text.StringWidth(s)
		}
	}
	return len(s) // each byte is a printable character of ASCII
}

// Wrap breaks lines of s that are wider than the parameter "width". It breaks them between words. If
// "width" is 0, it breaks no line.
func Wrap(s string, width int) string {
	if width == 0 {
		return s
	}
	width = max(width, leastText)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if Width(line) > width { // only these lines are wrapped, so that other lines keep their indentation
			lines[i] = strings.Join(wrapText(line, width, width), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// wrapText breaks a text into lines between words. A word that is wider than width gets its own
// line if it is not wider than the terminal, whose width is the parameter "full". Wider words are
// broken, except for URLs and data source names: the terminal breaks their line, so they can still
// be clicked or copied.
func wrapText(s string, width, full int) []string {
	return wrapWords(s, width, full, func(word string) bool { return Width(word) <= full || copied(word) })
}

// wrap breaks the text of a cell into lines between words. Only words that are wider than the cell
// are broken.
func wrap(s string, width int) []string {
	return wrapWords(s, width, width, func(string) bool { return false })
}

// wrapWords does the work of [wrapText] and [wrap]. The function "whole" reports whether a word
// that is wider than width is kept in one piece.
func wrapWords(s string, width, full int, whole func(word string) bool) (lines []string) {
	line := ""
	end := func() {
		if line != "" {
			lines, line = append(lines, line), ""
		}
	}
	for word := range strings.FieldsSeq(s) {
		w := Width(word)
		switch {
		case line != "" && Width(line)+1+w <= width:
			line += " " + word
		case w <= width:
			end()
			line = word
		case whole(word):
			end()
			if lines == nil && full > width {
				lines = append(lines, "") // the word gets its own line, because it does not fit next to a label
			}
			lines = append(lines, word)
		default:
			end()
			pieces := pieces(word, width)
			last := len(pieces) - 1
			lines, line = append(lines, pieces[:last]...), pieces[last]
		}
	}
	end()
	if lines == nil {
		return []string{""}
	}
	return lines
}

// copied reports whether a word is a URL or a data source name.
func copied(word string) bool {
	return strings.Contains(word, "://") || strings.Contains(word, "file:") || strings.Contains(word, "?_")
}

// pieces breaks a word that is wider than width, after punctuation if possible.
func pieces(word string, width int) (list []string) {
	for Width(word) > width {
		at := len(text.Trim(word, width))
		if i := strings.LastIndexAny(word[:at], "/,;&|?_-.:)"); i >= at/2 {
			at = i + 1
		}
		if at == 0 {
			break // not even the first character fits
		}
		list, word = append(list, word[:at]), word[at:]
	}
	return append(list, word)
}

func (r *textRenderer) list(l List) {
	label := len(stats.NotMeasured) // the longest of the usual labels: lists with shorter labels get the same width, so that lists line up
	for _, it := range l {
		label = max(label, Width(it.Label))
	}
	label = min(label, r.width/3)
	indent := strings.Repeat(" ", label+gap)
	for _, it := range l {
		c := faint
		if it.Alarm {
			c = alarm
		}
		r.out.WriteString(r.paint(text.Pad(text.Trim(it.Label, label), label, ' '), c) + strings.Repeat(" ", gap))
		r.lines(r.short(it, len(indent)), indent, nil, it.Most)
	}
}

// If an item may have at most briefest lines, its short form replaces a text that needs more lines.
const briefest = 2

// short returns the text of an item. If the text does not fit, it returns the longest short form that
// fits. If no form fits, it cuts the shortest form after the last clause that fits. If the cut would
// leave more than a third of the room empty, it returns the shortest form uncut. The parameter "indent"
// is the number of columns before the text.
func (r *textRenderer) short(it Item, indent int) string {
	if it.Most < 1 || it.Most > briefest {
		return it.Text
	}
	width := max(r.width-indent, leastText)
	fits := func(text string) bool { return len(wrapText(text, width, r.width)) <= it.Most }
	shortest := it.Text
	for _, text := range []string{it.Text, it.Short[0], it.Short[1]} {
		if text == "" {
			continue
		}
		if shortest = text; fits(text) {
			return text
		}
	}
	for end := strings.LastIndex(shortest, "; "); end > 0; end = strings.LastIndex(shortest[:end], "; ") {
		clauses := shortest[:end] + "; " + r.dots
		if Width(clauses) < width*it.Most*2/3 {
			break
		}
		if fits(clauses) {
			return clauses
		}
	}
	return shortest
}

func (r *textRenderer) grid(g Grid) {
	keep := r.fit(g)
	r.shown = append(r.shown, Map(keep, func(k int) string { return g.Columns[k].Title })...)
	g = r.wrapLast(g, keep)
	for _, part := range r.parts(g, keep) {
		r.table(r.narrowed(g, part), part)
	}
}

// parts divides columns into parts that fit the width of the output. The parameter "keep" has the
// indexes of the columns. Each part begins with the columns that name the rows. If there is no room for
// all these columns, each part begins with only the first of them.
func (r *textRenderer) parts(g Grid, keep []int) [][]int {
	names := 0
	for names < len(keep) && !g.Columns[keep[names]].Right && !g.Columns[keep[names]].Whole {
		names++
	}
	if r.fits(g, keep) {
		return [][]int{keep}
	}
	for names > 1 && slices.ContainsFunc(keep[names:], func(k int) bool { return !r.fits(g, append(slices.Clone(keep[:names]), k)) }) {
		names--
	}
	part := slices.Clone(keep[:names])
	var list [][]int
	for _, k := range keep[names:] {
		if len(part) > names && !r.fits(g, append(slices.Clone(part), k)) {
			list, part = append(list, part), slices.Clone(keep[:names])
		}
		part = append(part, k)
	}
	return append(list, part)
}

// fits reports whether columns fit into the width, with their text in several lines if necessary.
func (r *textRenderer) fits(g Grid, columns []int) bool {
	return total(columns, func(k int) int { return g.least(k, r.width) }) <= r.width
}

// total returns the width of several columns. The function "width" returns the width of one
// column.
func total(columns []int, width func(column int) int) int {
	sum := -gap
	for _, k := range columns {
		sum += width(k) + gap
	}
	return sum
}

// least returns the least width of a column if its text is broken between words. Figures and
// short names are never broken.
func (g *Grid) least(column, width int) int {
	w := g.width(column)
	short := min(shortText, width/3)
	if c := g.Columns[column]; c.Right || c.Whole || w <= short {
		return w
	}
	return max(short, Width(g.Columns[column].Title), min(g.longestWord(column), width/2))
}

const shortText = 20

func (g *Grid) longestWord(column int) (w int) {
	for _, row := range g.Rows {
		for _, word := range strings.Fields(row[column]) {
			w = max(w, Width(word))
		}
	}
	return w
}

func (r *textRenderer) narrowed(g Grid, columns []int) Grid {
	excess := total(columns, g.width) - r.width
	if excess <= 0 {
		return g
	}
	widths, least := map[int]int{}, map[int]int{}
	for _, k := range columns {
		widths[k], least[k] = g.width(k), g.least(k, r.width)
	}
	for ; excess > 0; excess-- {
		widest := -1
		for _, k := range columns {
			if widths[k] > least[k] && (widest < 0 || widths[k] > widths[widest]) {
				widest = k
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return g.broken(widths)
}

// broken breaks the text of cells that are too wide, and continues it in additional rows. widths
// maps the index of a column to the column's width.
func (g *Grid) broken(widths map[int]int) Grid {
	out := Grid{Columns: g.Columns}
	for i, row := range g.Rows {
		lines := [][]string{slices.Clone(row)}
		for k, width := range widths {
			if Width(row[k]) <= width {
				continue
			}
			for j, line := range wrap(row[k], width) {
				if j == len(lines) {
					lines = append(lines, make([]string, len(row)))
				}
				lines[j][k] = line
			}
		}
		for _, line := range lines {
			out.Rows, out.Leaders = append(out.Rows, line), append(out.Leaders, i < len(g.Leaders) && g.Leaders[i])
		}
	}
	return out
}

func (r *textRenderer) table(g Grid, keep []int) {
	t := g.table(keep, func(s string) string { return s })
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	for i, line := range strings.Split(t.Render(), "\n") {
		line = strings.TrimRight(line, " ")
		var c text.Colors
		switch {
		case i == 0 && line == "":
			continue // there is no header, because no column has a title
		case i == 0:
			c = faint
		case i-1 < len(g.Leaders) && g.Leaders[i-1]:
			c = leader
		}
		r.out.WriteString(r.paint(text.Snip(line, r.width, "…"), c) + "\n")
	}
}

const leastLast = 16

func (r *textRenderer) wrapLast(g Grid, keep []int) Grid {
	last := keep[len(keep)-1]
	if g.Columns[last].Right || g.Columns[last].Whole {
		return g
	}
	room := r.width - gap - total(keep[:len(keep)-1], g.width)
	if room < leastLast || g.width(last) <= room || g.longestWord(last) > room {
		return g
	}
	return g.broken(map[int]int{last: room})
}

// Width returns the width of a grid if no text is broken.
func (g *Grid) Width() int { return total(g.all(), g.width) }

// all returns the indexes of all columns.
func (g *Grid) all() (list []int) {
	for i := range g.Columns {
		list = append(list, i)
	}
	return list
}

func (g *Grid) width(column int) int {
	w := Width(g.Columns[column].Title)
	for _, row := range g.Rows {
		w = max(w, Width(row[column]))
	}
	return w
}

func (r *textRenderer) fit(g Grid) []int {
	keep := g.all()
	for total(keep, g.width) > r.width {
		least := slices.MaxFunc(keep, func(a, b int) int { return cmp.Compare(g.Columns[a].Drop, g.Columns[b].Drop) })
		c := g.Columns[least]
		if c.Drop == 0 {
			break
		}
		r.dropped = distinct.Append(r.dropped, c.Title)
		keep = slices.DeleteFunc(keep, func(i int) bool { return i == least })
	}
	return keep
}

func inASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, asciiWords.Replace(s))
}

var asciiWords = strings.NewReplacer("×", "x", "·", "-", "±", "+/-", "…", "...", "│", "|", "▓", "=", "░", "-", "–", "-", "−", "-", "’", "'", "µ", "u", "→", "->")
