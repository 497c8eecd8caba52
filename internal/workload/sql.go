package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// positional replaces the parameters ":name" of one SQL statement with plain "?"
// and returns their names in order of occurrence. Strings, quoted identifiers and
// comments are left unchanged.
func positional(sql string) (rewritten string, names []string, err error) {
	var out strings.Builder
	begun, ended := false, false
	for i := 0; i < len(sql); {
		n, kind := sqltext.Next(sql[i:])
		word := sql[i : i+n]
		i += n
		if err := endless(word, kind); err != nil {
			return "", nil, err
		}
		if kind <= sqltext.Comment {
			out.WriteString(word)
			continue
		}
		if ended {
			return "", nil, fmt.Errorf("more than one statement: write one here, or use a script phase")
		}
		if word == ";" {
			ended = begun
			continue
		}
		begun = true
		if kind == sqltext.Parameter {
			if word[0] != ':' || '0' <= word[1] && word[1] <= '9' || strings.ContainsAny(word[1:], ":($") {
				return "", nil, fmt.Errorf("bad parameter %q in SQL: want a name with a colon, such as :id", word)
			}
			names = append(names, word[1:])
			word = "?"
		}
		out.WriteString(word)
	}
	if !begun {
		return "", nil, fmt.Errorf("no SQL statement: want one, such as SELECT id FROM users")
	}
	return strings.TrimSpace(out.String()), names, nil
}

// endless returns an error for a token without an end, which would hide all SQL after it.
func endless(word string, kind sqltext.Kind) error {
	switch {
	case kind == sqltext.Comment && strings.HasPrefix(word, "/*") && (len(word) < 4 || !strings.HasSuffix(word, "*/")):
		return fmt.Errorf("comment without an end in SQL: want */")
	case kind == sqltext.Illegal && word[0] == '[':
		return fmt.Errorf("[ without an end in SQL: want ]")
	case kind == sqltext.Illegal && strings.IndexByte("'\"`", word[0]) >= 0:
		return fmt.Errorf("%c without an end in SQL: want %c", word[0], word[0])
	case kind == sqltext.Illegal && strings.IndexByte("$@", word[0]) >= 0:
		return fmt.Errorf("bad parameter %q in SQL: want a name with a colon, such as :id", word)
	}
	return nil
}

// Reads reports whether a statement only reads, judging by its words. It returns true for a statement that
// begins with SELECT or VALUES. For a statement that begins with WITH, it returns true unless the statement
// contains a word such as INSERT, with which a writing statement begins. So a column with such a name has to
// be quoted.
func Reads(sql string) bool {
	var first, last sqltext.Token
	for token := range sqltext.Tokens(sql) {
		switch {
		case first.Text == "":
			if first = token; !first.Is("SELECT", "VALUES", "WITH") {
				return false
			}
		case !first.Is("WITH"):
			return true
		case token.Is("INSERT", "UPDATE", "DELETE"), token.Is("REPLACE") && last.Text == ")":
			return false // REPLACE may also be a call of the function replace()
		}
		last = token
	}
	return first.Text != ""
}

// OnlyReads reports whether all timed phases of a plan only read, judging by their SQL. It returns
// false if a timed phase is not a query, a mix or a replay.
func OnlyReads(p *plan.Plan) bool {
	return !slices.ContainsFunc(p.Phases, func(ph plan.Phase) bool {
		switch {
		case ph.Untimed:
			return false
		case ph.Query == nil && ph.Mix == nil && ph.Replay == nil:
			return true
		case ph.Replay != nil && slices.ContainsFunc(ph.Replay.Statements, func(s plan.Replayed) bool { return s.Script }):
			return true
		}
		return slices.ContainsFunc(ph.SQL(), func(sql string) bool { return sql != "" && !Reads(sql) })
	})
}

// firstWord returns the word that a statement begins with.
func firstWord(sql string) string {
	for token := range sqltext.Tokens(sql) {
		return token.Text
	}
	return ""
}

// Affinity returns the affinity of a column. The parameter "declared" is the column's declared type,
// in upper case. See https://www.sqlite.org/datatype3.html.
func Affinity(declared string) string {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(declared, w) })
	}
	switch {
	case has("INT"):
		return "INTEGER"
	case has("CHAR", "CLOB", "TEXT"):
		return "TEXT"
	case declared == "" || has("BLOB"):
		return "BLOB"
	case has("REAL", "FLOA", "DOUB"):
		return "REAL"
	}
	return "NUMERIC"
}
