package document

import (
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Grid is a table.
type Grid struct {
	Columns []Column
	Rows    [][]string
	Leaders []bool   // for each row, whether no other row is significantly faster
	Links   []string // address that the name of each row links to in a page; nil: no links
	Stacks  bool     // on a phone, a page shows the cells of a row below each other
}

// Add adds a column to the grid. The parameter "words" has the text of the column's cell in each
// row.
func (g *Grid) Add(c Column, words []string) {
	g.Columns = append(g.Columns, c)
	if g.Rows == nil {
		g.Rows = make([][]string, len(words))
	}
	for i, w := range words {
		g.Rows[i] = append(g.Rows[i], w)
	}
}

// AddKnown adds a column to the grid, unless every cell is "" or [Absent].
func (g *Grid) AddKnown(c Column, words []string) {
	if slices.ContainsFunc(words, func(w string) bool { return w != "" && w != Absent }) {
		g.Add(c, words)
	}
}

func (g *Grid) table(columns []int, f func(string) string) table.Writer {
	t := table.NewWriter()
	var configs []table.ColumnConfig
	var header table.Row
	for i, k := range columns {
		align := text.AlignLeft
		if g.Columns[k].Right {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
		header = append(header, f(g.Columns[k].Title))
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	for _, row := range g.Rows {
		var cells table.Row
		for _, k := range columns {
			cells = append(cells, f(row[k]))
		}
		t.AppendRow(cells)
	}
	return t
}

type Column struct {
	Title string
	Right bool // aligned to the right
	Whole bool // cells must not be broken into lines, such as figures with their intervals

	// Drop orders the columns that may be left out if there is not enough room. The
	// column with the highest value is left out first. A column with 0 is always shown.
	Drop int
}

// ColumnOf is a column with the function that returns its cell for a row of type T.
type ColumnOf[T any] struct {
	Column
	Cell   func(T) string
	Spread func(T) string // returns the interval that follows the cell's figure; the intervals of all rows are aligned
}

// GridOf returns a grid with a row for each element of rows. It leaves out columns whose Cell is
// nil.
func GridOf[T any](rows []T, columns ...ColumnOf[T]) (g Grid) {
	for _, c := range columns {
		switch {
		case c.Cell == nil:
		case c.Spread == nil:
			g.Add(c.Column, Map(rows, c.Cell))
		default:
			g.Add(c.Column, WithSpreads(Map(rows, c.Cell), Map(rows, c.Spread)))
		}
	}
	return g
}

// Words returns a column of words, aligned to the left.
func Words[T any](title string, of func(T) string) ColumnOf[T] {
	return ColumnOf[T]{Column: Column{Title: title}, Cell: of}
}

// Figures returns a column of figures, aligned to the right. The parameter "drop" is the column's field
// Drop: see [Column].
func Figures[T any](title string, drop int, of func(T) string) ColumnOf[T] {
	return ColumnOf[T]{Column: Column{Title: title, Right: true, Drop: drop}, Cell: of}
}

// PrintTable prints a table. The parameter "titles" has the titles of the columns, separated by "|". A
// column whose title begins with ">" is aligned to the right. Without titles, only the rows are printed.
func PrintTable(w io.Writer, titles string, rows [][]string) error {
	if len(rows) == 0 && strings.Trim(titles, "|") == "" {
		return nil
	}
	return RenderText(w, Document{TableOf(titles, rows)}, Options{Width: Unlimited})
}

// TableOf returns the table that [PrintTable] prints.
func TableOf(titles string, rows [][]string) Grid {
	g := Grid{Rows: rows}
	for t := range strings.SplitSeq(titles, "|") {
		title, right := strings.CutPrefix(t, ">")
		g.Columns = append(g.Columns, Column{Title: title, Right: right})
	}
	return g
}
