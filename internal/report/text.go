package report

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
	minWidth     = 40 // below this nothing can be made readable
	gap          = 2  // between the columns of a grid
)

// The few colors: for what is read first, what is read last, and what alarms.
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
	dropped []string // titles of columns for which there was no room
	shown   []string // titles of columns for which there was
}

func newTextRenderer(opts Options) textRenderer {
	return textRenderer{width: max(cmp.Or(opts.Width, defaultWidth), minWidth), color: opts.Color}
}

func renderText(w io.Writer, d document, opts Options) error {
	r := newTextRenderer(opts)
	if d = d.cleaned(); opts.ASCII {
		d = d.each(inASCII, inASCII)
	}
	r.document(d)
	if len(r.dropped) > 0 {
		r.lines(fmt.Sprintf("No room in %d columns for: %s. They are in the other formats.", r.width, strings.Join(r.dropped, ", ")), "", faint)
	}
	_, err := io.WriteString(w, r.out.String())
	return err
}

func (r *textRenderer) document(d document) {
	for i, b := range d {
		if _, ok := b.(heading); ok && i > 0 {
			r.out.WriteByte('\n')
		}
		switch b := b.(type) {
		case space:
			r.out.WriteByte('\n')
		case heading:
			r.lines(b.text, "", bold)
		case paragraph:
			if b.quiet {
				r.lines(b.text, "", faint)
			} else {
				r.lines(b.text, "", nil)
			}
		case reference:
			r.lines("See "+b.address+".", "", faint)
		case list:
			r.list(b)
		case details:
			r.document(b.body)
		case grid:
			r.grid(b)
		case glossary:
			r.lines(b.paragraph(r.shown).text, "", faint)
		}
	}
}

func (r *textRenderer) paint(s string, c text.Colors) string {
	if !r.color || c == nil || s == "" {
		return s
	}
	return text.Escape(s, c.EscapeSeq())
}

// lines writes s, wrapped. Lines after the first are indented.
func (r *textRenderer) lines(s, indent string, c text.Colors) {
	for i, line := range wrapText(s, r.width-len(indent)) {
		if i > 0 {
			r.out.WriteString(indent)
		}
		r.out.WriteString(r.paint(line, c) + "\n")
	}
}

// wrapText is like [wrap], but breaks no URL, because half of one leads nowhere: one that is
// too long has a line of its own, which the terminal breaks so that it can still be followed.
func wrapText(s string, width int) (lines []string) {
	words := strings.Split(s, " ")
	i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "://") && text.StringWidth(w) > width })
	if i < 0 {
		return wrap(s, width)
	}
	if before := strings.Join(words[:i], " "); before != "" {
		lines = wrap(before, width)
	}
	lines = append(lines, words[i])
	if after := strings.Join(words[i+1:], " "); after != "" {
		lines = append(lines, wrapText(after, width)...)
	}
	return lines
}

// wrap breaks s between words, and within words that are too long.
func wrap(s string, width int) []string {
	lines := strings.Split(text.WrapSoft(s, width), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func (r *textRenderer) list(l list) {
	label := len(stats.NotMeasured) // the longest of the usual labels, so that lists line up
	for _, it := range l {
		label = max(label, text.StringWidth(it.label))
	}
	label = min(label, r.width/3)
	indent := strings.Repeat(" ", label+gap)
	for _, it := range l {
		c := faint
		if it.alarm {
			c = alarm
		}
		r.out.WriteString(r.paint(text.Pad(text.Trim(it.label, label), label, ' '), c) + strings.Repeat(" ", gap))
		r.lines(it.text, indent, nil)
	}
}

func (r *textRenderer) grid(g grid) {
	keep := r.fit(g)
	for _, k := range keep {
		r.shown = append(r.shown, g.columns[k].title)
	}
	g = r.wrapLast(g, keep)
	for _, part := range r.parts(g, keep) {
		r.table(r.narrowed(g, part), part)
	}
}

// parts divides the columns of a grid that is too wide into several parts. Each begins
// with the columns that name the rows, or with the first of them if there is no room for all.
func (r *textRenderer) parts(g grid, keep []int) [][]int {
	names := 0
	for names < len(keep) && !g.columns[keep[names]].right && !g.columns[keep[names]].whole {
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
func (r *textRenderer) fits(g grid, columns []int) bool {
	total := -gap
	for _, k := range columns {
		total += g.least(k, r.width) + gap
	}
	return total <= r.width
}

// least returns how narrow a column may become by breaking its text between words. Figures
// stay whole, and so do names that are not long.
func (g *grid) least(column, width int) int {
	w := g.width(column)
	if c := g.columns[column]; c.right || c.whole || w <= shortText {
		return w
	}
	return max(shortText, text.StringWidth(g.columns[column].title), min(g.longestWord(column), width/2))
}

// shortText is the width of text that is never broken.
const shortText = 20

// longestWord returns the width of the longest word in the rows of a column.
func (g *grid) longestWord(column int) (w int) {
	for _, row := range g.rows {
		for _, word := range strings.Fields(row[column]) {
			w = max(w, text.StringWidth(word))
		}
	}
	return w
}

// narrowed breaks the text of the widest columns into further rows until there is room for
// all of some columns.
func (r *textRenderer) narrowed(g grid, columns []int) grid {
	widths, least := map[int]int{}, map[int]int{}
	total := -gap
	for _, k := range columns {
		widths[k], least[k] = g.width(k), g.least(k, r.width)
		total += widths[k] + gap
	}
	if total <= r.width {
		return g
	}
	for ; total > r.width; total-- {
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
func (g *grid) broken(widths map[int]int) grid {
	out := grid{columns: g.columns}
	for i, row := range g.rows {
		lines := [][]string{slices.Clone(row)}
		for k, width := range widths {
			if text.StringWidth(row[k]) <= width {
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
			out.rows, out.leaders = append(out.rows, line), append(out.leaders, i < len(g.leaders) && g.leaders[i])
		}
	}
	return out
}

func (r *textRenderer) table(g grid, keep []int) {
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
		case i == 0:
			c = faint
		case i-1 < len(g.leaders) && g.leaders[i-1]:
			c = leader
		}
		r.out.WriteString(r.paint(text.Snip(line, r.width, "…"), c) + "\n")
	}
}

// leastLast is how narrow the last column may become before a grid is cut instead.
const leastLast = 16

// wrapLast breaks the text of the last column into further rows if there is not enough
// room for it.
func (r *textRenderer) wrapLast(g grid, keep []int) grid {
	last := keep[len(keep)-1]
	if g.columns[last].right || g.columns[last].whole {
		return g
	}
	room := r.width
	for _, k := range keep[:len(keep)-1] {
		room -= g.width(k) + gap
	}
	if room < leastLast || g.width(last) <= room {
		return g
	}
	return g.broken(map[int]int{last: room})
}

// width returns the width of a column.
func (g *grid) width(column int) int {
	w := text.StringWidth(g.columns[column].title)
	for _, row := range g.rows {
		w = max(w, text.StringWidth(row[column]))
	}
	return w
}

// fit returns the indexes of the columns for which there is room.
func (r *textRenderer) fit(g grid) []int {
	var keep []int
	widths := make([]int, len(g.columns))
	total := -gap
	for i := range g.columns {
		widths[i] = g.width(i)
		total += widths[i] + gap
		keep = append(keep, i)
	}
	for total > r.width {
		least := slices.MaxFunc(keep, func(a, b int) int { return cmp.Compare(g.columns[a].drop, g.columns[b].drop) })
		c := g.columns[least]
		if c.drop == 0 {
			break
		}
		if !slices.Contains(r.dropped, c.title) {
			r.dropped = append(r.dropped, c.title)
		}
		total -= widths[least] + gap
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
