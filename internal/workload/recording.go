package workload

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/record"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// MaxRecording is the size in bytes of the largest recording that is replayed.
const MaxRecording = 256 << 20

// recording is a recording as it was read, and the plan that it is resolved to.
type recording struct {
	*record.Recording
	script  bool // the file is a script or a trace, not a recording of package record
	sha256  string
	problem string    // why the file cannot be read, or ""
	made    *replayed // the recording resolved to a plan; nil until it is resolved
}

// recording returns the recording in a file. It reads each file only once. If the file cannot be read, the
// field "problem" of the result says why.
func (w *Workload) recording(name string) *recording {
	if r := w.recordings[name]; r != nil {
		return r
	}
	r := &recording{}
	w.recordings[name] = r
	data, err := w.readBeside(name, path.Clean(name), MaxRecording)
	if err != nil {
		r.problem = err.Error()
		return r
	}
	r.sha256 = directory.Sum(data)
	if bytes.HasPrefix(data, []byte("{")) {
		r.Recording, err = record.Read(bytes.NewReader(data))
	} else {
		r.script = true
		r.Recording, err = readScript(string(data))
	}
	switch {
	case err != nil:
		r.problem = fmt.Sprintf("%s: %v", name, err)
	case len(r.Events) == 0:
		r.problem = fmt.Sprintf("%s: nothing was run: want a recording with statements", name)
	}
	return r
}

// readScript reads a script, or the output of the sqlite3 shell's .trace. Both consist of SQL
// statements. With --profile, .trace also prints how long each statement took.
func readScript(text string) (*record.Recording, error) {
	var list []record.Executed
	rest := text
	for {
		next := driver.TrimScript(rest)
		line := 1 + strings.Count(text[:len(text)-len(next)], "\n")
		rest = next
		if rest == "" {
			return record.FromStatements(list), nil
		}
		n := driver.StatementLen(rest)
		switch {
		case rest[0] == '.':
			return nil, fmt.Errorf("line %d: %.20q is a command of the sqlite3 shell, not SQL: leave it out", line, strings.Fields(rest)[0])
		case strings.ContainsRune(rest[:n], 0):
			return nil, fmt.Errorf("line %d: it has a NUL byte: want a recording, a script, or what .trace prints", line)
		case len(list) == plan.MaxReplayed:
			return nil, fmt.Errorf("line %d: there are more than %d statements: cut the file", line, plan.MaxReplayed)
		}
		if word := firstWord(rest[:n]); !slices.Contains(beginnings, strings.ToUpper(word)) {
			return nil, fmt.Errorf("line %d: %.20q begins no statement of SQL: want a recording, a script, or what .trace prints", line, cmp.Or(word, rest[:n]))
		}
		x := record.Executed{SQL: strings.TrimRight(rest[:n], "; \t\r\n")}
		rest = rest[n:]
		end, _, _ := strings.Cut(rest, "\n")
		if took, ok := profiled(end); ok {
			x.Took = took
			// With both --stmt and --profile, the shell prints a statement before and after it runs, so the
			// first copy is removed.
			if last := len(list) - 1; last >= 0 && list[last] == (record.Executed{SQL: x.SQL}) {
				list = list[:last]
			}
		}
		list = append(list, x)
	}
}

// beginnings are the words that SQLite's statements begin with.
var beginnings = []string{
	"ALTER", "ANALYZE", "ATTACH", "BEGIN", "COMMIT", "CREATE", "DELETE", "DETACH", "DROP", "END", "EXPLAIN", "INSERT",
	"PRAGMA", "REINDEX", "RELEASE", "REPLACE", "ROLLBACK", "SAVEPOINT", "SELECT", "UPDATE", "VACUUM", "VALUES", "WITH",
}

// profiled reads a comment of .trace --profile, such as "-- 1234 ns", the time of a statement. It returns
// false for any other comment.
func profiled(comment string) (time.Duration, bool) {
	ns, ok := strings.CutPrefix(strings.TrimSpace(comment), "-- ")
	if !ok {
		return 0, false
	}
	if ns, ok = strings.CutSuffix(ns, " ns"); !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(ns, 10, 64)
	return time.Duration(n), err == nil && n >= 0
}
