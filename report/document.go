package report

import (
	"slices"
	"strings"
)

// document is a report for people, before it becomes text or Markdown.
type document []block

// block is one of heading, paragraph, list, grid and space.
type block interface{}

// space sets what follows apart.
type space struct{}

type heading struct {
	level int // from 1
	text  string
}

// paragraph is running text; quiet is for what is read last.
type paragraph struct {
	text  string
	quiet bool
}

// list is labelled lines. Labels that alarm stand out.
type list []item

type item struct {
	label, text string
	alarm       bool
}

// grid is a table.
type grid struct {
	columns []column
	rows    [][]string
	leaders []bool // rows than which none is told apart as faster
}

// dropColumn takes out a column that says nothing.
func (g *grid) dropColumn(title string) {
	i := slices.IndexFunc(g.columns, func(c column) bool { return c.title == title })
	g.columns = slices.Delete(g.columns, i, i+1)
	for j := range g.rows {
		g.rows[j] = slices.Delete(g.rows[j], i, i+1)
	}
}

type column struct {
	title string
	right bool // aligned

	// drop orders the columns that may be left out where there is no room:
	// the highest goes first, 0 never.
	drop int
}

// cleaned is the document with all its text made clean.
func (d document) cleaned() document {
	out := make(document, len(d))
	for i, b := range d {
		switch b := b.(type) {
		case heading:
			b.text = Line(b.text)
			out[i] = b
		case paragraph:
			b.text = Line(b.text)
			out[i] = b
		case list:
			l := make(list, len(b))
			for j, it := range b {
				l[j] = item{Line(it.label), Line(it.text), it.alarm}
			}
			out[i] = l
		case grid:
			for j := range b.columns {
				b.columns[j].title = Line(b.columns[j].title)
			}
			for _, row := range b.rows {
				for j := range row {
					// Alignment within a column is made of spaces.
					row[j] = strings.Map(printable, row[j])
				}
			}
			out[i] = b
		default:
			out[i] = b
		}
	}
	return out
}
