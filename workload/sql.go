package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// positional replaces the parameters ":name" of one SQL statement with plain "?"
// and returns their names in order of occurrence. Strings, quoted identifiers and
// comments are left unchanged.
func positional(sql string) (rewritten string, names []string, err error) {
	var out strings.Builder
	begun, ended := false, false
	for i := 0; i < len(sql); {
		n, kind, err := nextToken(sql[i:])
		if err != nil {
			return "", nil, err
		}
		word := sql[i : i+n]
		i += n
		if kind == sqlSpace {
			out.WriteString(word)
			continue
		}
		if ended {
			return "", nil, fmt.Errorf("more than one statement: write one here, or use a script phase")
		}
		begun = begun || kind != sqlEnd
		switch kind {
		case sqlEnd:
			ended = begun
			continue
		case sqlName:
			names = append(names, word[1:])
			word = "?"
		case sqlOther:
			return "", nil, fmt.Errorf("bad parameter %q in SQL: want a name with a colon, such as :id", word)
		}
		out.WriteString(word)
	}
	if !begun {
		return "", nil, fmt.Errorf("no SQL statement: want one, such as SELECT id FROM users")
	}
	return strings.TrimSpace(out.String()), names, nil
}

type sqlKind int

const (
	sqlText  sqlKind = iota // keywords, identifiers, strings, operators
	sqlSpace                // white space and comments
	sqlName                 // :name
	sqlOther                // ?, ?1, @name, $name
	sqlEnd                  // ;
)

// nextToken measures the first token of s, which is not empty.
func nextToken(s string) (n int, kind sqlKind, err error) {
	switch c := s[0]; {
	case strings.IndexByte(" \t\r\n\f", c) >= 0:
		return 1, sqlSpace, nil
	case strings.HasPrefix(s, "--"):
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n + 1, sqlSpace, nil
		}
		return len(s), sqlSpace, nil
	case strings.HasPrefix(s, "/*"):
		if n := strings.Index(s[2:], "*/"); n >= 0 {
			return n + 4, sqlSpace, nil
		}
		return 0, 0, fmt.Errorf("comment without an end in SQL: want */")
	case strings.IndexByte("'\"`[", c) >= 0:
		end := c
		if c == '[' {
			end = ']'
		}
		// A doubled quote ends one string and begins the next, which has the
		// same effect.
		if n := strings.IndexByte(s[1:], end); n >= 0 {
			return n + 2, sqlText, nil
		}
		return 0, 0, fmt.Errorf("%c without an end in SQL: want %c", c, end)
	case c == ';':
		return 1, sqlEnd, nil
	case c == ':' || c == '@' || c == '$' || c == '?':
		n := 1
		for n < len(s) && wordByte(s[n]) {
			n++
		}
		switch {
		case c == ':' && n > 1 && (s[1] < '0' || s[1] > '9'):
			return n, sqlName, nil
		case c == ':' && n == 1:
			return n, sqlText, nil
		}
		return n, sqlOther, nil
	case wordByte(c):
		n := 1
		for n < len(s) && (wordByte(s[n]) || s[n] == '$') {
			n++
		}
		return n, sqlText, nil
	}
	return 1, sqlText, nil
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// reads reports whether a statement only reads, by its words: a SELECT or VALUES, perhaps
// behind WITH, in which no word names a statement that writes. A column that is called as
// such a statement has to be quoted.
func reads(sql string) bool {
	t := &sqlTokens{rest: sql}
	first, ok := t.next()
	if !ok || first.quoted || !first.names([]string{"SELECT", "VALUES", "WITH"}) {
		return false
	}
	if !first.names([]string{"WITH"}) {
		return true
	}
	var last sqlToken
	for token, ok := t.next(); ok; token, ok = t.next() {
		switch {
		case token.quoted:
		case token.names([]string{"INSERT", "UPDATE", "DELETE"}), token.names([]string{"REPLACE"}) && last.text == ")":
			return false // replace( is a function, too
		}
		last = token
	}
	return true
}

// OnlyReads reports whether no timed phase of a plan writes, as far as its SQL says.
func OnlyReads(p *plan.Plan) bool {
	writes := func(sql string) bool { return !reads(sql) }
	return !slices.ContainsFunc(p.Phases, func(ph plan.Phase) bool {
		switch {
		case ph.Untimed:
			return false
		case ph.Query != nil:
			return writes(ph.Query.SQL)
		case ph.Mix != nil:
			return slices.ContainsFunc(ph.Mix.Operations, func(o plan.Operation) bool {
				return slices.ContainsFunc(o.Calls, func(c plan.MixCall) bool { return writes(c.SQL) })
			})
		case ph.Replay != nil:
			return slices.ContainsFunc(ph.Replay.Statements, func(s plan.Replayed) bool { return s.Do == "" && (s.Script || writes(s.SQL)) })
		}
		return true
	})
}

// firstWord returns the word that a statement begins with.
func firstWord(sql string) string {
	t := &sqlTokens{rest: sql}
	token, _ := t.next()
	return token.text
}
