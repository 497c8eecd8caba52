package driver

import (
	"context"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// Asker is a [Conn] that can run a statement with columns of unknown types, and return the same
// values as the library returns to its users. The time of Ask is not measured.
type Asker interface {
	// Ask runs one statement and passes every row to the function "visit", in the Go types in which
	// the library returns the values. The row is valid only during the call. After an error, the
	// Reply has the information known so far. The error is an [*Error] if SQLite gave a code, and a
	// [*CannotAsk] if the adapter cannot run the statement.
	Ask(ctx context.Context, q Question, visit func(row []any) error) (Reply, error)
}

// Question is a statement for [Asker].Ask to run.
type Question struct {
	SQL  string
	Args []any // each is nil, an int64, float64, string, []byte, bool or time.Time

	// Rows is set to run the statement as a query. Libraries may have one call for queries, and a
	// second call for all other statements. Only the second call returns the number of rows
	// affected.
	Rows bool

	// Columns are the declared types of the result, or nil if they are not known. Only some
	// libraries need them.
	Columns []ColumnType
}

// Reply is the information that a library returns about a statement, without its rows. A field is
// nil if the library does not return it.
type Reply struct {
	Names        []string // names of the result's columns
	Declared     []string // declared types of the columns, in the library's spelling; "" for an expression
	Affected     *int64   // number of rows affected
	LastInsertID *int64
}

// Tell copies the number of rows affected and the last insert ID from the parameter "result" to r.
// If the library returns an error for one of them, Tell leaves it out.
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

// ReturnsRows reports whether a statement begins like a query or has a RETURNING clause. Users run
// such a statement as a query.
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
