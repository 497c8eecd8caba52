package workload

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/record"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// shape has the properties of a recorded statement that all its executions share.
type shape struct {
	number   int
	sql      string
	script   bool
	reads    bool
	changes  bool
	writes   bool
	controls bool                   // the statement begins or ends a transaction or savepoint
	why      string                 // why the statement cannot be replayed, or ""
	args     []argument             // the recorded parameter for each "?"
	types    []map[driver.Type]bool // types that the values of each "?" had
	features []string               // features that the statement needs; nil once the replayer has noted them
}

// argument identifies a parameter by its number, from 1, or by its name.
type argument struct {
	number int
	name   string
}

// of finds the argument's value among the parameters of an event. The result "ok" is false if the
// event has no such parameter.
func (a argument) of(args []record.Arg) (record.Arg, bool) {
	if a.name != "" {
		for _, arg := range args {
			if arg.Name == a.name {
				return arg, true
			}
		}
	}
	if a.number > len(args) || args[a.number-1].Name != "" {
		return record.Arg{}, false
	}
	return args[a.number-1], true
}

// bound returns the type that a recorded parameter is bound as.
func bound(t string) driver.Type {
	switch t {
	case "real":
		return driver.Real
	case "text", "time":
		return driver.Text
	case "blob":
		return driver.Blob
	}
	return driver.Int
}

// shape returns the properties of a statement. It analyzes each statement only once.
func (r *replayer) shape(st *record.Statement) *shape {
	if s := r.shapes[st]; s != nil {
		return s
	}
	s := &shape{number: len(r.shapes)}
	r.shapes[st] = s
	text := driver.TrimScript(st.SQL)
	if text == "" {
		s.why = "have no statement"
		return s
	}
	s.sql = strings.TrimRight(text[:driver.StatementLen(text)], "; \t\r\n")
	s.script = driver.TrimScript(text[driver.StatementLen(text):]) != ""
	if s.script {
		s.sql = text
	}
	what, _ := outside(text)
	r.reaches = r.reaches || what != "" && r.w.files
	if what != "" && !r.w.files {
		s.why = fmt.Sprintf("reach files other than the workload's own database (%s)", what)
	} else if set := pragmaSettings(text); len(set) > 0 {
		s.why = fmt.Sprintf("are PRAGMAs that change settings: write them under settings, such as %s: %s", set[0].name, set[0].value)
		for _, p := range set {
			if p.name == "foreign_keys" {
				r.foreignKeys = p.value
			}
		}
	}
	r.references = r.references || hasReferences(text)
	if s.why == "" {
		s.features = FeaturesOf(text)
	}
	if s.script || s.why != "" {
		s.writes = s.script
		return s
	}
	s.sql, s.args = unnumbered(s.sql)
	for range s.args {
		s.types = append(s.types, map[driver.Type]bool{})
	}
	s.reads, s.changes = driver.ReturnsRows(s.sql), changesRows(s.sql)
	s.writes, s.controls = effect(s.sql, s.reads)
	return s
}

// unnumbered replaces every parameter of a statement with a plain "?". For each "?" it returns the parameter
// whose value the "?" takes. In SQLite, each parameter has a number. Parameters with the same name have the
// same number. A "?" gets the number after the greatest number before it in the statement
// (https://www.sqlite.org/lang_expr.html#varparam).
func unnumbered(sql string) (string, []argument) {
	var out strings.Builder
	var args []argument
	numbers := map[string]int{}
	greatest := 0
	for rest := sql; rest != ""; {
		n, kind := sqltext.Next(rest)
		text := rest[:n]
		rest = rest[n:]
		if kind != sqltext.Parameter || text[0] == '#' {
			out.WriteString(text)
			continue
		}
		a := argument{}
		number, err := strconv.Atoi(text[1:])
		switch {
		case text == "?":
			a.number = greatest + 1
		case text[0] == '?' && err == nil && number > 0:
			a.number = number
		default:
			if a.number = numbers[text]; a.number == 0 {
				a.number = greatest + 1
				numbers[text] = a.number
			}
			a.name = text[1:]
		}
		greatest = max(greatest, a.number)
		args = append(args, a)
		out.WriteString("?")
	}
	return out.String(), args
}

// changesRows reports whether SQLite counts the rows that a statement changes.
func changesRows(sql string) bool {
	switch strings.ToUpper(firstWord(sql)) {
	case "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH":
		return true
	}
	return false
}

// maxOperationName is the length of the longest name of an operation.
const maxOperationName = 40

// operationName returns a statement's first word and the first table that it names, such as
// "SELECT users".
func operationName(sql string) string {
	name := strings.ToUpper(firstWord(sql))
	after := map[string]string{"SELECT": "FROM", "WITH": "FROM", "INSERT": "INTO", "REPLACE": "INTO", "DELETE": "FROM", "UPDATE": "UPDATE"}[name]
	if after == "" {
		return short(name)
	}
	found, or := false, false
	for token := range sqltext.Tokens(sql) {
		switch {
		case !found:
			found = token.Is(after)
		case or:
			or = false // this token is the word after OR, such as IGNORE; it is not the table
		case name == "UPDATE" && token.Is("OR"):
			or = true
		case token.Text == "(":
			return short(name)
		default:
			return short(name + " " + token.Unquoted())
		}
	}
	return short(name)
}

// short shortens a name and replaces characters in it, so that tables and commands can show it.
func short(name string) string {
	name = strings.Map(func(c rune) rune {
		if c < ' ' || strings.ContainsRune("./,", c) {
			return '_'
		}
		return c
	}, strings.ToValidUTF8(name, "_"))
	if r := []rune(name); len(r) > maxOperationName {
		name = string(r[:maxOperationName])
	}
	return name
}
