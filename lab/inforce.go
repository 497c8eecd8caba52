package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/result"
)

// afterSchema is what has run before the first phase, as messages have it.
const afterSchema = "the schema"

// readBack sees that the settings have been read back since the schema or the last
// phase, before an answer of this type.
func (s *session) readBack(typ string) error {
	if s.unread == "" || !slices.Contains([]string{worker.TypePhase, worker.TypeSample, worker.TypeServed, worker.TypeDone}, typ) {
		return nil
	}
	s.fail(result.Failed, "protocol", "the worker answered %q without having read the settings back after %s", typ, s.unread)
	return errEnough
}

// settings holds what every connection answered after the schema, or after a phase,
// against what must be in force.
func (s *session) settings(a *worker.Response) error {
	after := afterSchema
	if a.Phase != "" {
		after = "phase " + a.Phase
	}
	if after != s.unread {
		s.fail(result.Failed, "protocol", "the worker read the settings back after %s, which has not run or was read back before", after)
		return errEnough
	}
	s.unread = ""
	n := len(a.Connections)
	if want := s.want.Settings.PoolSize(); n < want {
		s.fail(result.Failed, "protocol", "the worker read back the settings of %d connections after %s, with a pool of %d", n, after, want)
		return errEnough
	}
	var first []change
	var bad []int
	for i, got := range a.Connections {
		if list := s.changes(got); len(list) > 0 {
			if bad = append(bad, i+1); first == nil {
				first = list
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	words := make([]string, len(first))
	for i, c := range first {
		words[i] = c.String()
	}
	s.fail(result.Refused, "setting", "%s, on %s, after %s: %s", strings.Join(words, "; "), which(bad, n), after, remedy(first))
	return errEnough
}

// change is a PRAGMA whose value is no longer the one that must be in force.
type change struct {
	driver.Mismatch
	asked bool // otherwise it is the library's own that has changed
}

func (c change) String() string {
	if c.asked {
		return c.Mismatch.String()
	}
	return fmt.Sprintf("%s: %s when it was opened, now %s", c.Setting, c.Wanted, c.Got)
}

// changes lists what is in force on one connection and should not be: another value
// than was asked for, or, where none was, than any connection had at first.
func (s *session) changes(got driver.Settings) []change {
	wanted := s.want.Settings.With(s.changed)
	var list []change
	for _, d := range driver.Vocabulary {
		if !d.Pragma {
			continue
		}
		var before []string
		w, asked := wanted[d.Name]
		if asked {
			before = []string{w}
		} else {
			for _, c := range s.trial.Proof.Connections {
				before = append(before, c[d.Name])
			}
		}
		if g := got[d.Name]; !slices.Contains(before, g) {
			list = append(list, change{driver.Mismatch{Setting: d.Name, Wanted: orNothing(before[0]), Got: orNothing(g)}, asked})
		}
	}
	return list
}

func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// which words the connections of n that differ.
func which(bad []int, n int) string {
	switch {
	case len(bad) == n && n > 1:
		return fmt.Sprintf("all %d connections", n)
	case len(bad) == 1 && n > 1:
		return fmt.Sprintf("connection %d of %d alone", bad[0], n)
	case len(bad) == 1:
		return "the connection"
	}
	return fmt.Sprintf("%d connections of %d, first on connection %d", len(bad), n, bad[0])
}

// remedy says what to do about settings that have changed.
func remedy(list []change) string {
	var flags []string
	for _, c := range list {
		flags = append(flags, "--set "+c.Setting+"="+c.Got)
	}
	return fmt.Sprintf("remove the PRAGMA that changes it, or ask for it on every connection with %s", strings.Join(flags, " "))
}
