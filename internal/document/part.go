package document

import (
	"cmp"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// screen writes what is read first, on a terminal: a part of an answer that always fits.
type Screen struct {
	textRenderer
	Ascii bool
}

func NewScreen(opts Options) Screen {
	return Screen{textRenderer: newTextRenderer(opts), Ascii: opts.ASCII}
}

// renderPart writes a document or, if it has more lines than opts allows, what of it comes
// first, and which commands show the rest. Of each item of a long list it then has two lines at
// most.
func RenderPart(w io.Writer, d Document, opts Options) error {
	var whole strings.Builder
	if err := RenderText(&whole, d, opts); err != nil {
		return err
	}
	if opts.Lines == 0 || strings.Count(whole.String(), "\n") <= max(opts.Lines, LeastLines) {
		_, err := io.WriteString(w, whole.String())
		return err
	}
	if d = d.cleaned(); opts.ASCII {
		d = d.each(inASCII, inASCII)
	}
	s := NewScreen(opts)
	left := max(opts.Lines, LeastLines) - len(opts.Hints.Rest) - NotShownLines
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
	s.Labeled("not shown", d.Names(next), NotShownLines, true)
	s.Rest(opts.Hints.Rest, false)
	_, err := io.WriteString(w, s.Out.String())
	return err
}

// notShownLines is how many lines may say what is not shown.
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

// names lists the headings of a document from a block on, with the one that it belongs to,
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

// leastLines is the least height of a screen. On a lower terminal it scrolls.
const LeastLines = 16

// roomy is the height from which sections are separated by empty lines.
const Roomy = 30

// section returns the lines that f writes.
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

// plain makes text that others may have written printable, and ASCII if that is all that
// the terminal shows.
func (s *Screen) Plain(t string) string {
	t = Line(t)
	if s.Ascii {
		t = inASCII(t)
	}
	return t
}

// clipped writes text in at most some lines, after a label of its own color. Further lines
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

// fit cuts a text that is wider than a column, with an ellipsis.
func (s *Screen) Fit(t string, width int) string {
	dots := s.Plain("…")
	if text.StringWidth(t) <= width || width <= len(dots) {
		return text.Trim(t, width)
	}
	return strings.TrimRight(text.Trim(t, width-text.StringWidth(dots)), " ") + dots
}

// labeled writes a line of a label and text, in at most some lines.
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

// rest names the commands that show the rest. Without much room it names two of them, each in
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
