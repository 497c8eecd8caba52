package document

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Screen writes what is read first, on a terminal: a part of an answer that always fits.
type Screen struct {
	textRenderer
	Ascii bool
}

func NewScreen(opts Options) Screen {
	return Screen{textRenderer: newTextRenderer(opts), Ascii: opts.ASCII}
}

// RenderPart writes a document or, if it has more lines than opts allows, short, with its
// sections as short as they must be, and which commands show the rest. If short is still too
// long, what comes first of it is written, with at most two lines of each item of a long list.
func RenderPart(w io.Writer, d, short Document, opts Options) error {
	whole, lines := rendered(d, opts)
	room := max(opts.Lines, LeastLines)
	if opts.Lines == 0 || lines <= room {
		_, err := io.WriteString(w, whole)
		return err
	}
	s := NewScreen(opts)
	room -= len(opts.Hints.Rest) + NotShownLines
	if short == nil {
		short = d
	}
	d, missing := short.fitted(room, opts)
	if whole, lines = rendered(d, opts); lines <= room && missing != "" {
		s.Out.WriteString(whole)
	} else if names := s.first(d, room); missing == "" {
		missing = names
	} else if names != "" {
		missing = names + "; " + missing
	}
	s.Labeled("not shown", missing, NotShownLines, true)
	s.Rest(opts.Hints.Rest, false)
	_, err := io.WriteString(w, s.Out.String())
	return err
}

// rendered returns a document as text, and how many lines it has.
func rendered(d Document, opts Options) (string, int) {
	var b strings.Builder
	_ = RenderText(&b, d, opts) // a builder takes everything
	return b.String(), strings.Count(b.String(), "\n")
}

// fitted returns the document with its sections shortened until it has at most so many lines,
// and what is missing then. Of several sections with the same rank the last goes first, and
// none goes altogether while another has a form to be shown in.
func (d Document) fitted(room int, opts Options) (out Document, missing string) {
	_, total := rendered(d, opts)
	lines := func(f Form) int {
		if len(f.Body) == 0 {
			return 0
		}
		_, n := rendered(f.Body, opts)
		return n
	}
	form := make([]int, len(d))
	for total > room {
		next, before := -1, [2]int{}
		for i, b := range d {
			s, ok := b.(Section)
			if !ok || form[i]+1 >= len(s.Forms) {
				continue
			}
			order := [2]int{s.Rank, min(len(s.Forms[form[i]+1].Body), 1)}
			if next < 0 || slices.Compare(order[:], before[:]) >= 0 {
				next, before = i, order
			}
		}
		if next < 0 {
			break
		}
		s := d[next].(Section)
		total -= lines(s.Forms[form[next]]) - lines(s.Forms[form[next]+1])
		form[next]++
	}
	var names []string
	for i, b := range d {
		s, ok := b.(Section)
		if !ok {
			out = append(out, b)
			continue
		}
		f := s.Forms[form[i]]
		out = append(out, f.Body.Whole()...)
		if f.Missing != "" && !slices.Contains(names, f.Missing) {
			names = append(names, f.Missing)
		}
	}
	return out, strings.Join(names, "; ")
}

// first writes the blocks of a document that come first, and returns what the others are.
func (s *Screen) first(d Document, left int) string {
	if d = d.cleaned(); s.Ascii {
		d = d.each(inASCII, inASCII)
	}
	var lines []string
	next := 0
	for next < len(d) {
		part := s.Section(func() { s.part(d[next], next > 0, left-len(lines)) })
		if len(part) > left-len(lines) {
			break
		}
		lines = append(lines, part...)
		next++
	}
	if next < len(d) {
		_, labeled := d[next].(List)
		_, table := d[next].(Grid)
		if room := left - len(lines); (labeled || table) && room > 2 {
			lines = append(lines, s.Section(func() { s.part(d[next], next > 0, room) })[:room]...)
		} else if _, alone := d[next-1].(Heading); alone && next > 1 {
			next--
			lines = lines[:len(lines)-len(s.Section(func() { s.part(d[next], true, left) }))]
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for _, line := range lines {
		s.Out.WriteString(line + "\n")
	}
	if next == len(d) {
		return ""
	}
	return d.Names(next)
}

// NotShownLines is how many lines may say what is not shown.
const NotShownLines = 2

// itemLines is how many lines of an item of a long list are shown.
const itemLines = 2

// part writes a block. A list of which all would take more than half of the lines that are left
// is cut.
func (s *Screen) part(b Block, after bool, left int) {
	if _, ok := b.(Heading); ok && after {
		s.Out.WriteByte('\n')
	}
	l, ok := b.(List)
	if !ok {
		s.document(Document{b})
		return
	}
	width := labelWidth
	for _, it := range l {
		width = max(width, text.StringWidth(it.Label)+Gap)
	}
	width = min(width, s.Width/3+Gap)
	items := func(most int) {
		for _, it := range l {
			s.labeledIn(width, it.Label, it.Text, most, it.Alarm)
		}
	}
	most := max(left, itemLines)
	if len(s.Section(func() { items(most) })) > left/2 {
		most = itemLines
	}
	items(most)
}

// Names lists the headings of a document from a block on, with the one that it belongs to,
// and how many warnings there are.
func (d Document) Names(from int) string {
	var words []string
	warnings := 0
	for i, b := range d {
		switch b := b.(type) {
		case Heading:
			if i >= from {
				words = append(words, b.Text)
			}
		case List:
			for _, it := range b {
				if i >= from && it.Label == "warning" {
					warnings++
				}
			}
		}
	}
	if warnings > 0 {
		words = append([]string{Counted(int64(warnings), "warning")}, words...)
	}
	if words == nil {
		return "what comes after this"
	}
	return strings.Join(words, "; ")
}

// LeastLines is the least height of a screen. On a lower terminal it scrolls.
const LeastLines = 16

// Roomy is the height from which sections are separated by empty lines.
const Roomy = 30

// Section returns the lines that f writes.
func (s *Screen) Section(f func()) []string {
	whole := s.Out
	s.Out = strings.Builder{}
	f()
	lines := strings.SplitAfter(s.Out.String(), "\n")
	s.Out = whole
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\n")
	}
	return lines[:len(lines)-1]
}

// Plain makes text that others may have written printable, and ASCII if that is all that
// the terminal shows.
func (s *Screen) Plain(t string) string {
	t = Line(t)
	if s.Ascii {
		t = inASCII(t)
	}
	return t
}

// Clipped writes text in at most some lines, after a label of its own color. Further lines
// are indented as far as the label is wide. An ellipsis is where it is cut.
func (s *Screen) Clipped(t, label, painted string, most int, c text.Colors) {
	indent := strings.Repeat(" ", text.StringWidth(label))
	room := s.Width - len(indent)
	lines := Wrap(s.Plain(t), room)
	if len(lines) > most {
		dots := s.Plain("…")
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
		s.Out.WriteString(before + s.Paint(line, c) + "\n")
	}
}

// Fit cuts a text that is wider than a column, with an ellipsis.
func (s *Screen) Fit(t string, width int) string {
	dots := s.Plain("…")
	if text.StringWidth(t) <= width || width <= len(dots) {
		return text.Trim(t, width)
	}
	return strings.TrimRight(text.Trim(t, width-text.StringWidth(dots)), " ") + dots
}

// Labeled writes a line of a label and text, in at most some lines.
func (s *Screen) Labeled(label, t string, most int, alarming bool) {
	s.labeledIn(min(labelWidth, s.Width/4+2), label, t, most, alarming)
}

// labeledIn is like labeled, with labels of another width.
func (s *Screen) labeledIn(width int, label, t string, most int, alarming bool) {
	c := Faint
	if alarming {
		c = Alarm
	}
	label = text.Pad(text.Trim(s.Plain(label), width-1), width, ' ')
	s.Clipped(t, label, s.Paint(label, c), most, nil)
}

// labelWidth is the width of the labels of a screen, with the gap after them.
const labelWidth = 14

// Rest names the commands that show the rest. Without much room it names two of them, each in
// one line.
func (s *Screen) Rest(hints []Hint, room bool) {
	most := 2
	if !room {
		hints, most = hints[:min(2, len(hints))], 1
	}
	for _, h := range hints {
		s.Labeled(h.Shows, h.Command, most, false)
	}
}
