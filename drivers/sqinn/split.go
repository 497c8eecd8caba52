package sqinn

import "strings"

// statement is the length of the first statement of a script, its semicolon
// included. The library takes one at a time, and ignores what follows. Where a
// statement ends is decided as by https://www.sqlite.org/c3ref/complete.html:
// at a semicolon, but CREATE TRIGGER at one that follows on a semicolon and END.
func statement(sql string) int {
	var head []string // the first words, which tell a trigger
	end := 0          // tokens seen of the end of a trigger's body: semicolon, END
	for i := 0; i < len(sql); {
		n, kind := token(sql[i:])
		word := sql[i : i+n]
		i += n
		switch {
		case kind == space:
		case kind == semicolon && (!isTrigger(head) || end == 2):
			return i
		case kind == semicolon:
			end = 1
		case end == 1 && strings.EqualFold(word, "END"):
			end = 2
		default:
			end = 0
			if len(head) < 6 {
				head = append(head, strings.ToUpper(word))
			}
		}
	}
	return len(sql)
}

// isTrigger reports whether a statement that begins with these words is a
// CREATE TRIGGER, perhaps explained.
func isTrigger(head []string) bool {
	skip := func(words ...string) bool {
		for _, w := range words {
			if len(head) > 0 && head[0] == w {
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

// The kinds of tokens.
const (
	space = iota // and comments
	semicolon
	other
)

// token is the length of the token that sql begins with.
func token(sql string) (n, kind int) {
	// until is the length up to the end of what stop closes.
	until := func(from int, stop string) int {
		if i := strings.Index(sql[from:], stop); i >= 0 {
			return from + i + len(stop)
		}
		return len(sql)
	}
	switch c := sql[0]; {
	case c == ';':
		return 1, semicolon
	case strings.ContainsRune(" \t\n\v\f\r", rune(c)):
		return 1, space
	case strings.HasPrefix(sql, "--"):
		return until(2, "\n"), space
	case strings.HasPrefix(sql, "/*"):
		return until(2, "*/"), space
	case c == '\'' || c == '"' || c == '`':
		return until(1, string(c)), other // a doubled quote is two tokens, to the same end
	case c == '[':
		return until(1, "]"), other
	case !inWord(c):
		return 1, other
	}
	for n < len(sql) && inWord(sql[n]) {
		n++
	}
	return n, other
}

func inWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
