package workload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Limits, in bytes, on the files that a workload consists of.
const (
	MaxFile    = 4 << 20  // size of a YAML file
	MaxSQLFile = 64 << 20 // size of a .sql file
)

// Option changes how a workload is read.
type Option func(*Workload)

// AllowFiles lets the workload's SQL reach files other than its own database.
func AllowFiles(w *Workload) { w.files = true }

// Including gives the workload the contents of the .sql files that it names. The files are those that
// [Workload.Includes] returned when the same workload text was read before.
func Including(files ...result.TextFile) Option {
	return func(w *Workload) { w.includes = slices.Clone(files) }
}

// Load reads a built-in workload, given by its name, or a workload file. An argument
// is a file if it contains a path separator, ends in .yaml or .yml, or is "." or "..".
func Load(nameOrPath string, options ...Option) (*Workload, error) {
	ext := filepath.Ext(nameOrPath)
	if strings.ContainsRune(nameOrPath, '/') || strings.ContainsRune(nameOrPath, filepath.Separator) || ext == ".yaml" || ext == ".yml" || nameOrPath == "." || nameOrPath == ".." {
		data, err := readFile(nameOrPath)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no workload file %s: want a file that is there, or the name of a built-in workload, such as %s", nameOrPath, Builtins()[0])
		}
		if err != nil {
			return nil, fmt.Errorf("workload file %s: %w", nameOrPath, directory.Reason(err))
		}
		// os.Root does not follow links that lead out of its directory.
		root, err := os.OpenRoot(filepath.Dir(nameOrPath))
		if err != nil {
			return nil, fmt.Errorf("workload file %s: %w", nameOrPath, directory.Reason(err))
		}
		defer root.Close()
		return Parse(nameOrPath, data, root.FS(), options...)
	}
	file := "builtin/" + nameOrPath + ".yaml"
	data, err := builtin.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("unknown workload %q: %s (a file is given as ./%s.yaml)", nameOrPath, driver.Suggest(nameOrPath, Builtins()), nameOrPath)
	}
	sub, err := fs.Sub(builtin, "builtin")
	if err != nil {
		return nil, err
	}
	return Parse(file, data, sub, options...)
}

// readFile reads a workload's file, which may be a shell's pipe. It refuses devices, which may be
// endless. It also refuses named pipes, because reading a named pipe waits until a process writes to it.
func readFile(path string) ([]byte, error) {
	// This check does not refuse a shell's pipe, such as /dev/fd/63. Such a path is a link to a name that
	// does not exist, so EvalSymlinks fails for it.
	if name, err := filepath.EvalSymlinks(path); err == nil {
		if fi, err := os.Stat(name); err == nil && fi.Mode()&fs.ModeNamedPipe != 0 {
			return nil, errors.New("it is a named pipe: want a file")
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.IsDir() {
		return nil, errors.New("it is a directory: want a file")
	}
	if fi.Mode()&fs.ModeDevice != 0 {
		return nil, errors.New("it is a device: want a file")
	}
	return readBounded(f, MaxFile)
}

// readBounded reads all of r. It returns an error if r has more bytes than the parameter "limit"
// says.
func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return data, err
}

// script is SQL of a workload. If the SQL is refused, the field "problem" has the reason.
type script struct {
	text     string
	problem  string
	outside  bool            // the SQL reaches files other than the database, which is refused unless the user allows it
	pragmas  []pragmaSetting // settings that its PRAGMAs change
	features []string        // the keys of the features of SQLite that the SQL needs
}

// sql reads SQL, or the name of a file that contains SQL. It reports problems, and returns false if the
// caller must not check the SQL further. For valid SQL it adds the pragmas and features of the SQL to l.
func (l *resolver) sql(n *yaml.Node, what, example string) (string, bool) {
	text, ok := l.text(n, what, example)
	if !ok {
		return "", false
	}
	s, read := l.w.scripts[n]
	if !read {
		s = l.w.script(text)
		l.w.scripts[n] = s
	}
	if s.problem != "" {
		l.outside = s.outside
		l.errorf(n, "%s: %s", what, s.problem)
		l.outside = false
		return s.text, s.outside // if the problem is that SQL reaches files, the SQL can still be checked for other problems
	}
	if name, line := parameterIn(s.text); name != "" && (what == "schema" || what == "script") {
		l.errorf(n, "%s: line %d has the parameter %.40s, and nothing binds it: write the value", what, line+1, name)
		return s.text, false
	}
	l.plan.Files = l.plan.Files || s.outside
	l.pragmas = append(l.pragmas, s.pragmas...)
	l.features = append(l.features, s.features...)
	return s.text, true
}

// script returns the SQL in a file if the parameter "text" is the name of a .sql file. Otherwise it
// returns "text" itself as SQL.
func (w *Workload) script(text string) script {
	s := script{text: text}
	name := strings.TrimSpace(text)
	where := ""
	if strings.HasSuffix(name, ".sql") && !strings.ContainsAny(name, " \t\n;") {
		where = " of " + name
		var err error
		if s.text, err = w.readSQL(name); err != nil {
			s.problem = err.Error()
			return s
		}
	}
	s.pragmas, s.features = pragmaSettings(s.text), FeaturesOf(s.text)
	what, line := outside(s.text)
	if s.outside = what != ""; s.outside && !w.files {
		s.problem = fmt.Sprintf("line %d%s has %s: it reaches files other than the workload's own database: leave it out", line+1, where, what)
	}
	return s
}

// readSQL reads a .sql file. It reads each file once, so that all cases are made from the
// same text, which [Workload.Includes] returns.
func (w *Workload) readSQL(name string) (string, error) {
	if i := slices.IndexFunc(w.includes, func(f result.TextFile) bool { return f.Name == name }); i >= 0 {
		return w.includes[i].Text, nil
	}
	data, err := w.readBeside(name, name, MaxSQLFile)
	if err != nil {
		return "", err
	}
	w.includes = append(w.includes, result.TextFile{Name: name, Text: string(data)})
	return string(data), nil
}

// readBeside reads a file in the workload file's directory, or below. Errors contain the parameter
// "name" instead of the parameter "path".
func (w *Workload) readBeside(name, path string, limit int64) ([]byte, error) {
	const want = "want a file in the workload's directory, or below"
	if w.fsys == nil || !fs.ValidPath(path) {
		return nil, fmt.Errorf("cannot open the file %q: %s", name, want)
	}
	// Opening a named pipe would wait for a process that writes to it.
	if fi, err := fs.Stat(w.fsys, path); err == nil && !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file: %s", name, want)
	}
	f, err := w.fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the file %q: %s", name, want)
	}
	defer f.Close()
	data, err := readBounded(f, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot read the file %q: %w", name, directory.Reason(err))
	}
	return data, nil
}
