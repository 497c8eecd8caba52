package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

type filesKey struct{}

// AllowFiles returns a context in which [Driver.Open] opens databases whose SQL may reach
// other files. In any other context a driver sets SQLITE_LIMIT_ATTACHED of each connection to
// 0, so that SQLite refuses ATTACH and VACUUM INTO. A driver that cannot set SQLite's limit declares
// the limit [LimitFiles].
func AllowFiles(ctx context.Context) context.Context {
	return context.WithValue(ctx, filesKey{}, true)
}

// FilesAllowed reports whether ctx is from [AllowFiles].
func FilesAllowed(ctx context.Context) bool { return ctx.Value(filesKey{}) != nil }

// LimitFiles is the key of the limit that a driver declares if its library cannot make SQLite
// refuse ATTACH. The driver's worker then refuses SQL in which [FilesWords] finds a statement.
const LimitFiles = "files"

// FilesWords returns the name of a statement in sql that may reach other files, or "" if there is
// none. It looks for keywords and for the names of PRAGMAs anywhere in sql, even in string literals
// and comments. It does not parse sql, so no syntax can hide a word from it.
func FilesWords(sql string) string {
	switch {
	case hasWord(sql, "attach"):
		return "ATTACH"
	case hasWord(sql, "vacuum") && hasWord(sql, "into"):
		return "VACUUM INTO"
	}
	return DirectoryPragma(sql)
}

// DirectoryPragma looks anywhere in sql for the name of a PRAGMA that sets a directory or file. It
// returns the PRAGMA, such as "PRAGMA temp_store_directory", or "" if there is none. SQLite has no
// limit that refuses such a PRAGMA.
func DirectoryPragma(sql string) string {
	for _, name := range []string{"temp_store_directory", "data_store_directory", "lock_proxy_file"} {
		if hasWord(sql, name) {
			return "PRAGMA " + name
		}
	}
	return ""
}

// hasWord reports whether sql contains the parameter "word", in upper or lower case, as a complete
// word. A part of a longer word does not count. The parameter itself must be in lower case.
func hasWord(sql, word string) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(sql) && (sql[i] == '_' || '0' <= sql[i] && sql[i] <= '9' || 'a' <= sql[i]|0x20 && sql[i]|0x20 <= 'z')
	}
	for i := 0; i+len(word) <= len(sql); i++ {
		if sql[i]|0x20 == word[0] && strings.EqualFold(sql[i:i+len(word)], word) && !letter(i-1) && !letter(i+len(word)) {
			return true
		}
	}
	return false
}

// PlainVacuum reports whether a statement is a VACUUM without INTO, and returns its text without
// comments. SQLite attaches a database for a VACUUM, so [RunVacuum] runs it while
// SQLITE_LIMIT_ATTACHED is 1. Only the returned text may run during that time, because it
// contains nothing of sql except the name of a schema.
func PlainVacuum(sql string) (text string, ok bool) {
	var words []string
	for token := range sqltext.Tokens(sql) {
		if token.Text == ";" && words != nil {
			continue
		}
		if token.Kind != sqltext.Word || len(words) == 2 {
			return "", false
		}
		words = append(words, token.Text)
	}
	if len(words) == 0 || !strings.EqualFold(words[0], "VACUUM") || len(words) == 2 && strings.EqualFold(words[1], "INTO") {
		return "", false
	}
	return strings.Join(words, " "), true
}

// LimitAttached sets SQLITE_LIMIT_ATTACHED of a connection and returns the previous value.
type LimitAttached func(most int) (before int, err error)

// SQLiteLimitAttached is SQLITE_LIMIT_ATTACHED. See https://www.sqlite.org/c3ref/c_limit_attached.html.
const SQLiteLimitAttached = 7

// RunVacuum calls the function "run", which runs a VACUUM that [PlainVacuum] accepts. Until "run"
// returns, SQLite may attach one database. RunVacuum sets this limit with the function "limit".
func RunVacuum(limit LimitAttached, run func() error) error {
	before, err := limit(1)
	if err != nil {
		return fmt.Errorf("limiting ATTACH: %w", err)
	}
	err = run()
	if _, lerr := limit(before); lerr != nil && err == nil {
		err = fmt.Errorf("limiting ATTACH: %w", lerr)
	}
	return err
}

// VacuumStmt returns a statement that runs sql, a VACUUM that [PlainVacuum] accepts, with the function
// "script". The function must be the method Script of the [Runner] that prepares the statement.
func VacuumStmt(sql string, script func(ctx context.Context, sql string) error) Stmt {
	return &vacuumStmt{sql, script}
}

type vacuumStmt struct {
	sql    string
	script func(ctx context.Context, sql string) error
}

func (v *vacuumStmt) Exec(ctx context.Context, _ *Batch, _, _ int) error { return v.script(ctx, v.sql) }

func (v *vacuumStmt) ExecResult(ctx context.Context, _ *Batch, _ int) (Result, error) {
	return nil, v.script(ctx, v.sql)
}

func (v *vacuumStmt) Query(ctx context.Context, _ *Batch, _ int, _ func(Row) error) error {
	return v.script(ctx, v.sql)
}

func (v *vacuumStmt) Close() error { return nil }

// InTransaction returns SQLite's error for a VACUUM in a transaction if st is from [VacuumStmt],
// otherwise nil.
func InTransaction(st Stmt) error {
	if _, ok := st.(*vacuumStmt); ok {
		return &Error{Code: CodeError, Err: errors.New("cannot VACUUM from within a transaction")}
	}
	return nil
}
