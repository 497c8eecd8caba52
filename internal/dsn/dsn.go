// Package dsn decides which settings a data source name (DSN) requests from a SQLite library,
// which databases a worker must open to find out how the library treats the DSN, and what the
// results mean. It opens no databases itself.
package dsn

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Name is a parsed data source name.
type Name struct {
	Options []Option
	Memory  bool // the DSN asks for a database in memory

	// Problem describes a likely mistake in the part of the DSN before the options. It is "" if there is
	// none.
	Problem string

	uri      bool   // the DSN begins with "file:"
	prefix   string // for a URI: "file:", with "//" and the authority if there is one
	path     string // path as typed
	file     string // last element of path, without escapes; "" if the DSN names no file
	absolute bool
	fixed    bool // path names no file and is passed to the library unchanged
}

// Option is an option of a DSN.
type Option struct {
	Key     string
	Value   string // value without escapes
	Setting string // setting or pragma that the option sets; "" if none is known
	Wanted  string // Value in canonical form; "" if Setting is "", if Value is invalid, or if Setting cannot be read back

	// Problem describes a likely mistake, such as an unknown option or a bad value, and suggests
	// what the user may have meant.
	Problem string

	raw    string // option as typed
	secret string // part of Value that is never shown
}

// scheme matches the beginning of a connection string for tools such as JDBC. No SQLite library understands
// such a string.
var scheme = regexp.MustCompile(`^(?i)(jdbc:)?([a-z][a-z0-9+.-]+)://|^(?i)(jdbc:sqlite|sqlite3?):`)

// Parse parses a data source name.
func Parse(dsn string) (*Name, error) {
	n := &Name{}
	name, query, _ := strings.Cut(dsn, "?")
	if strings.ContainsRune(dsn, 0) || strings.Contains(dsn, "%00") {
		return nil, fmt.Errorf("the DSN has a NUL: leave it out")
	}
	if err := n.parseOptions(query); err != nil {
		return nil, err
	}
	rest, uri := strings.CutPrefix(name, "file:")
	n.uri = uri
	if !uri {
		if tool := scheme.FindString(name); tool != "" {
			return nil, fmt.Errorf("the DSN begins with %q, which is how some tools name a library: want the text that is passed to the library, such as %q", tool, "file:"+path.Base(strings.TrimPrefix(name, tool)))
		}
		return n, n.parsePath(rest, rest)
	}
	rest, _, _ = strings.Cut(rest, "#")
	n.prefix = "file:"
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		authority, _, slash := strings.Cut(after, "/")
		n.prefix += "//" + authority
		rest = after[len(authority):]
		if !slash { // users often forget the third slash; SQLite refuses the URI
			n.path, n.fixed, n.file = "", true, authority
			n.Problem = fmt.Sprintf("between %q and the next slash a URI has a host: %s", "file://", driver.Meant("file:"+authority))
			return n, nil
		}
	}
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		return nil, fmt.Errorf("the path of the DSN: %w", err)
	}
	return n, n.parsePath(rest, decoded)
}

func (n *Name) parsePath(typed, decoded string) error {
	n.path = typed
	switch base := path.Base(filepath.ToSlash(decoded)); {
	case decoded == ":memory:":
		n.Memory, n.fixed = true, true
	case decoded == "" || base == "." || base == ".." || base == "/" || strings.HasSuffix(decoded, "/"):
		return fmt.Errorf("the DSN names no file: want a path before its options, such as %q", "file:x.db?_pragma=busy_timeout(5000)")
	default:
		n.file, n.absolute = base, strings.HasPrefix(decoded, "/") || filepath.IsAbs(decoded)
	}
	return nil
}

func (n *Name) parseOptions(query string) error {
	for raw := range strings.SplitSeq(query, "&") {
		if raw == "" {
			continue
		}
		if strings.Contains(raw, ";") {
			return fmt.Errorf("the DSN has a %q: options are separated by %q", ";", "&")
		}
		k, v, _ := strings.Cut(raw, "=")
		key, err := url.QueryUnescape(k)
		if err != nil {
			return fmt.Errorf("option %s: %w", k, err)
		}
		value, err := url.QueryUnescape(v)
		if err != nil {
			return fmt.Errorf("option %s: %w", key, err)
		}
		if strings.Contains(value, ";") {
			return fmt.Errorf("option %s: a value with %q could run any SQL: it is not tried", key, ";")
		}
		o := Option{Key: key, Value: value, raw: raw}
		if err := o.interpret(); err != nil {
			return err
		}
		n.Memory = n.Memory || key == "mode" && value == "memory"
		n.Options = append(n.Options, o)
	}
	return nil
}

// String returns the option as typed, with the secret replaced.
func (o *Option) String() string { return o.masked(o.raw) }

func (o *Option) masked(text string) string {
	if o.secret == "" {
		return text
	}
	for _, s := range []string{url.QueryEscape(o.secret), url.PathEscape(o.secret), o.secret} {
		text = strings.ReplaceAll(text, s, "***")
	}
	return text
}

// Mask returns text with "***" in place of the secrets of the DSN, such as keys and passwords.
func (n *Name) Mask(text string) string {
	for i := range n.Options {
		text = n.Options[i].masked(text)
	}
	return text
}

// String returns the DSN as typed, with secrets replaced.
func (n *Name) String() string {
	return withOptions(n.prefix+n.path, document.Map(n.Options, func(o Option) string { return o.String() }))
}

func withOptions(name string, options []string) string {
	if len(options) == 0 {
		return name
	}
	return name + "?" + strings.Join(options, "&")
}

// n.at(dir, uri) returns the DSN without options. It names a file in the directory dir, so the user's file is
// never opened. An absolute path is replaced by a path in dir. A relative path is replaced by its last
// element, because dir is the worker's working directory. If uri is true, the result is a URI.
func (n *Name) at(dir string, uri bool) string {
	if n.fixed {
		return n.prefix + n.path
	}
	file := n.file
	if n.absolute {
		file = filepath.ToSlash(filepath.Join(dir, n.file))
	}
	if !uri {
		return file
	}
	return cmp.Or(n.prefix, "file:") + escape(file)
}

// n.as(uri) returns the DSN without options, with the path as typed. If uri is true, the result is a URI.
func (n *Name) as(uri bool) string {
	switch {
	case n.fixed || uri == n.uri:
		return n.prefix + n.path
	case uri:
		return "file:" + escape(filepath.ToSlash(n.path))
	}
	decoded, err := url.PathUnescape(n.path)
	if err != nil {
		return n.path // cannot happen, because Parse rejects a URI with such a path
	}
	return decoded
}

func escape(p string) string { return (&url.URL{Path: p}).EscapedPath() }

// Wants is a setting that the DSN asks for, with its value.
type Wants struct{ Setting, Value string }

// Wanted returns the settings that the DSN asks for. If a setting is given several times, the list
// has its last value. For a database in memory, journal_mode is left out.
func (n *Name) Wanted() (list []Wants) {
	for _, o := range n.Options {
		if o.Wanted == "" || n.Memory && o.Setting == "journal_mode" { // a database in memory has no journal file, whatever journal_mode is
			continue
		}
		w := distinct.Find(&list, Wants{Setting: o.Setting}, func(w Wants) bool { return w.Setting == o.Setting })
		w.Value = o.Wanted
	}
	return list
}

// Repeated describes the settings that are given several times with different values.
func (n *Name) Repeated() (list []string) {
	values := map[string]string{}
	for _, o := range n.Options {
		if o.Wanted == "" {
			continue
		}
		if old, ok := values[o.Setting]; ok && old != o.Wanted {
			list = append(list, fmt.Sprintf("%s is given as %s and as %s", o.Setting, old, o.Wanted))
		}
		values[o.Setting] = o.Wanted
	}
	return list
}

// pragmas returns the names of the pragmas that the DSN sets and that can be read back. It leaves out pragmas
// in driver.Vocabulary.
func (n *Name) pragmas() (list []string) {
	for _, o := range n.Options {
		if _, ok := driver.LookupSetting(o.Setting); !ok && readable(o.Setting) {
			list = append(list, o.Setting)
		}
	}
	return list
}
