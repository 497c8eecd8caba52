package document

import "io"

// Question describes how answers to one question, such as a comparison, are written as text,
// Markdown, HTML and JSON. T is the type of the answers.
type Question[T any] struct {
	Name     string                    // name of an answer in error messages
	Document func(T, Options) Document // the answer for terminals and Markdown
	Title    string                    // title of the HTML page; "" if there is no page
	Page     func(T, Options) Document // the answer for a page; nil: the same as Document
	Fits     bool                      // on a terminal the answer is shortened to Options.Lines
	Short    func(T) Document          // replaces Document on a terminal that is too low for Document; nil: Document's sections are shortened
	JSON     func(T) any               // the value to encode as JSON; nil if there is no JSON format
}

// Formats returns the formats of a question, followed by the formats in the parameter "further".
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
