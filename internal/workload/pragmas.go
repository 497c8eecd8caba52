package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// pragmaSetting is a setting to which a PRAGMA gives a value.
type pragmaSetting struct {
	name, value string // the value is in canonical form if it is valid
}

// pragmaSettings returns the settings that the PRAGMAs of a script change, in order.
// PRAGMAs that don't change a setting are left out.
func pragmaSettings(sql string) (list []pragmaSetting) {
	var words [8]string // room for 8 words: the 7 words of PRAGMA schema . name = - value, and one more
	statement := words[:0]
	end := func() {
		if len(statement) > 0 && strings.EqualFold(statement[0], "PRAGMA") {
			if s, ok := pragmaSets(statement[1:]); ok {
				list = append(list, s)
			}
		}
		statement = statement[:0]
	}
	for token := range sqltext.Tokens(sql) {
		if token.Text == ";" {
			end()
		} else if len(statement) < len(words) {
			statement = append(statement, token.Unquoted())
		}
	}
	end()
	return list
}

// pragmaSets reads the words of a PRAGMA that sets a value: name = value, or name (value). The
// result "ok" is false if the PRAGMA sets no value, or if its name is not the name of a setting.
func pragmaSets(words []string) (s pragmaSetting, ok bool) {
	if len(words) > 2 && words[1] == "." {
		words = words[2:]
	}
	if len(words) < 3 || words[1] != "=" && words[1] != "(" {
		return s, false
	}
	def, known := driver.LookupSetting(strings.ToLower(words[0]))
	if !known || !def.Pragma {
		return s, false
	}
	s = pragmaSetting{def.Name, words[2]}
	if len(words) > 3 && (words[2] == "-" || words[2] == "+") {
		s.value = strings.TrimPrefix(words[2], "+") + words[3]
	}
	if v, err := def.Canonical(s.value); err == nil {
		s.value = v
	}
	return s, true
}

// undeclared checks the values that the most recently read SQL gives to settings (see l.pragmas). It
// adds a warning for each value that the workload neither requests nor declares. A run refuses such
// a change of a setting.
func (l *resolver) undeclared(n *yaml.Node, kind string) {
	last := map[string]string{}
	for _, s := range l.pragmas {
		last[s.name] = s.value
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		value := shortened(last[name], maxQuoted)
		instead, before := "if that changes it", l.declared[name]
		switch {
		case before == last[name]:
			continue
		case before != "":
			instead = "because it was " + before
		}
		remedy := "leave the PRAGMA out"
		if kind == "schema" || kind == "script" {
			remedy = fmt.Sprintf("write changes settings: {%s: %s}, or %s", name, value, remedy)
		}
		l.warnf(n, "%s: PRAGMA %s makes it %s, which a run refuses %s: %s", kind, name, value, instead, remedy)
	}
}

// steady reports a problem if a timed phase gives two values to a setting. The first value is in
// force for part of the phase, but a worker reads back only the last value.
func (l *resolver) steady(n *yaml.Node) {
	first := map[string]string{}
	for _, s := range l.pragmas {
		switch v, before := first[s.name]; {
		case !before:
			first[s.name] = s.value
		case v != s.value:
			l.errorf(n, "PRAGMA %s sets %s and then %s in one timed phase, so its time belongs to neither: leave one out, or write several phases",
				s.name, v, s.value)
			return
		}
	}
}
