package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// File is a file that a workload names.
type File struct {
	Name string // as the workload names it
	Text string
}

// Source returns the text of the workload file.
func (w *Workload) Source() []byte { return w.source }

// Includes returns the SQL files that the workload names, as they were read, sorted by
// name.
func (w *Workload) Includes() []File {
	return slices.SortedFunc(slices.Values(w.includes), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}

// Place returns the position of a phase's SQL in the workload file, such as
// "mine.yaml:12:9". The phase "" is the schema. In a mix, operation and statement are
// the indexes of the SQL; otherwise they have no effect.
func (w *Workload) Place(phase string, operation, statement int) string {
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
	return fmt.Sprintf("%s:%d:%d", w.file, n.Line, n.Column)
}

// under returns the value of the first of a mapping's keys that is one of names, or n
// itself if there is none.
func under(n *yaml.Node, names ...string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if slices.Contains(names, target(n.Content[i]).Value) {
			return target(n.Content[i+1])
		}
	}
	return n
}

// SHA256 returns the hash, in hexadecimal, of the workload file followed by each
// included file as a zero byte, its name, a zero byte, and its text. Without includes
// it is the hash of the file alone.
func (w *Workload) SHA256() string {
	h := sha256.New()
	h.Write(w.source) // writing to a hash never fails
	for _, f := range w.Includes() {
		_, _ = io.WriteString(h, "\x00"+f.Name+"\x00"+f.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}
