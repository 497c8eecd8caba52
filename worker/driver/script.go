package driver

import (
	"iter"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// scriptPiece is the largest number of bytes of a script that a library gets at once, unless a
// single statement is longer. Scripts are cut because some libraries copy the rest of a script
// for each statement.
const scriptPiece = 4 << 10

// ScriptPieces cuts a script into pieces of whole statements, in order. Each piece has as many
// statements as fit into 4 KiB, at least one. A VACUUM that [PlainVacuum] accepts is a separate piece.
// The last piece includes any comment after the last statement. Some libraries copy the rest of a script
// for each statement. With pieces, these libraries take time in proportion to the script's length, not
// to its square.
func ScriptPieces(sql string) iter.Seq[string] {
	return func(yield func(string) bool) {
		vacuums := hasWord(sql, "vacuum")
		vacuum := func(statement string) bool {
			_, ok := PlainVacuum(statement)
			return vacuums && ok
		}
		for len(sql) > scriptPiece || vacuums && sql != "" {
			n, _ := nextStatement(sql)
			for n < len(sql) {
				next, last := nextStatement(sql[n:])
				if !last && (n+next > scriptPiece || vacuum(sql[:n]) || vacuum(sql[n:n+next])) {
					break
				}
				n += next
			}
			if !yield(sql[:n]) {
				return
			}
			sql = sql[n:]
		}
		if sql != "" {
			yield(sql)
		}
	}
}

// nextStatement returns the length of the first statement of a script together with the white space
// and comments before it. The result "none" is true if the script has no statement.
func nextStatement(sql string) (n int, none bool) {
	rest := TrimScript(sql)
	return len(sql) - len(rest) + StatementLen(rest), rest == ""
}

// TrimScript removes white space, comments and empty statements from the beginning of sql. So a
// library that prepares one statement after the other never gets an empty statement.
func TrimScript(sql string) string {
	for sql != "" {
		n, kind := sqltext.Next(sql)
		if kind > sqltext.Comment && sql[0] != ';' {
			break
		}
		sql = sql[n:]
	}
	return sql
}

// StatementLen returns the length of the first statement of a script, including its semicolon. A
// statement ends at a semicolon. A CREATE TRIGGER ends at a semicolon that follows another semicolon and
// END. See https://www.sqlite.org/c3ref/complete.html.
func StatementLen(sql string) int {
	var words [6]string // the first words, which identify a trigger
	head := words[:0]
	end := 0 // how many of the two tokens that end a trigger's body, a semicolon and END, have been seen
	for i := 0; i < len(sql); {
		n, kind := sqltext.Next(sql[i:])
		word := sql[i : i+n]
		i += n
		switch {
		case kind <= sqltext.Comment:
		case word == ";" && (end == 2 || !isTrigger(head)):
			return i
		case word == ";":
			end = 1
		case end == 1 && strings.EqualFold(word, "END"):
			end = 2
		default:
			end = 0
			if len(head) < len(words) {
				head = append(head, word)
			}
		}
	}
	return len(sql)
}

// isTrigger reports whether a statement that begins with the words in "head" is a CREATE TRIGGER,
// or an EXPLAIN of a CREATE TRIGGER.
func isTrigger(head []string) bool {
	skip := func(words ...string) bool {
		for _, w := range words {
			if len(head) > 0 && strings.EqualFold(head[0], w) {
				head = head[1:]
				return true
			}
		}
		return false
	}
	if skip("EXPLAIN") && skip("QUERY") {
		skip("PLAN")
	}
	if !skip("CREATE") {
		return false
	}
	skip("TEMP", "TEMPORARY")
	return skip("TRIGGER")
}

// Quote returns a name as an SQL identifier.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
