package job

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Pragma reads pragmas, or sets them and reads them back: on the connection
// that set them, and on one opened after it.
type Pragma struct {
	Pragmas []PragmaArgument `json:"pragmas"`
}

// PragmaArgument is one pragma to read, or to set where Value is not nil.
type PragmaArgument struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"`
}

// PragmaRead is what became of one pragma. Each reading has a line for each row
// of the answer; most pragmas have one.
type PragmaRead struct {
	Name   string   `json:"name"`
	Set    *string  `json:"set,omitempty"` // the value asked for; nil where it was only read
	Before []string `json:"before"`        // what it was
	Got    []string `json:"got,omitempty"` // read back on the same connection
	Later  []string `json:"later,omitempty"`

	// Took says that the pragma reads as it was set, Outlives that it also does
	// so on a connection opened later.
	Took     bool `json:"took,omitempty"`
	Outlives bool `json:"outlives,omitempty"`
}

var (
	pragmaName  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*\.)?[A-Za-z_][A-Za-z0-9_]*$`)
	pragmaValue = regexp.MustCompile(`^([-+]?[A-Za-z0-9_.]+|'[^']*')$`)
)

// ParsePragma reads "name" or "name=value".
func ParsePragma(s string) (PragmaArgument, error) {
	name, value, set := strings.Cut(s, "=")
	p := PragmaArgument{Name: strings.ToLower(strings.TrimSpace(name))}
	if set {
		value = strings.TrimSpace(value)
		p.Value = &value
	}
	return p, p.check()
}

func (p PragmaArgument) check() error {
	if !pragmaName.MatchString(p.Name) {
		return fmt.Errorf("%q is not the name of a pragma: want name or name=value, such as synchronous=normal", p.Name)
	}
	if p.Value != nil && !pragmaValue.MatchString(*p.Value) {
		return fmt.Errorf("pragma %s: bad value %q: want a number, a word, or a text in single quotes", p.Name, *p.Value)
	}
	return nil
}

// bare is the name without a schema's before it.
func (p PragmaArgument) bare() string { return p.Name[strings.LastIndexByte(p.Name, '.')+1:] }

func (p *Pragma) check() error {
	if len(p.Pragmas) == 0 {
		return fmt.Errorf("no pragma is named: want one such as synchronous, or synchronous=normal")
	}
	given := map[string]bool{}
	for _, a := range p.Pragmas {
		if err := a.check(); err != nil {
			return err
		}
		if a.Value != nil && given[a.Name] {
			return fmt.Errorf("pragma %s has two values: leave one out", a.Name)
		}
		given[a.Name] = given[a.Name] || a.Value != nil
	}
	return nil
}

func (p *Pragma) run(ctx context.Context, d *Database, _ func(Progress), r *Result) error {
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		return err
	}
	err = p.set(ctx, conn, r)
	if cerr := conn.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	// The first connection is closed before another one looks, since it may
	// hold locks; a database in memory would go with it.
	if !p.sets() || d.Settings["mode"] == "memory" {
		return nil
	}
	if err := d.DB.Close(); err != nil {
		return err
	}
	// What the user's own options set is set again on every connection.
	if d.DB, err = d.Open(ctx, driver.Settings{}); err != nil {
		return fmt.Errorf("opening it again, to see what has lasted: %w", err)
	}
	for i := range r.Pragma {
		read := &r.Pragma[i]
		if read.Set == nil {
			continue
		}
		if read.Later, err = readPragma(ctx, d.DB, read.Name); err != nil {
			return err
		}
		read.Outlives = same(p.Pragmas[i].bare(), *read.Set, read.Later)
	}
	return nil
}

func (p *Pragma) sets() bool {
	for _, a := range p.Pragmas {
		if a.Value != nil {
			return true
		}
	}
	return false
}

// set goes through the pragmas, in order, on one connection.
func (p *Pragma) set(ctx context.Context, conn driver.Conn, r *Result) error {
	known, err := knownPragmas(ctx, conn)
	if err != nil {
		return err
	}
	for _, a := range p.Pragmas {
		if name := a.bare(); len(known) > 0 && !contains(known, name) {
			hint := "PRAGMA pragma_list names all"
			if n := driver.Nearest(name, known); n != "" {
				hint = fmt.Sprintf("did you mean %q?", n)
			}
			return errorf(CodeUsage, "this driver's SQLite has no pragma %q: %s", a.Name, hint)
		}
		if len(known) > 0 && !p.sets() {
			continue
		}
		// What cannot be read is told before anything is set. One that SQLite does
		// not know answers nothing.
		answer, err := readPragma(ctx, conn, a.Name)
		if err == nil && len(answer) == 0 && len(known) == 0 {
			err = unreadable(a.Name)
		}
		if err != nil {
			return err
		}
	}
	for _, a := range p.Pragmas {
		read := PragmaRead{Name: a.Name, Set: a.Value}
		if read.Before, err = readPragma(ctx, conn, a.Name); err != nil {
			return err
		}
		if a.Value != nil {
			if err := conn.Script(ctx, "PRAGMA "+a.Name+"="+*a.Value); err != nil {
				return fmt.Errorf("PRAGMA %s=%s: %w", a.Name, *a.Value, err)
			}
			if read.Got, err = readPragma(ctx, conn, a.Name); err != nil {
				return err
			}
			read.Took = same(a.bare(), *a.Value, read.Got)
		}
		r.Pragma = append(r.Pragma, read)
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if strings.EqualFold(e, s) {
			return true
		}
	}
	return false
}

// knownPragmas is empty where SQLite cannot tell.
func knownPragmas(ctx context.Context, r driver.Runner) (list []string, err error) {
	err = query(ctx, r, "PRAGMA pragma_list", []driver.ColumnType{{Type: driver.Text}}, func(row driver.Row) error {
		list = append(list, row[0].Text)
		return nil
	})
	var e *driver.Error
	if err != nil && !errors.As(err, &e) {
		// Where SQLite lacks the pragma its statement has no column.
		return nil, nil
	}
	return list, err
}

// readPragma reads a pragma of one column.
func readPragma(ctx context.Context, r driver.Runner, name string) (list []string, err error) {
	err = query(ctx, r, "PRAGMA "+name, []driver.ColumnType{{Type: driver.Text}}, func(row driver.Row) error {
		list = append(list, row[0].Text)
		return nil
	})
	var e *driver.Error
	if err != nil && !errors.As(err, &e) {
		return nil, unreadable(name)
	}
	return list, err
}

func unreadable(pragma string) error {
	hint := "only those that answer with one column can"
	if n := driver.Nearest(pragma, settings()); n != "" && n != strings.ToLower(pragma) {
		hint += fmt.Sprintf("; did you mean %q?", n)
	}
	return errorf(CodeUsage, "pragma %q cannot be read here: %s", pragma, hint)
}

// settings are the names of the vocabulary that are pragmas.
func settings() (names []string) {
	for _, d := range driver.Vocabulary {
		if d.Pragma {
			names = append(names, d.Name)
		}
	}
	return names
}

// same reports whether a pragma that was set to a value reads as if it were.
func same(name, set string, got []string) bool {
	if len(got) != 1 {
		return false
	}
	set = strings.Trim(set, "'")
	if strings.EqualFold(set, got[0]) {
		return true
	}
	if d, ok := driver.LookupSetting(name); ok {
		w, werr := d.Canonical(set)
		g, gerr := d.Canonical(got[0])
		return werr == nil && gerr == nil && w == g
	}
	if n, err := strconv.ParseInt(set, 0, 64); err == nil && strconv.FormatInt(n, 10) == got[0] {
		return true // hexadecimal
	}
	return boolean[strings.ToLower(set)] != "" && boolean[strings.ToLower(set)] == boolean[got[0]]
}

// boolean maps how SQLite lets a truth value be written to how it reads.
var boolean = map[string]string{
	"0": "0", "off": "0", "false": "0", "no": "0",
	"1": "1", "on": "1", "true": "1", "yes": "1",
}
