package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// bare returns the name of the pragma without a schema such as "main." before it.
func bare(p protocol.PragmaArgument) string { return p.Name[strings.LastIndexByte(p.Name, '.')+1:] }

func (p pragma) run(ctx context.Context, d *Database, _ func(protocol.Progress), r *protocol.JobResult) error {
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		return err
	}
	err = p.set(ctx, conn, r)
	if err = cmp.Or(err, conn.Close()); err != nil {
		return err
	}
	// A new connection shows which values are still set after the first connection has been closed.
	// The first connection must be closed, because it may hold locks. A database in memory would
	// disappear with that connection, so nothing more is read from it.
	if !p.sets() || d.Settings["mode"] == "memory" {
		return nil
	}
	if err := d.DB.Close(); err != nil {
		return err
	}
	// d.Open sets all settings of d.Settings again on each new connection. No other settings are
	// needed.
	if d.DB, err = d.Open(ctx); err != nil {
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
		read.Outlives = same(bare(p.Pragmas[i]), *read.Set, read.Later)
	}
	return nil
}

func (p pragma) sets() bool {
	return slices.ContainsFunc(p.Pragmas, func(a protocol.PragmaArgument) bool { return a.Value != nil })
}

// set reads or sets the pragmas, in order, on one connection.
func (p pragma) set(ctx context.Context, conn driver.Conn, r *protocol.JobResult) error {
	known, err := knownPragmas(ctx, conn)
	if err != nil {
		return err
	}
	for _, a := range p.Pragmas {
		if name := bare(a); len(known) > 0 && !contains(known, name) {
			return errorf(protocol.CodeUsage, "this driver's SQLite has no pragma %q: %s", a.Name,
				cmp.Or(driver.DidYouMean(name, known), "PRAGMA pragma_list names all"))
		}
		if len(known) > 0 && !p.sets() {
			continue
		}
		// A pragma that cannot be read is reported before anything is set. A pragma that SQLite
		// does not know returns no rows.
		answer, err := readPragma(ctx, conn, a.Name)
		if err == nil && len(answer) == 0 && len(known) == 0 {
			err = unreadable(a.Name)
		}
		if err != nil {
			return err
		}
	}
	for _, a := range p.Pragmas {
		read := protocol.PragmaRead{Name: a.Name, Set: a.Value}
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
			read.Took = same(bare(a), *a.Value, read.Got)
		}
		r.Pragma = append(r.Pragma, read)
	}
	return nil
}

func contains(list []string, s string) bool {
	return slices.ContainsFunc(list, func(e string) bool { return strings.EqualFold(e, s) })
}

// knownPragmas lists the pragmas that SQLite knows. The list is empty if SQLite cannot
// report them.
func knownPragmas(ctx context.Context, r driver.Runner) ([]string, error) {
	list, err := readPragma(ctx, r, "pragma_list")
	if _, ok := errors.AsType[*Error](err); ok {
		// If SQLite lacks the pragma pragma_list, the statement has no column.
		return nil, nil
	}
	return list, err
}

// readPragma reads a pragma whose result has one column.
func readPragma(ctx context.Context, r driver.Runner, name string) ([]string, error) {
	list, err := driver.Texts(ctx, r, "PRAGMA "+name)
	if _, ok := errors.AsType[*driver.Error](err); err != nil && !ok {
		return nil, unreadable(name)
	}
	return list, err
}

func unreadable(pragma string) error {
	hint := "only pragmas that return one column can"
	if meant := driver.DidYouMean(pragma, settings()); meant != "" && !contains(settings(), pragma) {
		hint += "; " + meant
	}
	return errorf(protocol.CodeUsage, "pragma %q cannot be read here: %s", pragma, hint)
}

// settings returns the names of the settings that are pragmas.
func settings() (names []string) {
	for _, d := range driver.Vocabulary {
		if d.Pragma {
			names = append(names, d.Name)
		}
	}
	return names
}

// same reports whether the value "got" is the value to which the pragma was set. The notations may
// differ.
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
		return true // the user wrote a number in another notation, such as hexadecimal
	}
	return boolean[strings.ToLower(set)] != "" && boolean[strings.ToLower(set)] == boolean[got[0]]
}

// boolean maps each way to write a boolean value in a PRAGMA to the value that SQLite returns.
var boolean = map[string]string{
	"0": "0", "off": "0", "false": "0", "no": "0",
	"1": "1", "on": "1", "true": "1", "yes": "1",
}
