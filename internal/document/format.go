package document

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// FormatsOf lists the formats in which a value of type T can be written, with options of type O.
type FormatsOf[T, O any] struct {
	What string // name of a T in error messages
	List []Format[T, O]
}

// Format is a named format. The function "To" writes a value of type T in this format.
type Format[T, O any] struct {
	Name string
	To   func(io.Writer, T, O) error
}

func (list FormatsOf[T, O]) Names() []string {
	return Map(list.List, func(f Format[T, O]) string { return f.Name })
}

// Check returns an error if the list has no format with the given name. The error suggests the
// nearest name.
func (list FormatsOf[T, O]) Check(format string) error {
	if names := list.Names(); !slices.Contains(names, format) {
		return fmt.Errorf("unknown format %q: %s", format, driver.Suggest(format, names))
	}
	return nil
}

// Write writes v in the format with the given name.
func (list FormatsOf[T, O]) Write(w io.Writer, format string, v T, opts O) error {
	for _, f := range list.List {
		if f.Name != format {
			continue
		}
		if err := f.To(w, v, opts); err != nil {
			return fmt.Errorf("writing the %s as %s: %w", list.What, format, err)
		}
		return nil
	}
	return list.Check(format)
}

// Of returns a function that writes v in the format with the given name.
func (list FormatsOf[T, O]) Of(v T) func(w io.Writer, format string, opts O) error {
	return func(w io.Writer, format string, opts O) error { return list.Write(w, format, v, opts) }
}

// Encode writes v as indented JSON.
func Encode(w io.Writer, v any) error { return encode(w, v, false) }

// EncodeEscaped writes v as [Encode] does, but escapes <, > and & in texts.
func EncodeEscaped(w io.Writer, v any) error { return encode(w, v, true) }

func encode(w io.Writer, v any, escape bool) error {
	e := json.NewEncoder(PrintableJSON(w))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(escape)
	return e.Encode(v)
}
