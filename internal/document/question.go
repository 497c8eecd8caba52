package document

import (
	"io"
	"strings"
)

// Question describes how answers to one question, such as a comparison, are written as text,
// Markdown, HTML and JSON. T is the type of the answers.
type Question[T any] struct {
	Name     string                    // name of an answer in error messages
	Document func(T, Options) Document // the answer for terminals and Markdown
	Title    string                    // title of the HTML page; "" if there is no page
	Page     func(T, Options) Document // the answer for a page; nil: the same as Document
	Fits     bool                      // on a terminal the answer is shortened to Options.Lines
	Short    func(T) Document          // replaces Document on a terminal that is too low for it; nil: Document's sections are shortened
	JSON     func(T) any               // the value to encode as JSON; nil if there is no JSON format
}

// Formats returns the formats of a question, followed by the formats in further.
func (q Question[T]) Formats(further ...Format[T, Options]) FormatsOf[T, Options] {
	list := []Format[T, Options]{
		{"table", func(w io.Writer, v T, o Options) error {
			d := q.Document(v, o)
			switch {
			case !q.Fits:
				return RenderText(w, d, o)
			case q.Short != nil:
				return RenderPart(w, d, q.Short(v), o)
			}
			return RenderPart(w, d, nil, o)
		}},
		{"markdown", func(w io.Writer, v T, o Options) error { return RenderMarkdown(w, q.Document(v, o).Explained()) }},
	}
	if q.Title != "" {
		page := q.Page
		if page == nil {
			page = q.Document
		}
		list = append(list, Format[T, Options]{"html", func(w io.Writer, v T, o Options) error {
			return RenderHTML(w, page(v, o), q.Title, o)
		}})
	}
	if q.JSON != nil {
		list = append(list, Format[T, Options]{"json", func(w io.Writer, v T, _ Options) error { return Encode(w, q.JSON(v)) }})
	}
	return FormatsOf[T, Options]{q.Name, append(list, further...)}
}

// ColumnOf is a column with the function that returns its cell for a row of type T.
type ColumnOf[T any] struct {
	Column
	Cell   func(T) string
	Spread func(T) string // interval, written after the cell's figure and aligned over all rows
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

// Figures returns a column of figures, aligned to the right. drop is the column's Drop: see
// [Column].
func Figures[T any](title string, drop int, of func(T) string) ColumnOf[T] {
	return ColumnOf[T]{Column: Column{Title: title, Right: true, Drop: drop}, Cell: of}
}

// Join joins the elements of a list; word returns the text of an element.
func Join[T any](list []T, separator string, word func(T) string) string {
	return strings.Join(Map(list, word), separator)
}
