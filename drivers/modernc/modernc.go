// Package modernc adapts modernc.org/sqlite.
package modernc

import (
	sql "database/sql/driver"
	_ "embed"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver {
	return sqldriver.New(sqldriver.Library{
		Info: driver.MustInfo(info), Connector: connector, Registered: "sqlite", LimitAttached: sqldriver.TranspiledLimitAttached(sqlite3.Xsqlite3_limit),
		Code: driver.CodeOf((*sqlite.Error).Code),
	})
}

func connector(path string, s driver.Settings) (sql.Connector, error) {
	_, pageSize := s["page_size"]
	_, locking := s["locking_mode"]
	early, late := driver.Settings{}, driver.Settings{}
	for name, value := range s {
		// The library applies the values of _pragma in alphabetical order. But page_size must precede
		// auto_vacuum and journal_mode, and locking_mode must precede journal_mode.
		if name == "auto_vacuum" && pageSize || name == "journal_mode" && (pageSize || locking) {
			late[name] = value
		} else {
			early[name] = value
		}
	}
	return sqldriver.Connector(&sqlite.Driver{}, s.URI(path, sqldriver.Options(early)), late.Pragmas()), nil
}
