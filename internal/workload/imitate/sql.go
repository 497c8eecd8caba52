package imitate

import (
	"iter"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// token is a token of SQL, a space or a comment. SQLite has accepted the SQL.
type token = sqltext.Token

// significant returns the tokens without spaces and comments.
func significant(text string) []token {
	return slices.Collect(sqltext.Tokens(text))
}

func join(list []token) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.Text)
	}
	return b.String()
}

// preceding returns the index of the last token in list[:at] that is neither space nor comment,
// or -1 if there is none.
func preceding(list []token, at int) int {
	for at--; at >= 0 && list[at].Kind <= sqltext.Comment; at-- {
	}
	return at
}

// following returns the index of the first token in list[at+1:] that is neither space nor
// comment, or len(list) if there is none.
func following(list []token, at int) int {
	for at++; at < len(list) && list[at].Kind <= sqltext.Comment; at++ {
	}
	return at
}

// before returns the token with the index that preceding returns, or an empty token if there is none.
func before(list []token, at int) token {
	if at = preceding(list, at); at >= 0 {
		return list[at]
	}
	return token{}
}

// after returns the token with the index that following returns, or an empty token if there is none.
func after(list []token, at int) token {
	if at = following(list, at); at < len(list) {
		return list[at]
	}
	return token{}
}

// beginning returns the index at which a constraint begins. The parameter "at" is the index of the
// constraint's keyword. A constraint that has a name begins with the name. The result "comma" is
// the index of the comma before the constraint. If there is no comma, it is equal to the result
// "begin".
func beginning(list []token, at int) (begin, comma int) {
	begin = at
	if name := preceding(list, at); before(list, at).Text != "," && before(list, name).Is("CONSTRAINT") {
		begin = preceding(list, name)
	}
	if comma = preceding(list, begin); comma >= 0 && list[comma].Text == "," {
		return begin, comma
	}
	return begin, begin
}

// outer returns an iterator over the tokens that are not in parentheses, with their indexes in the
// list.
func outer(list []token) iter.Seq2[int, token] {
	return func(yield func(int, token) bool) {
		depth := 0
		for i, t := range list {
			switch {
			case t.Text == "(":
				depth++
			case t.Text == ")":
				depth--
			case depth == 0 && !yield(i, t):
				return
			}
		}
	}
}

// elements returns the parts of a list in SQL: the tokens between the first parenthesis and the
// parenthesis that closes it, split at the commas. It returns nil if there are no parentheses.
func elements(list []token) (parts [][]token) {
	open := slices.IndexFunc(list, func(t token) bool { return t.Text == "(" })
	if open < 0 {
		return nil
	}
	list = inside(list, open)
	from := 0
	for i, t := range outer(list) {
		if t.Text == "," {
			parts, from = append(parts, list[from:i]), i+1
		}
	}
	return append(parts, list[from:])
}

// whereOf returns the condition of a partial index, given its CREATE INDEX statement.
func whereOf(text string) string {
	list := sqltext.All(text)
	for i, t := range outer(list) {
		if t.Is("WHERE") {
			return strings.TrimSpace(join(list[i+1:]))
		}
	}
	return ""
}
