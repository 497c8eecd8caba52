package driver

import (
	"context"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// Asker is a [Conn] that can also run a statement without knowing the types of its
// columns, and tell what the library's users get to see of it. Nobody measures that.
type Asker interface {
	// Ask runs one statement and passes every row to visit, in the Go types in which
	// the library itself returns the values. The row is valid only during the call.
	// What is known when an error occurs is in the Reply. The error is an [*Error] if
	// SQLite gave a code, and a [*CannotAsk] if the adapter cannot run the statement.
	Ask(ctx context.Context, q Question, visit func(row []any) error) (Reply, error)
}

// Question is a statement to ask.
type Question struct {
	SQL  string
	Args []any // nil, int64, float64, string, []byte, bool or time.Time

	// Rows says to run the statement as a query. A library may have different calls
	// for that and for other statements, and tells the rows affected only by the others.
	Rows bool

	// Columns are the declared types of the result, or nil if they are not known. Only
	// libraries that must be told the types use them.
	Columns []ColumnType
}

// Reply is what a library tells about a statement besides its rows. What it does not
// tell is nil.
type Reply struct {
	Names        []string // of the result's columns
	Declared     []string // their declared types, in the library's spelling; "" for an expression
	Affected     *int64   // rows
	LastInsertID *int64
}

// CannotAsk is the error of an adapter that cannot run a statement.
type CannotAsk struct{ Reason string }

func (e *CannotAsk) Error() string { return e.Reason }

// ReturnsRows reports whether a statement is one that users run as a query: one that
// begins like one, or has a RETURNING clause.
func ReturnsRows(sql string) bool {
	depth, first := 0, ""
	for token := range sqltext.Tokens(TrimScript(sql)) {
		word := strings.ToUpper(token.Text)
		if word == ";" {
			continue
		}
		switch word {
		case "(":
			depth++
			continue
		case ")":
			depth--
			continue
		}
		if first == "" {
			first = word
			switch first {
			case "SELECT", "VALUES", "PRAGMA", "EXPLAIN":
				return true
			case "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH":
				continue
			}
			return false
		}
		if depth > 0 {
			continue
		}
		switch word {
		case "RETURNING":
			return true
		case "SELECT", "VALUES":
			if first == "WITH" {
				return true
			}
		case "INSERT", "REPLACE", "UPDATE", "DELETE":
			first = word // of what follows WITH
		}
	}
	return false
}
