package report

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// document is a report for people, before it is rendered as text or Markdown.
type document []block

// block is a heading, paragraph, reference, list, details, picture, grid or space.
type block interface{}

// space separates what follows.
type space struct{}

type heading struct {
	level int // from 1
	text  string
}

// paragraph is running text. quiet is for text that is read last.
type paragraph struct {
	text  string
	quiet bool
}

// reference says where more can be read.
type reference struct{ title, address string }

// methodology refers to a section of the methodology.
func methodology(section string) reference {
	return reference{"the methodology: " + section, "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/methodology.md#" + slug(section)}
}

// list is a list of labeled lines. Alarming labels are highlighted.
type list []item

type item struct {
	label, text string
	alarm       bool
}

// note adds an item, unless its text is empty.
func (l *list) note(i item) {
	if i.text != "" {
		*l = append(*l, i)
	}
}

// details are blocks that Markdown and pages show only if they are opened. Their title is
// only for that.
type details struct {
	title string
	body  document
	id    string // by which a page refers to it; "" if by nothing
	nest  bool   // what is in it is closed in its turn
}

// picture is a chart, which only pages show.
type picture struct {
	Picture
	behind document // the figures that are shown; nil: those of the chart
	headed bool     // the heading above it says what it is
	aside  bool     // there is no version of it for a phone, where it has to be moved instead
}

// glossary explains columns of the tables before it. Nothing is said of columns that there
// are not, or for which there was no room.
type glossary []explained

// explained is the title of a column with what it means.
type explained struct{ column, text string }

// paragraph explains the columns that are among some.
func (g glossary) paragraph(columns []string) paragraph {
	var words []string
	for _, e := range g {
		if slices.Contains(columns, e.column) {
			words = append(words, e.column+": "+e.text)
		}
	}
	return paragraph{text: strings.Join(words, " "), quiet: true}
}

// explained returns the document with paragraphs instead of glossaries, for readers who have
// all columns.
func (d document) explained() document {
	var out document
	var columns []string
	for _, b := range d {
		switch t := b.(type) {
		case grid:
			for _, c := range t.columns {
				columns = append(columns, c.title)
			}
		case glossary:
			b = t.paragraph(columns)
		}
		out = append(out, b)
	}
	return out
}

// grid is a table.
type grid struct {
	columns []column
	rows    [][]string
	leaders []bool   // rows such that no other row is told apart as faster
	links   []string // what the name of each row leads to in a page; nil if to nothing
	stacks  bool     // a page on a phone has the cells of a row below each other
}

// add adds a column with a word for each row.
func (g *grid) add(c column, words []string) {
	g.columns = append(g.columns, c)
	if g.rows == nil {
		g.rows = make([][]string, len(words))
	}
	for i, w := range words {
		g.rows[i] = append(g.rows[i], w)
	}
}

// table returns a writer of some columns, with each text as f returns it.
func (g *grid) table(columns []int, f func(string) string) table.Writer {
	t := table.NewWriter()
	var configs []table.ColumnConfig
	var header table.Row
	for i, k := range columns {
		align := text.AlignLeft
		if g.columns[k].right {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
		header = append(header, f(g.columns[k].title))
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	for _, row := range g.rows {
		var cells table.Row
		for _, k := range columns {
			cells = append(cells, f(row[k]))
		}
		t.AppendRow(cells)
	}
	return t
}

type column struct {
	title string
	right bool // aligned
	whole bool // figures with their intervals, which no line break may part

	// drop orders the columns that may be left out if there is not enough room. The
	// column with the highest value goes first. One with 0 never goes.
	drop int
}

// cleaned returns the document with all its text made printable, and without empty lists.
func (d document) cleaned() document {
	// Alignment within a column uses spaces.
	return d.each(Line, func(cell string) string { return harmless(strings.Map(printable, clip(cell, maxCell))) })
}

// each returns the document with all its text as line returns it, and that of the cells of
// grids as cell does. It leaves out empty lists.
func (d document) each(line, cell func(string) string) document {
	var out document
	for _, b := range d {
		switch b := b.(type) {
		case heading:
			b.text = line(b.text)
			out = append(out, b)
		case paragraph:
			b.text = line(b.text)
			out = append(out, b)
		case list:
			if len(b) == 0 {
				continue
			}
			for i := range b {
				b[i].label, b[i].text = cell(line(b[i].label)), line(b[i].text)
			}
			out = append(out, b)
		case details:
			b.title, b.body = line(b.title), b.body.each(line, cell)
			if len(b.body) > 0 {
				out = append(out, b)
			}
		case picture:
			b.Title, b.Note, b.behind = line(b.Title), line(b.Note), b.behind.each(line, cell)
			out = append(out, b)
		case grid:
			for j := range b.columns {
				b.columns[j].title = cell(line(b.columns[j].title))
			}
			for _, row := range b.rows {
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
