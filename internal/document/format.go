package document

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// FormatsOf are the formats of a T, which are written with options O.
type FormatsOf[T, O any] struct {
	What string // what errors call a T
	List []Format[T, O]
}

// Format writes a T.
type Format[T, O any] struct {
	Name string
	To   func(io.Writer, T, O) error
}

func (list FormatsOf[T, O]) Names() []string {
	return Map(list.List, func(f Format[T, O]) string { return f.Name })
}

// Check returns an error that suggests the nearest format if there is no such format.
func (list FormatsOf[T, O]) Check(format string) error {
	if names := list.Names(); !slices.Contains(names, format) {
		return fmt.Errorf("unknown format %q: %s", format, driver.Suggest(format, names))
	}
	return nil
}

// Write writes v in a format.
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

// Encode writes indented JSON.
func Encode(w io.Writer, v any) error {
	e := json.NewEncoder(PrintableJSON(w))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
