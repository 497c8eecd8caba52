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
	Args []any // each is nil, an int64, float64, string, []byte, bool or time.Time

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
	Names        []string // names of the result's columns
	Declared     []string // declared types of the columns, in the library's spelling; "" for an expression
	Affected     *int64   // number of rows affected
	LastInsertID *int64
}

// Tell takes over from a result what the library tells of an execution.
func (r *Reply) Tell(result Result) {
	if n, err := result.RowsAffected(); err == nil {
		r.Affected = &n
	}
	if id, err := result.LastInsertId(); err == nil {
		r.LastInsertID = &id
	}
}

// CannotAsk is the error of an adapter that cannot run a statement.
type CannotAsk struct{ Reason string }

func (e *CannotAsk) Error() string { return e.Reason }

// ReturnsRows reports whether users run a statement as a query: whether it begins like one, or
// has a RETURNING clause.
func ReturnsRows(sql string) bool {
	depth, first := 0, ""
	for token := range sqltext.Tokens(TrimScript(sql)) {
		switch word := strings.ToUpper(token.Text); {
		case word == ";":
		case word == "(":
			depth++
		case word == ")":
			depth--
		case first == "":
			first = word
			switch first {
			case "SELECT", "VALUES", "PRAGMA", "EXPLAIN":
				return true
			case "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH":
			default:
				return false
			}
		case depth > 0:
		case word == "RETURNING", first == "WITH" && (word == "SELECT" || word == "VALUES"):
			return true
		case word == "INSERT" || word == "REPLACE" || word == "UPDATE" || word == "DELETE":
			first = word // the statement that follows WITH
		}
	}
	return false
}
