// Package mattn adapts github.com/mattn/go-sqlite3.
package mattn

import (
	"cmp"
	sql "database/sql/driver"
	_ "embed"
	"net/url"

	"github.com/mattn/go-sqlite3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver {
	return sqldriver.New(sqldriver.Library{
		Info: driver.MustInfo(info), Connector: connector, Registered: "sqlite3", LimitAttached: limitAttached,
		Code: driver.CodeOf(func(e sqlite3.Error) int { return cmp.Or(int(e.ExtendedCode), int(e.Code)) }),
	})
}

// options are the settings for which the library's data source name has an option. The option's
// name is "_" followed by the setting's name.
var options = map[string]bool{
	"txlock": true, "busy_timeout": true, "auto_vacuum": true, "locking_mode": true, "journal_mode": true,
	"synchronous": true, "foreign_keys": true, "cache_size": true, "secure_delete": true,
}

func connector(path string, s driver.Settings) (sql.Connector, error) {
	_, pageSize := s["page_size"]
	_, locking := s["locking_mode"]
	query := url.Values{}
	late := driver.Settings{}
	for name, value := range s {
		// The library applies its options in its own order, for example journal_mode before locking_mode.
		// Settings without an option, such as page_size, are set after all options. If an option would be
		// applied too early, its setting is also set after all options.
		tooEarly := name == "auto_vacuum" && pageSize || name == "journal_mode" && (pageSize || locking)
		if options[name] && !tooEarly {
			query.Set("_"+name, value)
		} else {
			late[name] = value
		}
	}
	return sqldriver.Connector(&sqlite3.SQLiteDriver{}, s.URI(path, query), late.Pragmas()), nil
}

func limitAttached(c sql.Conn, most int) (before int, err error) {
	return c.(*sqlite3.SQLiteConn).SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, most), nil
}
