// Package glebarez adapts github.com/glebarez/go-sqlite.
package glebarez

import (
	sql "database/sql/driver"
	_ "embed"
	"errors"

	"github.com/glebarez/go-sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver {
	return sqldriver.New(sqldriver.Library{
		Info: driver.MustInfo(info), Connector: connector, Registered: "sqlite", Code: code, LimitAttached: sqldriver.TranspiledLimitAttached(sqlite3.Xsqlite3_limit), DirtyCommit: true,
	})
}

// connector puts all settings into the data source name. The library applies
// the values of _pragma in the order of the name.
func connector(path string, s driver.Settings) (sql.Connector, error) {
	return sqldriver.Connector(&sqlite.Driver{}, s.URI(path, sqldriver.Options(s)), nil), nil
}

func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}
