package imitate

import (
	"slices"
	"strings"
)

// token is a token of SQL, or the space before one.
type token struct {
	text string
	kind tokenKind
}

type tokenKind int

const (
	space tokenKind = iota
	comment
	word
	number
	quotedText // '…'
	quotedName // "…", […] and `…`
	blobText   // x'…'
	other
)

func (t token) is(words ...string) bool {
	return t.kind == word && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, t.text) })
}

// name returns what a token in quotes contains.
func (t token) name() string {
	if t.kind != quotedText && t.kind != quotedName || len(t.text) < 2 {
		return t.text
	}
	quote := t.text[len(t.text)-1:]
	return strings.ReplaceAll(t.text[1:len(t.text)-1], quote+quote, quote)
}

// tokenize splits SQL that SQLite has accepted.
func tokenize(text string) []token {
	var list []token
	for text != "" {
		n, kind := 1, other
		switch c := text[0]; {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			for n < len(text) && strings.IndexByte(" \t\r\n\f", text[n]) >= 0 {
				n++
			}
			kind = space
		case strings.HasPrefix(text, "--"):
			kind = comment
			if n = strings.IndexByte(text, '\n'); n < 0 {
				n = len(text)
			}
		case strings.HasPrefix(text, "/*"):
			kind = comment
			if n = strings.Index(text[2:], "*/") + 4; n < 4 {
				n = len(text)
			}
		case c == '\'' || c == '"' || c == '`' || c == '[':
			if kind = quotedName; c == '\'' {
				kind = quotedText
			}
			n = quotedLength(text)
		case (c == 'x' || c == 'X') && len(text) > 1 && text[1] == '\'':
			n, kind = 1+quotedLength(text[1:]), blobText
		case '0' <= c && c <= '9' || c == '.' && len(text) > 1 && '0' <= text[1] && text[1] <= '9':
			kind = number
			for n < len(text) && (wordByte(text[n]) || text[n] == '.' || (text[n] == '+' || text[n] == '-') && (text[n-1] == 'e' || text[n-1] == 'E') && !strings.HasPrefix(strings.ToLower(text), "0x")) {
				n++
			}
		case wordByte(c):
			kind = word
			for n < len(text) && (wordByte(text[n]) || text[n] == '$') {
				n++
			}
		}
		list = append(list, token{text[:n], kind})
		text = text[n:]
	}
	return list
}

// quotedLength returns the length of a text in quotes, in which a quote is doubled.
func quotedLength(text string) int {
	end := text[0]
	if end == '[' {
		end = ']'
	}
	for n := 1; n < len(text); n++ {
		if text[n] != end {
			continue
		}
		if end == ']' || n+1 == len(text) || text[n+1] != end {
			return n + 1
		}
		n++
	}
	return len(text)
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// significant returns the tokens without spaces and comments.
func significant(text string) []token {
	return slices.DeleteFunc(tokenize(text), func(t token) bool { return t.kind == space || t.kind == comment })
}

func join(list []token) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.text)
	}
	return b.String()
}

// preceding returns the index of the last token before at that is neither space nor comment,
// or -1.
func preceding(list []token, at int) int {
	for at--; at >= 0 && (list[at].kind == space || list[at].kind == comment); at-- {
	}
	return at
}

// following returns the index of the first token after at that is neither space nor comment,
// or len(list).
func following(list []token, at int) int {
	for at++; at < len(list) && (list[at].kind == space || list[at].kind == comment); at++ {
	}
	return at
}

// beginning returns where the constraint whose keyword is at begins, which is its name if it
// has one, and the index of the comma before it, or the same.
func beginning(list []token, at int) (begin, comma int) {
	begin = at
	if name := preceding(list, at); name > 0 && list[name].text != "," {
		if first := preceding(list, name); first >= 0 && list[first].is("CONSTRAINT") {
			begin = first
		}
	}
	if comma = preceding(list, begin); comma >= 0 && list[comma].text == "," {
		return begin, comma
	}
	return begin, begin
}

// cutWhere cuts CREATE INDEX before the WHERE of a partial index.
func cutWhere(text string) (before, condition string, found bool) {
	list := tokenize(text)
	depth := 0
	for i, t := range list {
		switch {
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case depth == 0 && t.is("WHERE"):
			return join(list[:i]), strings.TrimSpace(join(list[i+1:])), true
		}
	}
	return text, "", false
}
