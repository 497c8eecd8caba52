package document

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

const (
	defaultWidth = 120
	Unlimited    = 1 << 20 // a width in which nothing is broken or left out
	leastText    = 20      // columns after a label
	minWidth     = 40      // below this nothing can be made readable
	Gap          = 2       // between the columns of a grid
)

// The few colors: for what is read first, what is read last, and what alarms.
var (
	Bold   = text.Colors{text.Bold}
	Faint  = text.Colors{text.Faint}
	Leader = text.Colors{text.FgGreen}
	Alarm  = text.Colors{text.FgYellow}
)

type textRenderer struct {
	Out     strings.Builder
	Width   int
	color   bool
	dropped []string // titles of columns for which there was no room
	shown   []string // titles of columns for which there was
}

func newTextRenderer(opts Options) textRenderer {
	return textRenderer{Width: max(cmp.Or(opts.Width, defaultWidth), minWidth), color: opts.Color}
}

func RenderText(w io.Writer, d Document, opts Options) error {
	r := newTextRenderer(opts)
	if d = d.cleaned(); opts.ASCII {
		d = d.each(inASCII, inASCII)
	}
	r.document(d)
	if len(r.dropped) > 0 {
		r.lines(fmt.Sprintf("No room in %d columns for: %s. They are in the other formats.", r.Width, strings.Join(r.dropped, ", ")), "", Faint)
	}
	_, err := io.WriteString(w, r.Out.String())
	return err
}

func (r *textRenderer) document(d Document) {
	for i, b := range d {
		if _, ok := b.(Heading); ok && i > 0 {
			r.Out.WriteByte('\n')
		}
		switch b := b.(type) {
		case Space:
			r.Out.WriteByte('\n')
		case Heading:
			r.lines(b.Text, "", Bold)
		case Paragraph:
			r.paragraph(b)
		case Reference:
			r.lines("See "+b.Address+".", "", Faint)
		case List:
			r.list(b)
		case Details:
			r.document(b.Body)
		case Grid:
			r.grid(b)
		case Glossary:
			r.lines(b.paragraph(r.shown).Text, "", Faint)
		}
	}
}

func (r *textRenderer) Paint(s string, c text.Colors) string {
	if !r.color || c == nil || s == "" {
		return s
	}
	return text.Escape(s, c.EscapeSeq())
}

func (r *textRenderer) paragraph(p Paragraph) {
	c := text.Colors(nil)
	if p.Quiet {
		c = Faint
	}
	r.Out.WriteString(p.Label)
	if p.Whole {
		r.Out.WriteString(r.Paint(p.Text, c) + "\n")
	} else {
		r.lines(p.Text, strings.Repeat(" ", text.StringWidth(p.Label)), c)
	}
}

// lines writes s, wrapped. Lines after the first are indented.
func (r *textRenderer) lines(s, indent string, c text.Colors) {
	for i, line := range WrapText(s, max(r.Width-len(indent), leastText)) {
		if i > 0 {
			r.Out.WriteString(indent)
		}
		r.Out.WriteString(r.Paint(line, c) + "\n")
	}
}

// WrapText is like [wrap], but breaks no URL, because half of one leads nowhere: one that is
// too long has a line of its own, which the terminal breaks so that it can still be followed.
func WrapText(s string, width int) (lines []string) {
	words := strings.Split(s, " ")
	i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "://") && text.StringWidth(w) > width })
	if i < 0 {
		return Wrap(s, width)
	}
	if before := strings.Join(words[:i], " "); before != "" {
		lines = Wrap(before, width)
	}
	lines = append(lines, words[i])
	if after := strings.Join(words[i+1:], " "); after != "" {
		lines = append(lines, WrapText(after, width)...)
	}
	return lines
}

// Wrap breaks s between words, and within words that are too long.
func Wrap(s string, width int) []string {
	lines := strings.Split(text.WrapSoft(s, width), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func (r *textRenderer) list(l List) {
	label := len(stats.NotMeasured) // the longest of the usual labels, so that lists line up
	for _, it := range l {
		label = max(label, text.StringWidth(it.Label))
	}
	label = min(label, r.Width/3)
	indent := strings.Repeat(" ", label+Gap)
	for _, it := range l {
		c := Faint
		if it.Alarm {
			c = Alarm
		}
		r.Out.WriteString(r.Paint(text.Pad(text.Trim(it.Label, label), label, ' '), c) + strings.Repeat(" ", Gap))
		r.lines(it.Text, indent, nil)
	}
}

func (r *textRenderer) grid(g Grid) {
	keep := r.fit(g)
	for _, k := range keep {
		r.shown = append(r.shown, g.Columns[k].Title)
	}
	g = r.wrapLast(g, keep)
	for _, part := range r.parts(g, keep) {
		r.table(r.narrowed(g, part), part)
	}
}

// parts divides the columns of a grid that is too wide into several parts. Each begins
// with the columns that name the rows, or with the first of them if there is no room for all.
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

// fits reports whether there is room for some columns, with their text in several lines if
// need be.
func (r *textRenderer) fits(g Grid, columns []int) bool {
	total := -Gap
	for _, k := range columns {
		total += g.least(k, r.Width) + Gap
	}
	return total <= r.Width
}

// least returns how narrow a column may become by breaking its text between words. Figures
// stay whole, and so do names that are not long.
func (g *Grid) least(column, width int) int {
	w := g.width(column)
	if c := g.Columns[column]; c.Right || c.Whole || w <= shortText {
		return w
	}
	return max(shortText, text.StringWidth(g.Columns[column].Title), min(g.longestWord(column), width/2))
}

// shortText is the width of text that is never broken.
const shortText = 20

// longestWord returns the width of the longest word in the rows of a column.
func (g *Grid) longestWord(column int) (w int) {
	for _, row := range g.Rows {
		for _, word := range strings.Fields(row[column]) {
			w = max(w, text.StringWidth(word))
		}
	}
	return w
}

// narrowed breaks the text of the widest columns into further rows until there is room for
// all of some columns.
func (r *textRenderer) narrowed(g Grid, columns []int) Grid {
	widths, least := map[int]int{}, map[int]int{}
	total := -Gap
	for _, k := range columns {
		widths[k], least[k] = g.width(k), g.least(k, r.Width)
		total += widths[k] + Gap
	}
	if total <= r.Width {
		return g
	}
	for ; total > r.Width; total-- {
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

// broken breaks the text of some columns at the given widths into further rows.
func (g *Grid) broken(widths map[int]int) Grid {
	out := Grid{Columns: g.Columns}
	for i, row := range g.Rows {
		lines := [][]string{slices.Clone(row)}
		for k, width := range widths {
			if text.StringWidth(row[k]) <= width {
				continue
			}
			for j, line := range Wrap(row[k], width) {
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
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", Gap)
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	for i, line := range strings.Split(t.Render(), "\n") {
		line = strings.TrimRight(line, " ")
		var c text.Colors
		switch {
		case i == 0:
			c = Faint
		case i-1 < len(g.Leaders) && g.Leaders[i-1]:
			c = Leader
		}
		r.Out.WriteString(r.Paint(text.Snip(line, r.Width, "…"), c) + "\n")
	}
}

// leastLast is how narrow the last column may become before a grid is cut instead.
const leastLast = 16

// wrapLast breaks the text of the last column into further rows if there is not enough
// room for it.
func (r *textRenderer) wrapLast(g Grid, keep []int) Grid {
	last := keep[len(keep)-1]
	if g.Columns[last].Right || g.Columns[last].Whole {
		return g
	}
	room := r.Width
	for _, k := range keep[:len(keep)-1] {
		room -= g.width(k) + Gap
	}
	if room < leastLast || g.width(last) <= room {
		return g
	}
	return g.broken(map[int]int{last: room})
}

// Width returns how wide a grid is if nothing in it is broken.
func (g *Grid) Width() int {
	total := -Gap
	for k := range g.Columns {
		total += g.width(k) + Gap
	}
	return total
}

func (g *Grid) width(column int) int {
	w := text.StringWidth(g.Columns[column].Title)
	for _, row := range g.Rows {
		w = max(w, text.StringWidth(row[column]))
	}
	return w
}

// fit returns the indexes of the columns for which there is room.
func (r *textRenderer) fit(g Grid) []int {
	var keep []int
	widths := make([]int, len(g.Columns))
	total := -Gap
	for i := range g.Columns {
		widths[i] = g.width(i)
		total += widths[i] + Gap
		keep = append(keep, i)
	}
	for total > r.Width {
		least := slices.MaxFunc(keep, func(a, b int) int { return cmp.Compare(g.Columns[a].Drop, g.Columns[b].Drop) })
		c := g.Columns[least]
		if c.Drop == 0 {
			break
		}
		if !slices.Contains(r.dropped, c.Title) {
			r.dropped = append(r.dropped, c.Title)
		}
		total -= widths[least] + Gap
		keep = slices.DeleteFunc(keep, func(i int) bool { return i == least })
	}
	return keep
}

// inASCII converts text for a terminal that shows nothing but ASCII.
func inASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r > '~' {
			return '?'
		}
		return r
	}, asciiWords.Replace(s))
}

// asciiWords has the words for what is not ASCII in reports.
var asciiWords = strings.NewReplacer("×", "x", "·", "-", "±", "+/-", "…", "...", "│", "|", "▓", "=", "░", "-", "–", "-", "−", "-", "’", "'", "µ", "u", "→", "->")
