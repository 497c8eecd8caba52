package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Source returns the text of the workload file.
func (w *Workload) Source() []byte { return w.source }

// Includes returns the SQL files that the workload names, as they were read, sorted by
// name.
func (w *Workload) Includes() []result.TextFile {
	return slices.SortedFunc(slices.Values(w.includes), func(a, b result.TextFile) int { return strings.Compare(a.Name, b.Name) })
}

// Place returns the position of a line of a phase's SQL, such as "mine.yaml:12:9". Lines are
// counted from 0, beginning with the first line that is not blank. If the phase is "", the line is
// in the schema. In a mix, the parameters "operation" and "statement" are the indexes of the
// operation and of its statement. In other phases these parameters have no effect. If the file's
// line is not known, the position is where the SQL begins.
func (w *Workload) Place(phase string, operation, statement, line int) string {
	n := w.root.get("schema")
	i := slices.IndexFunc(w.Phases, func(p PhaseInfo) bool { return p.Name == phase })
	if i >= 0 {
		n = target(w.root.get("phases").Content[i])
		n = under(n, w.Phases[i].Kind)
		if w.Phases[i].Kind == "mix" {
			n = under(target(n.Content[operation]), "sql", "statements")
			if n.Kind == yaml.SequenceNode {
				n = target(n.Content[statement])
			}
			n = under(n, "sql")
		}
	}
	if n == nil {
		return w.file
	}
	if i := slices.IndexFunc(w.includes, func(f result.TextFile) bool { return f.Name == strings.TrimSpace(n.Value) }); i >= 0 {
		return fmt.Sprintf("%s:%d:%d: line %d of %s", w.file, n.Line, n.Column, 1+blankLines(w.includes[i].Text)+line, w.includes[i].Name)
	}
	at, column := n.Line, n.Column
	if n.Style == yaml.LiteralStyle { // the text of a literal block begins on the line after the |
		at += 1 + blankLines(n.Value) + line
		if lines := strings.Split(string(w.source), "\n"); at <= len(lines) {
			column = 1 + len(lines[at-1]) - len(strings.TrimLeft(lines[at-1], " "))
		}
	}
	return fmt.Sprintf("%s:%d:%d", w.file, at, column)
}

// blankLines returns how many blank lines a text begins with.
func blankLines(text string) int {
	return strings.Count(strings.TrimSuffix(text, strings.TrimLeftFunc(text, unicode.IsSpace)), "\n")
}

// Unset returns settings that should be set: their defaults differ between drivers, and they are
// neither in s nor changed by the schema. It returns the usual value of each setting. Without these
// settings, one driver may do more work than another. A timeout is included only if connections
// compete for locks, and foreign_keys only if there are foreign keys.
func (w *Workload) Unset(s driver.Settings) driver.Settings {
	s = s.With(w.Changes)
	usual := driver.Settings{}
	if s.PoolSize() > 1 {
		usual["busy_timeout"] = "5s"
	}
	if s["mode"] != "memory" {
		usual["journal_mode"], usual["synchronous"] = "wal", "normal"
		if mode, ok := s["journal_mode"]; ok && mode != "wal" {
			usual["synchronous"] = "full"
		}
	}
	if w.references() {
		usual["foreign_keys"] = "on"
	}
	maps.DeleteFunc(usual, func(name, _ string) bool { return s[name] != "" })
	return usual
}

// under returns the value of the first key in mapping n that is equal to one of the names. If n has
// none of these keys, under returns n.
func under(n *yaml.Node, names ...string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if slices.Contains(names, target(n.Content[i]).Value) {
			return target(n.Content[i+1])
		}
	}
	return n
}

// SHA256 returns a hash, in hexadecimal, of the workload file and everything that it names.
// After the file's text, each included file adds a zero byte, its name, a zero byte, and its
// text. A recording is added like an included file, with the hash of its text instead of the
// text. A database adds a zero byte, the word database, a zero byte, and its hash. So workloads
// on different databases have different hashes. If the workload names nothing, the result is the
// hash of the file alone.
func (w *Workload) SHA256() string {
	h := sha256.New()
	h.Write(w.source) // writing to a hash never fails
	for _, f := range w.Includes() {
		_, _ = io.WriteString(h, "\x00"+f.Name+"\x00"+f.Text)
	}
	if w.snapshot != nil {
		_, _ = io.WriteString(h, "\x00database\x00"+w.snapshot.SHA256)
	}
	for _, name := range slices.Sorted(maps.Keys(w.recordings)) {
		_, _ = io.WriteString(h, "\x00"+name+"\x00"+w.recordings[name].sha256)
	}
	return hex.EncodeToString(h.Sum(nil))
}
