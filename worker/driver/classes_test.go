package driver_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// asked is a connection whose Prepare returns errAsked.
type asked struct{ driver.Runner }

var errAsked = errors.New("asked")

func (asked) Prepare(context.Context, driver.Statement) (driver.Stmt, error) { return nil, errAsked }

// TestTypeCheckOf checks that NewTypeCheck prepares a check for every statement that begins with
// SELECT, WITH or VALUES, and for no other statement. The statement may contain letters whose
// length in bytes changes in upper case.
func TestTypeCheckOf(t *testing.T) {
	for sql, want := range map[string]error{
		"SELECT 1":                              errAsked,
		" ;/* a ; */ -- b\n\fselect(1)":         errAsked,
		"With r AS (SELECT 1) SELECT":           errAsked,
		"VALUES('ß')":                           errAsked,
		"SELECT 'ııı'":                          errAsked, // shorter in upper case
		"SELECT 'ɐɐɐɐɐɐɐɐ'":                     errAsked, // longer in upper case
		"SELECTED":                              nil,
		"PRAGMA journal_mode":                   nil,
		"INSERT INTO t VALUES (1) RETURNING id": nil,
		"-- nothing":                            nil,
		"":                                      nil,
	} {
		st := driver.Statement{SQL: sql, Columns: []driver.ColumnType{{Type: driver.Int}}}
		if _, err := driver.NewTypeCheck(t.Context(), asked{}, st); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", sql, err, want)
		}
	}
}
