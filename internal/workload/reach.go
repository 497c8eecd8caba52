package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// Elements of SQL that can ("outside") or cannot ("inside") reach files other than the trial's database.
var (
	// outsideFunctions are SQL functions that read, write or load files. Not every library has them.
	outsideFunctions = []string{"load_extension", "readfile", "writefile", "fts3_tokenizer", "fsdir", "zipfile", "lines_read"}

	// outsidePragmas determine where files go, or allow writing a schema that SQLite
	// has not parsed as SQL.
	outsidePragmas = []string{"temp_store_directory", "data_store_directory", "lock_proxy_file", "writable_schema"}

	// insideModules are the modules of virtual tables that stay within the database.
	insideModules = []string{"fts3", "fts4", "fts5", "fts4aux", "fts3tokenize", "fts5vocab", "rtree", "rtree_i32", "geopoly", "dbstat", "vec0"}
)

// outside finds the first place in a script that reaches files other than the trial's own database, and its
// line, counted from 0. If there is no such place, the result "what" is "".
//
// outside only lets sqlite3perf warn the user before the run. It is not the protection: during the run,
// workers make SQLite itself refuse ATTACH and VACUUM INTO. If versions of SQLite divide the text into
// different tokens, outside assumes that the statement reaches other files.
func outside(sql string) (what string, line int) {
	var statement []sqltext.Token
	at := 0 // index at which the statement begins
	for token := range sqltext.Tokens(sql) {
		if token.Text == ";" {
			if what = statementOutside(statement); what != "" {
				break
			}
			statement = statement[:0]
			continue
		}
		if token.Kind == sqltext.Illegal && token.Text[0] != 0 {
			continue // SQLite refuses a statement with this token, unless the library skips the token
		}
		if statement = append(statement, token); len(statement) == 1 {
			at = token.At
		}
		if what = tokenOutside(token); what != "" {
			return what, strings.Count(sql[:token.At], "\n")
		}
		if n := len(statement); n > 1 && token.Text == "(" && statement[n-2].Named(outsideFunctions...) {
			return statement[n-2].Text + "()", strings.Count(sql[:token.At], "\n")
		}
		if len(statement) > longestHead { // only the first tokens and the last one matter
			statement = append(statement[:longestHead-1], token)
		}
	}
	if what == "" {
		what = statementOutside(statement)
	}
	if what == "" {
		if what, at = driver.DirectoryPragma(sql), 0; what != "" {
			what += ", as a word"
		}
	}
	return what, strings.Count(sql[:at], "\n")
}

// longestHead is how many tokens of a statement are kept to decide whether it reaches other files. It is
// greater than the longest beginning that decides this: CREATE VIRTUAL TABLE IF NOT EXISTS main . name
// USING module.
const longestHead = 16

// statementOutside returns the part of a statement that reaches other files, such as ATTACH, given the
// statement's first tokens. It returns "" if there is no such part.
func statementOutside(s []sqltext.Token) string {
	word := func(i int, word string) bool { return i < len(s) && s[i].Is(word) }
	switch {
	case word(0, "ATTACH"):
		return "ATTACH"
	case word(0, "VACUUM"):
		for i := range s {
			if word(i, "INTO") {
				return "VACUUM INTO"
			}
		}
	case word(0, "PRAGMA"):
		for _, t := range s[1:min(len(s), 4)] { // the name of a PRAGMA can follow the name of a schema and a dot
			if t.Named(outsidePragmas...) {
				return "PRAGMA " + t.Unquoted()
			}
		}
	case word(0, "CREATE") && word(1, "VIRTUAL"):
		for i := range s {
			if word(i, "USING") && i+1 < len(s) && !s[i+1].Named(insideModules...) {
				return "a virtual table of the module " + s[i+1].Text
			}
		}
	}
	return ""
}

// FeaturesOf returns the keys of the features of SQLite that a script needs and some libraries lack. Each key
// occurs once. FeaturesOf finds the features by the modules of the virtual tables that the script creates.
func FeaturesOf(sql string) []string {
	var keys []string
	var last sqltext.Token
	virtual := false // true after CREATE VIRTUAL, until the name of the module
	for token := range sqltext.Tokens(sql) {
		switch key := strings.ToLower(token.Unquoted()); {
		case token.Text == ";":
			virtual = false
		case last.Is("CREATE") && token.Is("VIRTUAL"):
			virtual = true
		case virtual && last.Is("USING"):
			if virtual = false; slices.Contains(driver.FeatureKeys(), key) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		last = token
	}
	return keys
}

// tokenOutside returns why a token is not allowed anywhere in a script, or "" if it is allowed.
func tokenOutside(t sqltext.Token) string {
	switch {
	case strings.ContainsRune(t.Text, 0):
		return "a NUL byte, after which some libraries read on"
	case strings.IndexByte("$@#:", t.Text[0]) >= 0 && (strings.Contains(t.Text, "(") || strings.Contains(t.Text, "::")):
		return fmt.Sprintf("%.20s, which builds of SQLite read differently", t.Text)
	}
	return ""
}

// parameterIn returns the first parameter of a script, and its line, counted from 0. It returns "" if the
// script has no parameters.
func parameterIn(sql string) (parameter string, line int) {
	for token := range sqltext.Tokens(sql) {
		if token.Kind == sqltext.Parameter {
			return token.Text, strings.Count(sql[:token.At], "\n")
		}
	}
	return "", 0
}
