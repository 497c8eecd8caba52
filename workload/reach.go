package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The elements of SQL that can reach files other than the trial's own database.
var (
	// outsideFunctions read, write or load files in libraries that have them.
	outsideFunctions = []string{"load_extension", "readfile", "writefile", "fts3_tokenizer", "fsdir", "zipfile", "lines_read"}

	// outsidePragmas determine where files go, or allow writing a schema that SQLite
	// has not parsed as SQL.
	outsidePragmas = []string{"temp_store_directory", "data_store_directory", "lock_proxy_file", "writable_schema"}

	// insideModules are the modules of virtual tables that stay within the database.
	insideModules = []string{"fts3", "fts4", "fts5", "fts4aux", "fts3tokenize", "fts5vocab", "rtree", "rtree_i32", "geopoly", "dbstat", "vec0"}
)

// outside finds the first thing in a script that reaches files other than the
// trial's own database, and its line, counted from 0. If there is none, what is "".
//
// It splits SQL into the same tokens as SQLite, because nothing else distinguishes an
// ATTACH statement from a text that contains the word. If versions of SQLite read
// different tokens, it assumes that the statement reaches out.
func outside(sql string) (what string, line int) {
	t := &sqlTokens{rest: sql}
	var statement []sqlToken
	for {
		token, ok := t.next()
		if !ok || token.text == ";" {
			if what := statementOutside(statement); what != "" {
				return what, strings.Count(sql[:statement[0].at], "\n")
			}
			if statement = statement[:0]; !ok {
				return "", 0
			}
			continue
		}
		if what := tokenOutside(token); what != "" {
			return what, strings.Count(sql[:token.at], "\n")
		}
		statement = append(statement, token)
		if n := len(statement); n > 1 && token.text == "(" && statement[n-2].names(outsideFunctions) {
			return statement[n-2].text + "()", strings.Count(sql[:token.at], "\n")
		}
		if len(statement) > longestHead { // the beginning or the last token decides
			statement = append(statement[:longestHead-1], token)
		}
	}
}

// longestHead exceeds the number of tokens that decide about a statement, of which
// the longest is CREATE VIRTUAL TABLE IF NOT EXISTS main . name USING module.
const longestHead = 16

// statementOutside returns how a statement reaches out, given its first tokens.
func statementOutside(s []sqlToken) string {
	if len(s) == 0 || s[0].quoted {
		return ""
	}
	word := func(i int, word string) bool {
		return i < len(s) && !s[i].quoted && strings.EqualFold(s[i].text, word)
	}
	switch {
	case word(0, "ATTACH"):
		i := 1
		if word(i, "DATABASE") {
			i++
		}
		if i < len(s) && (s[i].text == "''" || s[i].text == "':memory:'") && word(i+1, "AS") {
			return ""
		}
		return "ATTACH"
	case word(0, "VACUUM"):
		for i := range s {
			if word(i, "INTO") {
				return "VACUUM INTO"
			}
		}
	case word(0, "PRAGMA"):
		for _, t := range s[1:min(len(s), 4)] { // schema . name
			if t.names(outsidePragmas) {
				return "PRAGMA " + t.name()
			}
		}
	case word(0, "CREATE") && word(1, "VIRTUAL"):
		for i := range s {
			if word(i, "USING") && i+1 < len(s) && !s[i+1].names(insideModules) {
				return "a virtual table of the module " + s[i+1].text
			}
		}
	}
	return ""
}

// FeaturesOf returns the keys of the features of SQLite that a script needs and some
// libraries lack, each once: those that have the modules of the virtual tables that it creates.
func FeaturesOf(sql string) []string {
	var keys []string
	t := &sqlTokens{rest: sql}
	word := func(t sqlToken, word string) bool { return !t.quoted && strings.EqualFold(t.text, word) }
	var last sqlToken
	virtual := false // after CREATE VIRTUAL, before the module
	for token, ok := t.next(); ok; token, ok = t.next() {
		switch key := strings.ToLower(token.name()); {
		case word(token, ";"):
			virtual = false
		case word(last, "CREATE") && word(token, "VIRTUAL"):
			virtual = true
		case virtual && word(last, "USING"):
			if virtual = false; slices.Contains(driver.FeatureKeys(), key) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		last = token
	}
	return keys
}

// tokenOutside returns why a token is not allowed anywhere in a script.
func tokenOutside(t sqlToken) string {
	switch {
	case strings.ContainsRune(t.text, 0):
		return "a NUL byte, after which some libraries read on"
	case t.ambiguous:
		return fmt.Sprintf("%.20s(, which builds of SQLite read differently", t.text)
	}
	return ""
}

// sqlToken is a token of SQL as SQLite reads it.
type sqlToken struct {
	text      string
	at        int  // offset in the script
	quoted    bool // a text, or a name in quotes
	ambiguous bool // a parameter such as $a(b), whose tokens depend on how SQLite was compiled
}

// names reports whether the token is one of these names, quoted or unquoted.
func (t sqlToken) names(list []string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return strings.EqualFold(n, t.name()) })
}

func (t sqlToken) name() string {
	if t.quoted && len(t.text) > 1 {
		return t.text[1 : len(t.text)-1]
	}
	return t.text
}

// sqlTokens splits a script into tokens. White space and comments are left out.
type sqlTokens struct {
	rest string
	at   int
}

func (t *sqlTokens) next() (token sqlToken, ok bool) {
	for t.rest != "" {
		n, kind := sqlTokenLength(t.rest)
		token = sqlToken{text: t.rest[:n], at: t.at, quoted: kind == quotedToken}
		t.rest, t.at = t.rest[n:], t.at+n
		token.ambiguous = kind == parameterToken && strings.HasPrefix(t.rest, "(")
		if kind != spaceToken {
			return token, true
		}
	}
	return sqlToken{}, false
}

type tokenKind int

const (
	plainToken tokenKind = iota
	spaceToken
	quotedToken
	parameterToken
)

// sqlTokenLength measures the first token of s as SQLite's tokenize.c does. An
// unterminated token extends to the end of s.
func sqlTokenLength(s string) (n int, kind tokenKind) {
	until := func(from int, end string) int {
		if n := strings.Index(s[min(from, len(s)):], end); n >= 0 {
			return from + n + len(end)
		}
		return len(s)
	}
	word := func(from int) int {
		for from < len(s) && (wordByte(s[from]) || s[from] == '$') {
			from++
		}
		return from
	}
	switch c := s[0]; {
	case strings.IndexByte(" \t\r\n\f\v", c) >= 0:
		return 1, spaceToken
	case strings.HasPrefix(s, "\uFEFF"): // a byte order mark, which is white space to SQLite
		return len("\uFEFF"), spaceToken
	case strings.HasPrefix(s, "--"):
		return until(2, "\n"), spaceToken
	case strings.HasPrefix(s, "/*") && len(s) > 2:
		return until(2, "*/"), spaceToken
	case c == '[':
		return until(1, "]"), quotedToken
	case c == '\'' || c == '"' || c == '`':
		// A doubled quote ends one text and begins the next. The tokens differ from
		// SQLite's, but the same characters are in quotes.
		return until(1, s[:1]), quotedToken
	case c == '$' || c == '@' || c == '#' || c == ':':
		if n := word(1); n > 1 {
			return n, parameterToken
		}
	case wordByte(c):
		return word(1), plainToken
	}
	return 1, plainToken
}
