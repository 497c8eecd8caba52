package document

import (
	"cmp"
	"io"
	"slices"
	"strings"
)

const (
	// LeastLines is the least height of a screen. On a lower terminal the screen scrolls.
	LeastLines = 16

	missingLines = 2 // number of lines of a screen that name what is not shown
	itemLines    = 2 // greatest number of lines of an item if its list is cut
	roomy        = 30
)

// RenderPart writes the document d if it fits into opts.Lines lines, or if opts.Lines is 0.
// Otherwise, or if d is nil, it writes the document in the parameter "short", or d if "short" is
// nil. It shortens the sections of this document as far as necessary, and adds the commands that
// show more.
func RenderPart(w io.Writer, d, short Document, opts Options) error {
	room := max(opts.Lines, LeastLines)
	if d != nil {
		if text, lines := rendered(d, opts); opts.Lines == 0 || lines <= room {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	hints, n := rendered(Document{hintList(opts)}, opts)
	room -= n
	if short == nil {
		short = d
	}
	fit, missing := short.fitted(room, opts)
	text, lines := rendered(fit, opts)
	if lines > room || missing != "" {
		room -= missingLines
		fit, missing = short.fitted(room, opts)
		text, lines = rendered(fit, opts)
	}
	if lines > room {
		cut, names := fit.first(room, opts)
		text, missing = cut, JoinKnown("; ", names, missing)
	}
	if missing != "" {
		line, _ := rendered(Document{List{{Label: "not shown", Text: missing, Alarm: true, Most: missingLines}}}, opts)
		text += line
	}
	_, err := io.WriteString(w, text+hints)
	return err
}

// hintList lists the commands that show more. On a low screen it lists two commands at most.
func hintList(opts Options) (l List) {
	hints, most := opts.Hints.Rest, 2
	if opts.Lines < roomy {
		hints, most = hints[:min(2, len(hints))], 1
	}
	for _, h := range hints {
		l = append(l, Item{Label: h.Shows, Text: h.Command, Most: most})
	}
	return l
}

func rendered(d Document, opts Options) (string, int) {
	var b strings.Builder
	_ = RenderText(&b, d, opts) // writing to a strings.Builder never fails
	return b.String(), strings.Count(b.String(), "\n")
}

// fitted returns the document with its sections shortened until it has at most as many lines as "room"
// says. The result "missing" names what is no longer shown. The section with the highest rank is
// shortened first. If several sections have this rank, a section whose next form is not empty is
// shortened before a section that would disappear. If there are still several, the last of them is
// shortened first.
func (d Document) fitted(room int, opts Options) (out Document, missing string) {
	_, total := rendered(d, opts)
	form := make([]int, len(d))
	for total > room {
		next, before := -1, [2]int{}
		for i, b := range d {
			s, ok := b.(Section)
			if !ok || form[i]+1 >= len(s.Forms) {
				continue
			}
			shorter := s.Forms[form[i]+1]
			order := [2]int{s.Rank + shorter.Rank, min(len(shorter.Body), 1)}
			if next < 0 || slices.Compare(order[:], before[:]) >= 0 {
				next, before = i, order
			}
		}
		if next < 0 {
			break
		}
		forms := d[next].(Section).Forms
		_, long := rendered(forms[form[next]].Body, opts)
		form[next]++
		_, short := rendered(forms[form[next]].Body, opts)
		total -= long - short
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

// first returns the beginning of a document as text, with at most as many lines as "room" says.
// The text ends between two blocks, or within a list or a grid. The result "rest" names the blocks
// that are missing or incomplete.
func (d Document) first(room int, opts Options) (text, rest string) {
	d = d.plain(opts)
	r := newTextRenderer(opts)
	var lines []string
	render := func(b Block) []string {
		r.document(Document{b})
		all := strings.SplitAfter(r.out.String(), "\n")
		return all[:len(all)-1]
	}
	block := func(i int) []string {
		r.out.Reset()
		if _, ok := d[i].(Heading); ok && i > 0 {
			r.out.WriteByte('\n')
		}
		if l, ok := d[i].(List); ok {
			return render(l.cut(room-len(lines), opts))
		}
		return render(d[i])
	}
	next := 0
	for next < len(d) {
		part := block(next)
		if len(part) > room-len(lines) {
			break
		}
		lines = append(lines, part...)
		next++
	}
	if next < len(d) {
		_, labeled := d[next].(List)
		_, table := d[next].(Grid)
		if left := room - len(lines); (labeled || table) && left > 2 {
			part := block(next)
			if l, ok := d[next].(List); ok {
				r.out.Reset()
				part = render(l.begun(left, opts))
			}
			lines = append(lines, part[:min(len(part), left)]...)
			if more := len(part) - left; table && more > 0 {
				rest = Counted(int64(more), "more row")
				next++
			}
		} else if next > 1 {
			if _, alone := d[next-1].(Heading); alone {
				next--
				lines = lines[:len(lines)-len(block(next))]
			}
		}
		if next < len(d) {
			rest = strings.TrimPrefix(rest+"; "+d.Names(next), "; ")
		}
	}
	return strings.TrimRight(strings.Join(lines, ""), "\n") + "\n", rest
}

// begun returns the first items of a list that fit into as many lines as the parameter "most" says. The
// last item is limited to the lines that are left, so that its short form is shown if it has one.
func (l List) begun(most int, opts Options) List {
	l = l.cut(most, opts)
	for i := range l {
		_, n := rendered(Document{l[i : i+1]}, opts)
		if n >= most {
			l[i].Most = most
			return l[:i+1]
		}
		most -= n
	}
	return l
}

// cut limits the items of a long list. The parameter "left" is the number of lines that are left.
// If the list takes more than half of them, each item is limited to [itemLines] lines, unless it
// already has a limit. Otherwise the list is returned unchanged.
func (l List) cut(left int, opts Options) List {
	if _, n := rendered(Document{l}, opts); n <= left/2 {
		return l
	}
	l = slices.Clone(l)
	for i := range l {
		l[i].Most = cmp.Or(l[i].Most, itemLines)
	}
	return l
}

// Names describes the blocks d[from:] by the number of warnings in them and by their headings.
func (d Document) Names(from int) string {
	var words []string
	warnings := 0
	for _, b := range d[from:] {
		switch b := b.(type) {
		case Heading:
			words = append(words, b.Text)
		case List:
			for _, it := range b {
				if it.Warning {
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
