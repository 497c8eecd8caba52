// Package document writes an answer as text, as a screen of limited height, as Markdown or as a
// page. An answer is a document of blocks. The package also formats values with their units.
package document

import (
	"slices"
	"strings"
)

// Document is a report for people, before it is rendered as text, Markdown or a page.
type Document []Block

// Block is a heading, paragraph, section, reference, list, details, glossary, picture, grid or space.
type Block interface{}

// Space is an empty line.
type Space struct{}

type Heading struct {
	Level int // level of the heading, from 1
	Text  string
	Most  int    // greatest number of lines on a terminal; 0: no limit
	Named string // text that the heading's identifier in a page is made from; "" means Text
}

// Paragraph is running text.
type Paragraph struct {
	Text  string
	Quiet bool   // less important than other text
	Label string // printed before the first line; further lines are indented by the label's width
	Whole bool   // never wrapped, so that the line can be copied
	Most  int    // greatest number of lines on a terminal; 0: no limit
}

// Section is a part of an answer with shorter forms for a screen.
type Section struct {
	Forms []Form // the longest form first; only a screen of limited height uses the other forms
	Rank  int    // the section with the highest rank is shortened first
}

// Form is one way to show a section.
type Form struct {
	Body    Document
	Missing string // names what this form does not show
	Rank    int    // added to Section.Rank to choose the section that gets its next shorter form
}

// Optional returns a section that is left out if there is no room for it. The parameter "missing"
// is the section's name in the note about what is left out.
func Optional(rank int, missing string, body ...Block) Section {
	return Section{Rank: rank, Forms: []Form{{Body: body}, {Missing: missing}}}
}

// Whole returns the document with every section in its longest form.
func (d Document) Whole() (out Document) {
	for _, b := range d {
		if s, ok := b.(Section); ok {
			out = append(out, s.Forms[0].Body.Whole()...)
		} else {
			out = append(out, b)
		}
	}
	return out
}

// Reference is a link to a document that says more.
type Reference struct{ Title, Address string }

// Methodology returns a reference to a section of docs/methodology.md.
func Methodology(section string) Reference {
	return Reference{"the methodology: " + section, "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/methodology.md#" + Slug(section)}
}

// List is a list of labeled lines. Alarming labels are highlighted.
type List []Item

type Item struct {
	Label, Text string
	Mark        string // mark that the item explains, such as "*"; it is printed before the label if a cell of a grid contains it
	Alarm       bool
	Most        int  // greatest number of lines on a terminal; 0: no limit; below 0: no limit, even if the list is shortened
	Brief       bool // a page cuts the text to one line, because the full text is shown elsewhere
	Warning     bool // whether the item is a warning; a screen counts the warnings that it leaves out
	Kept        bool // a screen may shorten the item but never leaves it out

	// Short has up to two shorter versions of Text, the longer version first; "" means that there is none.
	// If Most is 1 or 2, and Text needs more lines than that, the first version that fits is shown instead.
	Short [2]string
}

// Alarms returns the items of a list whose field Alarm is set.
func (l List) Alarms() List {
	return slices.DeleteFunc(slices.Clone(l), func(i Item) bool { return !i.Alarm })
}

// Note adds an item, unless its text is empty.
func (l *List) Note(i Item) {
	if i.Text != "" {
		*l = append(*l, i)
	}
}

// Brief returns a copy of the list in which each item is limited to one line. Items with a negative
// Most are never cut, and stay unchanged.
func (l List) Brief() List {
	l = slices.Clone(l)
	for i := range l {
		if l[i].Most >= 0 {
			l[i].Most = 1
		}
	}
	return l
}

// Details are blocks that Markdown and pages hide until the reader opens them. Other formats show
// the blocks without the title.
type Details struct {
	Title string
	Body  Document
	ID    string // identifier for links in a page; "" if no link needs one
	Nest  bool   // whether details within these details are also closed at first
}

// Glossary explains columns of the tables before it. Columns that are not shown are not explained.
type Glossary []Explained

// Explained is the title of a column and its meaning.
type Explained struct{ Column, Text string }

// paragraph returns a paragraph with the explanations of the given columns.
func (g Glossary) paragraph(columns []string) Paragraph {
	var words []string
	for _, e := range g {
		if slices.Contains(columns, e.Column) {
			words = append(words, e.Column+": "+e.Text)
		}
	}
	return Paragraph{Text: strings.Join(words, " "), Quiet: true}
}

// Explained returns the document with each glossary replaced by a paragraph, for formats that show
// all columns.
func (d Document) Explained() Document {
	var out Document
	var columns []string
	for _, b := range d {
		switch t := b.(type) {
		case Grid:
			columns = append(columns, Map(t.Columns, func(c Column) string { return c.Title })...)
		case Glossary:
			b = t.paragraph(columns)
		}
		out = append(out, b)
	}
	return out
}

func (d Document) cleaned() Document {
	d = d.Whole()
	d = d.marked(d.has)
	// The spaces in cells align the figures of a column. [Line] would remove these spaces, so it is
	// not used for cells.
	return d.each(Line, func(cell string) string { return harmless(strings.Map(printable, clip(cell, maxCell))) })
}

// has reports whether a cell of any grid contains a mark.
func (d Document) has(mark string) bool {
	return slices.ContainsFunc(d, func(b Block) bool {
		switch b := b.(type) {
		case Grid:
			return slices.ContainsFunc(b.Rows, func(row []string) bool {
				return slices.ContainsFunc(row, func(cell string) bool { return strings.Contains(cell, mark) })
			})
		case Details:
			return b.Body.has(mark)
		case PictureBlock:
			return b.Behind.has(mark)
		}
		return false
	})
}

// marked returns the document with the marks of items before their labels. It leaves out each mark
// m for which has(m) is false.
func (d Document) marked(has func(mark string) bool) Document {
	d = slices.Clone(d)
	for i, b := range d {
		switch b := b.(type) {
		case List:
			b = slices.Clone(b)
			for k := range b {
				if m := b[k].Mark; m != "" && has(m) {
					b[k].Label = m + " " + b[k].Label
				}
			}
			d[i] = b
		case Details:
			b.Body = b.Body.marked(has)
			d[i] = b
		case PictureBlock:
			b.Behind = b.Behind.marked(has)
			d[i] = b
		}
	}
	return d
}

// each applies line() to the texts and titles of the document, and cell() to its labels and to the
// cells of its grids. It returns the resulting document, without empty lists and empty details. It
// overwrites the lists and grids of d.
func (d Document) each(line, cell func(string) string) Document {
	var out Document
	for _, b := range d {
		switch b := b.(type) {
		case Heading:
			b.Text = line(b.Text)
			out = append(out, b)
		case Paragraph:
			b.Text, b.Label = line(b.Text), cell(b.Label)
			out = append(out, b)
		case List:
			if len(b) == 0 {
				continue
			}
			for i := range b {
				b[i].Label, b[i].Text = cell(line(b[i].Label)), line(b[i].Text)
				b[i].Short = [2]string{line(b[i].Short[0]), line(b[i].Short[1])}
			}
			out = append(out, b)
		case Details:
			b.Title, b.Body = line(b.Title), b.Body.each(line, cell)
			if len(b.Body) > 0 {
				out = append(out, b)
			}
		case PictureBlock:
			b.Title, b.Note, b.Source, b.Behind = line(b.Title), line(b.Note), line(b.Source), b.Behind.each(line, cell)
			out = append(out, b)
		case Grid:
			for j := range b.Columns {
				b.Columns[j].Title = cell(line(b.Columns[j].Title))
			}
			for _, row := range b.Rows {
				for j := range row {
					row[j] = cell(row[j])
				}
			}
			out = append(out, b)
		default:
			out = append(out, b)
		}
	}
	return out
}
