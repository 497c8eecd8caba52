package document

import (
	"io"
	"strings"
)

// PrintTable prints a table. titles are the titles of the columns, separated by "|". A column whose
// title begins with ">" is aligned to the right. Without titles, only the rows are printed.
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
