package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
)

// File is a file that a workload names.
type File struct {
	Name string // as the workload names it
	Text string
}

// Source is the text of the workload file.
func (w *Workload) Source() []byte { return w.source }

// Includes are the SQL files that the workload names, sorted by name, as they were
// read.
func (w *Workload) Includes() []File {
	return slices.SortedFunc(slices.Values(w.includes), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}

// Place is where in the workload's file the SQL of a phase is, or of the schema, whose
// phase is "": "mine.yaml:12:9".
func (w *Workload) Place(phase string) string {
	n := w.root.get("schema")
	i := slices.IndexFunc(w.Phases, func(p PhaseInfo) bool { return p.Name == phase })
	if i >= 0 {
		n = target(w.root.get("phases").Content[i])
		for j := 0; j+1 < len(n.Content); j += 2 {
			if n.Content[j].Value == w.Phases[i].Kind {
				n = target(n.Content[j+1])
				break
			}
		}
	}
	if n == nil {
		return w.file
	}
	return fmt.Sprintf("%s:%d:%d", w.file, n.Line, n.Column)
}

// SHA256 is the hash, in hexadecimal, of the workload file, followed by each included
// file as a zero byte, its name, a zero byte, and its text. Without includes it is the
// hash of the file alone.
func (w *Workload) SHA256() string {
	h := sha256.New()
	h.Write(w.source) // a hash does not fail
	for _, f := range w.Includes() {
		_, _ = io.WriteString(h, "\x00"+f.Name+"\x00"+f.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}
