// Package tailscale adapts github.com/tailscale/sqlite.
package tailscale

/*
typedef struct sqlite3 sqlite3;
extern int sqlite3_limit(sqlite3 *, int id, int value);
*/
import "C"

import (
	"context"
	sql "database/sql/driver"
	_ "embed"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver {
	return sqldriver.New(sqldriver.Library{
		Info: driver.MustInfo(info), Connector: connector, Registered: "sqlite3", DirtyCommit: true,
		Script: script, LimitAttached: limitAttached, Prepared: sqlite.WithPersist, Cancellable: sqlite.WithQueryCancel,
		Code: driver.CodeOf(func(e *sqlite.Error) int { return int(e.Code) }),
	})
}

func connector(path string, s driver.Settings) (sql.Connector, error) {
	init := strings.Join(s.Pragmas(), ";")
	return sqlite.Connector(s.URI(path, nil), func(_ context.Context, c sql.ConnPrepareContext) error {
		return sqlite.ExecScript(c.(sqlite.SQLConn), init)
	}, nil), nil
}

func script(_ context.Context, c sql.Conn, queries string) error {
	return sqlite.ExecScript(c.(sqlite.SQLConn), queries)
}

// limitAttached sets the greatest number of attached databases. It calls SQLite's C function
// sqlite3_limit, because the library has no method for that.
func limitAttached(c sql.Conn, most int) (before int, err error) {
	v := reflect.Indirect(reflect.ValueOf(c))
	for range 2 { // twice, because the library's connection contains a connection of its package cgosqlite
		if v.Kind() == reflect.Struct {
			v = v.FieldByName("db")
		}
		if v.Kind() == reflect.Interface {
			v = reflect.Indirect(v.Elem())
		}
	}
	if v.Kind() != reflect.Pointer {
		return 0, fmt.Errorf("a %T has no SQLite connection in its field db.db", c)
	}
	return int(C.sqlite3_limit((*C.sqlite3)(v.UnsafePointer()), driver.SQLiteLimitAttached, C.int(most))), nil
}
