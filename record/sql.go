package record

import "strings"

// control is the effect of a statement on a transaction.
type control uint8

const (
	controlNone      control = iota
	controlBegin             // BEGIN
	controlEnd               // COMMIT, END, ROLLBACK
	controlSavepoint         // SAVEPOINT, which begins a transaction if there is none
	controlRelease           // RELEASE, which ends the transaction if its savepoint began it
)

// controlOf returns the effect of a statement on a transaction, and the name of the savepoint
// in the statement, if any.
func controlOf(sql string) (control, string) {
	first, rest := nextToken(sql)
	switch strings.ToUpper(first) {
	case "BEGIN":
		return controlBegin, ""
	case "COMMIT", "END":
		return controlEnd, ""
	case "ROLLBACK":
		for w, rest := nextToken(rest); w != ""; w, rest = nextToken(rest) {
			if strings.EqualFold(w, "TO") {
				return controlNone, ""
			}
		}
		return controlEnd, ""
	case "SAVEPOINT":
		name, _ := nextToken(rest)
		return controlSavepoint, strings.ToLower(name)
	case "RELEASE":
		name, rest := nextToken(rest)
		if strings.EqualFold(name, "SAVEPOINT") {
			name, _ = nextToken(rest)
		}
		return controlRelease, strings.ToLower(name)
	}
	return controlNone, ""
}

// savepoints are the names of the open savepoints of a transaction, the oldest first. If BEGIN began
// the transaction, the first name is "".
type savepoints []string

// after notes a statement that has succeeded. It reports whether the statement has released the
// savepoint that began the transaction. RELEASE ends the newest savepoint with its name, and all
// savepoints after that one.
func (s *savepoints) after(c control, name string) (over bool) {
	switch c {
	case controlBegin:
		*s = savepoints{""}
	case controlSavepoint:
		*s = append(*s, name)
	case controlRelease:
		for i := len(*s) - 1; i >= 0; i-- {
			if (*s)[i] == name {
				*s = (*s)[:i]
				return i == 0
			}
		}
	}
	return false
}

// nextToken returns the first token of SQL and the text after it. It skips space and comments. At
// the end of the SQL it returns "".
func nextToken(sql string) (first, rest string) {
	for sql != "" {
		n, space := tokenLength(sql)
		if !space {
			return sql[:n], sql[n:]
		}
		sql = sql[n:]
	}
	return "", ""
}

// tokenLength measures the first token of the SQL in s, which must not be "". It also reports whether the
// token is white space or a comment. A token without an end, such as a text without its closing quote,
// extends to the end of the SQL. Words, parameters and quoted texts are tokens. Any other byte is a
// token by itself.
func tokenLength(s string) (n int, space bool) {
	until := func(from int, end string) int {
		if n := strings.Index(s[min(from, len(s)):], end); n >= 0 {
			return from + n + len(end)
		}
		return len(s)
	}
	switch c := s[0]; {
	case strings.IndexByte(" \t\r\n\f", c) >= 0:
		// SQLite accepts \v within white space, but not at its beginning.
		return len(s) - len(strings.TrimLeft(s, " \t\r\n\f\v")), true
	case strings.HasPrefix(s, "\uFEFF"):
		return len("\uFEFF"), true
	case strings.HasPrefix(s, "--"):
		return until(2, "\n"), true
	case strings.HasPrefix(s, "/*") && len(s) > 2:
		return until(2, "*/"), true
	case c == '[':
		return until(1, "]"), false
	case c == '\'' || c == '"' || c == '`':
		// A doubled quote does not end the text.
		n := until(1, s[:1])
		for n < len(s) && s[n] == c {
			n = until(n+1, s[:1])
		}
		return n, false
	case strings.IndexByte("?:@$#", c) >= 0 || wordByte(c):
		n := 1
		for n < len(s) && (wordByte(s[n]) || s[n] == '$') {
			n++
		}
		return n, false
	}
	return 1, false
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
