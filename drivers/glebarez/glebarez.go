// Package glebarez adapts github.com/glebarez/go-sqlite.
package glebarez

import (
	sql "database/sql/driver"
	_ "embed"

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
		Info: driver.MustInfo(info), Connector: connector, Registered: "sqlite", LimitAttached: sqldriver.TranspiledLimitAttached(sqlite3.Xsqlite3_limit), DirtyCommit: true,
		Code: driver.CodeOf((*sqlite.Error).Code),
	})
}

// connector puts all settings into the data source name. The library applies the values of _pragma in
// the order in which they appear in the name.
func connector(path string, s driver.Settings) (sql.Connector, error) {
	return sqldriver.Connector(&sqlite.Driver{}, s.URI(path, sqldriver.Options(s)), nil), nil
}
