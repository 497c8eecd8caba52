package sqldriver

import (
	"database/sql/driver"
	"fmt"
	"reflect"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// withoutAttach makes SQLite refuse ATTACH on a connection, and returns the connection.
func (l *Library) withoutAttach(c driver.Conn) (driver.Conn, error) {
	if _, err := l.LimitAttached(c, 0); err != nil {
		return nil, fmt.Errorf("limiting ATTACH: %w", err)
	}
	return c, nil
}

// TranspiledLimitAttached returns a [Library].LimitAttached for a library that is transpiled from C
// and exports no function that sets a limit of a [driver.Conn]. The parameter "limit" is the
// transpiled function sqlite3_limit. The connection must have the fields "tls" and "db".
func TranspiledLimitAttached[T any](limit func(tls *T, db uintptr, id, value int32) int32) func(driver.Conn, int) (int, error) {
	return func(c driver.Conn, most int) (before int, err error) {
		tls, db, err := fields(c)
		if err != nil {
			return 0, err
		}
		return int(limit((*T)(tls.UnsafePointer()), uintptr(db.Uint()), contract.SQLiteLimitAttached, int32(most))), nil
	}
}

func fields(c driver.Conn) (tls, db reflect.Value, err error) {
	v := reflect.Indirect(reflect.ValueOf(c))
	if v.Kind() == reflect.Struct {
		tls, db = v.FieldByName("tls"), v.FieldByName("db")
	}
	if tls.Kind() != reflect.Pointer || db.Kind() != reflect.Uintptr {
		err = fmt.Errorf("a %T has no SQLite connection in its fields tls and db", c)
	}
	return tls, db, err
}
