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

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The most bytes of the files that a workload consists of.
const (
	MaxFile    = 4 << 20  // of YAML
	MaxSQLFile = 64 << 20 // of a .sql file
)

// Option changes how a workload is read.
type Option func(*Workload)

// AllowFiles lets the workload's SQL reach other files than its own database.
func AllowFiles(w *Workload) { w.files = true }

// Load reads a built-in workload by its name, or a file: an argument with a
// path separator in it, or ending in .yaml or .yml.
func Load(nameOrPath string, options ...Option) (*Workload, error) {
	ext := filepath.Ext(nameOrPath)
	if strings.ContainsRune(nameOrPath, '/') || strings.ContainsRune(nameOrPath, filepath.Separator) || ext == ".yaml" || ext == ".yml" {
		data, err := readFile(nameOrPath)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no workload file %s: want a file that is there, or the name of a built-in workload, such as %s", nameOrPath, Builtins()[0])
		}
		if err != nil {
			return nil, fmt.Errorf("workload file %s: %w", nameOrPath, reasonOf(err))
		}
		// A link does not lead out of a root.
		root, err := os.OpenRoot(filepath.Dir(nameOrPath))
		if err != nil {
			return nil, fmt.Errorf("workload file %s: %w", nameOrPath, reasonOf(err))
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

// readFile reads a workload's file. A shell's pipe will do, but not what has no end,
// nor a named pipe, which nobody may ever write to.
func readFile(path string) ([]byte, error) {
	// A shell's pipe is a link to a name that is not there.
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
	if fi.Mode()&fs.ModeDevice != 0 {
		return nil, errors.New("it is a device: want a file")
	}
	return readBounded(f, MaxFile)
}

// readBounded reads to the end, if that comes within limit.
func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return data, err
}

// script is SQL of a workload as it was read, or what is wrong with it.
type script struct {
	text    string
	problem string
	outside bool            // the problem is that it reaches other files
	pragmas []pragmaSetting // what its PRAGMAs set
}

// sql reads SQL, or the name of a file with SQL in it.
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
		return s.text, s.outside // which may have more that is wrong
	}
	l.pragmas = append(l.pragmas, s.pragmas...)
	return s.text, true
}

// script reads the text of SQL, or the file that it names.
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
	s.pragmas = pragmaSettings(s.text)
	if w.files {
		return s
	}
	if what, line := outside(s.text); what != "" {
		s.outside = true
		s.problem = fmt.Sprintf("line %d%s has %s: it reaches files other than the workload's own database: leave it out", line+1, where, what)
	}
	return s
}

// readSQL reads a .sql file beside the workload's or below, once: all cases are made
// of the same text, which is the one that [Workload.Includes] gives.
func (w *Workload) readSQL(name string) (string, error) {
	if i := slices.IndexFunc(w.includes, func(f File) bool { return f.Name == name }); i >= 0 {
		return w.includes[i].Text, nil
	}
	const want = "want a file beside the workload's, or below"
	if w.fsys == nil || !fs.ValidPath(name) {
		return "", fmt.Errorf("cannot open the file %q: %s", name, want)
	}
	if fi, err := fs.Stat(w.fsys, name); err == nil && !fi.Mode().IsRegular() {
		return "", fmt.Errorf("%q is not a regular file: %s", name, want)
	}
	f, err := w.fsys.Open(name)
	if err != nil {
		return "", fmt.Errorf("cannot read the file %q: %s", name, want)
	}
	defer f.Close()
	data, err := readBounded(f, MaxSQLFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the file %q: %w", name, reasonOf(err))
	}
	w.includes = append(w.includes, File{name, string(data)})
	return string(data), nil
}

// reasonOf is the error of a file's operation without the file's name.
func reasonOf(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
