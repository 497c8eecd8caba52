package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// DatabasePath returns the path of the workload's database. Each trial begins with a copy of it.
// DatabasePath returns "" if trials begin with an empty database.
func (w *Workload) DatabasePath() string {
	if w.Database == "" || filepath.IsAbs(w.Database) {
		return w.Database
	}
	return filepath.Join(filepath.Dir(w.file), filepath.FromSlash(w.Database))
}

// Snapshot returns the copy of the workload's database. It returns nil before [Workload.Begin], or
// if the workload has no database.
func (w *Workload) Snapshot() *snapshot.Snapshot { return w.snapshot }

// Begin gives the workload a copy of its database. For each data set that has a query, it runs the
// query on the copy and reads the rows. It also finds the features of SQLite that the database's
// schema needs. Before Begin, each data set with a query has one row with placeholder values. The
// error is a [Problems].
func (w *Workload) Begin(ctx context.Context, s *snapshot.Snapshot) error {
	type result struct {
		lists [][]json.RawMessage
		err   error
	}
	queried := map[string]result{}
	w.snapshot = s
	w.query = func(sql string, columns []driver.ColumnType) ([][]json.RawMessage, error) {
		key := fmt.Sprint(sql, "\x00", columns)
		r, known := queried[key]
		if !known {
			r.lists, r.err = s.Rows(ctx, sql, columns)
			queried[key] = r
		}
		return r.lists, r.err
	}
	for _, sql := range s.Schema {
		w.Needs = distinct.Append(w.Needs, FeaturesOf(sql)...)
	}
	r := &reader{file: w.file}
	w.resolveAll(r)
	return r.err()
}

// database reads the name of the workload's database.
func (w *Workload) database(r *reader, n *yaml.Node) {
	v, ok := r.text(n, "database", "database: ./app.db")
	w.Database = v
	switch {
	case !ok:
	case strings.TrimSpace(v) == "" || strings.ContainsRune(v, 0):
		r.errorf(n, "database is %s: want the name of a file, such as ./app.db", describe(n))
	case !w.files && !w.beside(v):
		r.outside = true
		r.errorf(n, "database: cannot use %q: want a relative path to a file in the workload's directory or below (if it is a link, its target too)", v)
		r.outside = false
	}
}

// beside reports whether a file is in the workload file's directory or below it. It returns false if a
// symbolic link leads out of the directory.
func (w *Workload) beside(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	if w.fsys == nil {
		return true
	}
	for _, suffix := range []string{"", "-wal", "-journal"} { // files that SQLite reads together with the database
		_, err := fs.Stat(w.fsys, path.Clean(filepath.ToSlash(name))+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return false // os.Root returns an error for links that lead out of its directory
		}
	}
	return true
}

// The list "shaping" has the settings that SQLite cannot change in an existing file.
var shaping = []string{"page_size", "auto_vacuum"}

// Decided checks the settings s for a workload that begins with a copy of an existing database. The
// database determines some settings, such as page_size. If s has one of them, Decided returns its name
// and an error.
func (w *Workload) Decided(s driver.Settings) (setting string, err error) {
	if w.Database == "" {
		return "", nil
	}
	name := filepath.Base(w.Database)
	for _, setting := range shaping {
		if v, ok := s[setting]; ok {
			return setting, fmt.Errorf(`%s=%s: %s keeps the value that it was created with: leave the setting out, or name a converted copy: sqlite3 "%[3]s" "PRAGMA %[1]s = %[2]s; VACUUM INTO 'copy.db'"`, setting, v, name)
		}
	}
	if s["mode"] == "memory" {
		return "mode", fmt.Errorf("mode=memory: the workload begins with the file %s: leave mode out", name)
	}
	return "", nil
}

// decided reports a problem if the settings include a setting that the existing database determines, such as
// page_size.
func (l *resolver) decided(settings *yaml.Node) {
	name, err := l.w.Decided(l.settings)
	if err == nil {
		return
	}
	at := settings
	for i := 0; i < len(settings.Content); i += 2 {
		if settings.Content[i].Value == name {
			at = settings.Content[i]
		}
	}
	l.errorf(at, "setting %v", err)
}

// unsteady matches calls of SQL functions that return random values.
var unsteady = regexp.MustCompile(`(?i)\brandom(blob)?\s*\(`)

// queried reads a data set whose rows come from a query on the database.
func (l *resolver) queried(s *setInfo, f *fields, what string) {
	n := f.get("query")
	before := l.found
	if l.w.Database == "" {
		l.errorf(f.key("query"), "%s has a query, but the workload has no database: write database: and the name of a file, or count instead of query", what)
	}
	for _, key := range []string{"count", "per"} {
		if f.get(key) != nil {
			l.errorf(f.key(key), "%s has %s and a query, which decides its rows: leave %[2]s out", what, key)
		}
	}
	sql, ok := l.sql(n, "query of "+what, "SELECT id FROM users ORDER BY id LIMIT 1000")
	if ok {
		var names []string
		var err error
		switch sql, names, err = positional(sql); {
		case err != nil:
			l.errorf(n, "query of %s: %v", what, err)
		case len(names) > 0:
			l.errorf(n, "query of %s has the parameter :%s, and is run once: write a value instead", what, names[0])
		case unsteady.MatchString(sql):
			l.errorf(n, "query of %s has random(): its rows would differ between runs: write ORDER BY a key, and LIMIT", what)
		}
	}
	var types []driver.ColumnType
	l.columnsOf(s, f, what, "{id: int}", " with the name and type of each", func(c *columnInfo, name *yaml.Node) {
		l.identifier(name, "a column")
		t := l.columnType(c.node)
		c.Name, c.Type, c.Generator.Kind = name.Value, t.Type, plan.GenList
		c.Generator.List = []json.RawMessage{placeholder(t.Type)}
		types = append(types, t)
		s.columns[name.Value] = c
	})
	s.Count = 1
	if l.found == before && l.w.query != nil {
		lists, err := l.w.query(sql, types)
		if err != nil {
			l.errorf(n, "query of %s: %v", what, err)
		} else {
			s.Count = int64(len(lists[0]))
			for i, c := range s.order {
				c.Generator.List = lists[i]
			}
		}
	}
	if s.broken = l.found > before; s.broken {
		for _, c := range s.order {
			c.broken = true
		}
	}
}

// placeholder returns a value of type t for a row that has not been read yet.
func placeholder(t driver.Type) json.RawMessage {
	if t == driver.Text || t == driver.Blob {
		return json.RawMessage(`""`)
	}
	return json.RawMessage("0")
}

func isNull(v json.RawMessage) bool { return string(v) == "null" }

// listed reads the values of a column with the generator "list".
func (l *resolver) listed(c *columnInfo, n *yaml.Node) {
	items := l.list(n)
	if len(items) == 0 {
		l.errorf(n, "%s: a list of nothing: want values, such as [3, null, 7]", c.full)
		return
	}
	var values []*columnInfo
	c.Type = 0
	for _, n := range items {
		v := &columnInfo{full: c.full + ": list"}
		v.Type = driver.Int
		l.constant(v, n)
		values = append(values, v)
		switch {
		case v.Generator.Kind == plan.GenNull || v.Type == c.Type:
		case c.Type == 0, c.Type == driver.Int && v.Type == driver.Real:
			c.Type = v.Type
		case c.Type == driver.Real && v.Type == driver.Int:
		default:
			l.errorf(n, "%s: a list with %s and %s: want values of one type", c.full, c.Type, v.Type)
			return
		}
	}
	if c.Type == 0 {
		l.errorf(n, "%s: a list of NULLs: write null", c.full)
		c.Type = driver.Int
	}
	for _, v := range values {
		c.Generator.List = append(c.Generator.List, encoded(v, c.Type))
	}
}

// encoded returns the only value of the column v as JSON, for a generator "list" whose values have
// the type t.
func encoded(v *columnInfo, t driver.Type) json.RawMessage {
	var value any
	switch {
	case v.Generator.Kind == plan.GenNull:
	case v.Type == driver.Real:
		value = v.Generator.RealLow
	case t == driver.Text:
		value = v.Generator.Text
	default:
		value = v.Generator.Int
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null") // the value is a number that is not finite, and this problem has been reported
	}
	return raw
}

// references reports whether any SQL of the workload, or of its database, has a foreign key.
func (w *Workload) references() bool {
	for _, s := range w.scripts {
		if hasReferences(s.text) {
			return true
		}
	}
	return w.snapshot != nil && slices.ContainsFunc(w.snapshot.Schema, hasReferences)
}

func hasReferences(sql string) bool { return strings.Contains(strings.ToUpper(sql), "REFERENCES") }
