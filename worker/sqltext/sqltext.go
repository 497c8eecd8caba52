// Package sqltext splits SQL into tokens like SQLite's own tokenizer. Code that looks for words in
// SQL should search the tokens instead of the text, because the text also has words in string
// literals and comments. Package record has a smaller tokenizer, because it must not require
// another module. Both tokenizers are tested with testdata/tokens.json.
package sqltext

import (
	"iter"
	"slices"
	"strings"
)

// Kind is the kind of a token of SQL.
type Kind int

// The kinds of tokens. See https://sqlite.org/src/file/src/tokenize.c.
const (
	Space     Kind = iota // white space, a byte order mark
	Comment               // -- and the rest of its line (without the line break), or /* … */
	Word                  // a keyword, or a name that is not in quotes
	Name                  // "…", […] or `…`
	Text                  // '…'
	Blob                  // x'…'
	Number                // an integer or a real number
	Parameter             // ?, ?1, :a, @a, $a, $a::b(c), #a
	Operator              // punctuation, such as ( or ||
	Illegal               // a token that no statement can have, such as a text without an end
)

// Token is a token of SQL, as SQLite reads it.
type Token struct {
	Kind Kind
	Text string
	At   int // offset in the SQL, in bytes
}

// Tokens returns the tokens of sql without white space and comments.
func Tokens(sql string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for at := 0; at < len(sql); {
			n, kind := Next(sql[at:])
			if kind > Comment && !yield(Token{kind, sql[at : at+n], at}) {
				return
			}
			at += n
		}
	}
}

// All returns the tokens of sql with white space and comments.
func All(sql string) (list []Token) {
	for at := 0; at < len(sql); {
		n, kind := Next(sql[at:])
		list = append(list, Token{kind, sql[at : at+n], at})
		at += n
	}
	return list
}

// Next returns the length in bytes and the kind of the first token of sql, which must not be
// empty. A text or comment without an end extends to the end of sql.
func Next(sql string) (n int, kind Kind) {
	at := func(i int) byte {
		if i < len(sql) {
			return sql[i]
		}
		return 0
	}
	switch c := sql[0]; c {
	case ' ', '\t', '\n', '\f', '\r':
		for n = 1; n < len(sql) && isSpace(sql[n]); n++ {
		}
		return n, Space
	case '-':
		if at(1) == '-' {
			if n = strings.IndexByte(sql, '\n'); n < 0 {
				n = len(sql)
			}
			return n, Comment
		}
		if at(1) == '>' && at(2) == '>' {
			return 3, Operator
		}
		if at(1) == '>' { // old versions of SQLite read two tokens here, and then refuse the statement
			return 2, Operator
		}
		return 1, Operator
	case '/':
		if at(1) == '*' && len(sql) > 2 {
			return until(sql, 2, "*/"), Comment
		}
		return 1, Operator
	case '\'':
		return quoted(sql, 0, Text)
	case '"', '`':
		return quoted(sql, 0, Name)
	case '[':
		if n = strings.IndexByte(sql, ']'); n < 0 {
			return len(sql), Illegal
		}
		return n + 1, Name
	case '?':
		for n = 1; isDigit(at(n)); n++ {
		}
		return n, Parameter
	case '$', '@', '#', ':':
		return parameter(sql)
	case '.':
		if isDigit(at(1)) {
			return number(sql)
		}
		return 1, Operator
	case 'x', 'X':
		if at(1) == '\'' {
			return blob(sql)
		}
	case '|', '<', '>', '=', '!':
		switch two := string([]byte{c, at(1)}); two {
		case "||", "<=", "<>", "<<", ">=", ">>", "==", "!=":
			return 2, Operator
		}
		if c == '!' {
			return 1, Illegal
		}
		return 1, Operator
	case '(', ')', ';', '+', '*', '%', ',', '&', '~':
		return 1, Operator
	case 0xef:
		if strings.HasPrefix(sql, byteOrderMark) {
			return len(byteOrderMark), Space
		}
	}
	switch c := sql[0]; {
	case isDigit(c):
		return number(sql)
	case c != '$' && inWord(c):
		for n = 1; n < len(sql) && inWord(sql[n]); n++ {
		}
		return n, Word
	}
	return 1, Illegal
}

// quoted reads a token. The token's opening quote is at sql[from]. A doubled quote does not end the
// token.
func quoted(sql string, from int, kind Kind) (int, Kind) {
	quote := sql[from]
	for n := from + 1; ; n += 2 {
		i := strings.IndexByte(sql[n:], quote)
		if i < 0 {
			return len(sql), Illegal
		}
		n += i
		if n+1 == len(sql) || sql[n+1] != quote {
			return n + 1, kind
		}
	}
}

func blob(sql string) (n int, kind Kind) {
	for n = 2; n < len(sql) && isHex(sql[n]); n++ {
	}
	if n < len(sql) && sql[n] == '\'' && n%2 == 0 {
		return n + 1, Blob
	}
	if i := strings.IndexByte(sql[n:], '\''); i >= 0 {
		return n + i + 1, Illegal
	}
	return len(sql), Illegal
}

// parameter reads a named parameter. The name may also be the name of a Tcl variable. Such a name
// may contain "::" and end with an index in parentheses. The index may contain all characters
// except white space.
func parameter(sql string) (n int, kind Kind) {
	letters := 0
	for n = 1; n < len(sql); n++ {
		switch c := sql[n]; {
		case inWord(c):
			letters++
			continue
		case c == '(' && letters > 0:
			for n++; n < len(sql) && !isSpace(sql[n]) && sql[n] != ')' && sql[n] != 0; n++ {
			}
			if n < len(sql) && sql[n] == ')' {
				return n + 1, Parameter
			}
			return n, Illegal
		case strings.HasPrefix(sql[n:], "::"):
			n++
			continue
		}
		break
	}
	if letters == 0 {
		return n, Illegal
	}
	return n, Parameter
}

func number(sql string) (n int, kind Kind) {
	// New versions of SQLite allow _ between digits. Their tokenizer takes every _ as part of
	// the number, and they later refuse a number with _ in another place. For old versions, a
	// number with _ is an illegal token.
	digits := func(is func(byte) bool) {
		for n < len(sql) && (is(sql[n]) || sql[n] == '_') {
			n++
		}
	}
	if len(sql) > 2 && sql[0] == '0' && sql[1]|0x20 == 'x' && isHex(sql[2]) {
		n = 2
		digits(isHex)
	} else {
		digits(isDigit)
		if n < len(sql) && sql[n] == '.' {
			n++
			digits(isDigit)
		}
		if n+1 < len(sql) && sql[n]|0x20 == 'e' {
			sign := 0
			if sql[n+1] == '+' || sql[n+1] == '-' {
				sign = 1
			}
			if n+1+sign < len(sql) && isDigit(sql[n+1+sign]) {
				n += 1 + sign
				digits(isDigit)
			}
		}
	}
	kind = Number
	for ; n < len(sql) && inWord(sql[n]); n++ {
		kind = Illegal
	}
	return n, kind
}

// The function "until" looks for the first occurrence of the text "stop" in sql[from:]. It returns
// the length of sql up to the end of that occurrence, or the whole length of sql if there is none.
func until(sql string, from int, stop string) int {
	if i := strings.Index(sql[from:], stop); i >= 0 {
		return from + i + len(stop)
	}
	return len(sql)
}

const byteOrderMark = "\xef\xbb\xbf"

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func inWord(c byte) bool {
	return c == '_' || c == '$' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// Named reports whether the token, without its quotes, is one of the names in the list. It ignores
// case.
func (t Token) Named(list ...string) bool {
	return slices.ContainsFunc(list, func(name string) bool { return strings.EqualFold(name, t.Unquoted()) })
}

// Is reports whether the token is one of the words or operators in the list. It ignores case.
func (t Token) Is(list ...string) bool {
	return (t.Kind == Word || t.Kind == Operator) && t.Named(list...)
}

// Unquoted returns the content of a text or a name in quotes. A doubled quote in the content
// becomes a single one. Other tokens are returned unchanged.
func (t Token) Unquoted() string {
	if t.Kind != Text && t.Kind != Name {
		return t.Text
	}
	inside, quote := t.Text[1:len(t.Text)-1], t.Text[:1]
	if quote == "[" {
		return inside
	}
	return strings.ReplaceAll(inside, quote+quote, quote)
}
