package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// formatsOf are the formats in which a T can be written, with options O.
type formatsOf[T, O any] []struct {
	name string
	to   func(io.Writer, T, O) error
}

func (list formatsOf[T, O]) names() []string {
	var names []string
	for _, f := range list {
		names = append(names, f.name)
	}
	return names
}

// check returns an error that suggests the nearest format if there is no format with that
// name.
func (list formatsOf[T, O]) check(format string) error {
	if names := list.names(); !slices.Contains(names, format) {
		return fmt.Errorf("unknown format %q: %s", format, driver.Suggest(format, names))
	}
	return nil
}

// write writes v, which errors call what, in a format.
func (list formatsOf[T, O]) write(w io.Writer, what, format string, v T, opts O) error {
	for _, f := range list {
		if f.name != format {
			continue
		}
		if err := f.to(w, v, opts); err != nil {
			return fmt.Errorf("writing the %s as %s: %w", what, format, err)
		}
		return nil
	}
	return list.check(format)
}

// encode writes indented JSON.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(PrintableJSON(w))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
