package report

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// renderPart writes a document or, if it has more lines than opts allows, what of it comes
// first, and which commands show the rest. Of each item of a long list it then has two lines at
// most.
func renderPart(w io.Writer, d document, opts Options) error {
	var whole strings.Builder
	if err := renderText(&whole, d, opts); err != nil {
		return err
	}
	if opts.Lines == 0 || strings.Count(whole.String(), "\n") <= max(opts.Lines, leastLines) {
		_, err := io.WriteString(w, whole.String())
		return err
	}
	if d = d.cleaned(); opts.ASCII {
		d = d.each(inASCII, inASCII)
	}
	s := screen{textRenderer: newTextRenderer(opts), ascii: opts.ASCII}
	left := max(opts.Lines, leastLines) - len(opts.Hints.Rest) - notShownLines
	var lines []string
	next := 0
	for next < len(d) {
		part := s.section(func() { s.part(d[next], next > 0, left-len(lines)) })
		if len(part) > left-len(lines) {
			break
		}
		lines = append(lines, part...)
		next++
	}
	if next < len(d) {
		_, labeled := d[next].(list)
		_, table := d[next].(grid)
		if room := left - len(lines); (labeled || table) && room > 2 {
			lines = append(lines, s.section(func() { s.part(d[next], next > 0, room) })[:room]...)
		} else if _, alone := d[next-1].(heading); alone && next > 1 {
			next--
			lines = lines[:len(lines)-len(s.section(func() { s.part(d[next], true, left) }))]
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for _, line := range lines {
		s.out.WriteString(line + "\n")
	}
	s.labeled("not shown", d.names(next), notShownLines, true)
	s.rest(opts.Hints.Rest)
	_, err := io.WriteString(w, s.out.String())
	return err
}

// notShownLines is how many lines may say what is not shown.
const notShownLines = 2

// itemLines is how many lines of an item of a long list are shown.
const itemLines = 2

// part writes a block. A list of which all would take more than half of the lines that are left
// is cut.
func (s *screen) part(b block, after bool, left int) {
	if _, ok := b.(heading); ok && after {
		s.out.WriteByte('\n')
	}
	l, ok := b.(list)
	if !ok {
		s.document(document{b})
		return
	}
	width := labelWidth
	for _, it := range l {
		width = max(width, text.StringWidth(it.label)+gap)
	}
	width = min(width, s.width/3+gap)
	items := func(most int) {
		for _, it := range l {
			s.labeledIn(width, it.label, it.text, most, it.alarm)
		}
	}
	most := max(left, itemLines)
	if len(s.section(func() { items(most) })) > left/2 {
		most = itemLines
	}
	items(most)
}

// names lists the headings of a document from a block on, with the one that it belongs to,
// and how many warnings there are.
func (d document) names(from int) string {
	var words []string
	warnings := 0
	for i, b := range d {
		switch b := b.(type) {
		case heading:
			if i >= from {
				words = append(words, b.text)
			}
		case list:
			for _, it := range b {
				if i >= from && it.label == "warning" {
					warnings++
				}
			}
		}
	}
	if warnings > 0 {
		words = append([]string{counted(int64(warnings), "warning")}, words...)
	}
	if words == nil {
		return "what comes after this"
	}
	return strings.Join(words, "; ")
}
