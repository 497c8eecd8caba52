// Package modernc adapts modernc.org/sqlite.
package modernc

import (
	sql "database/sql/driver"
	_ "embed"
	"errors"
	"net/url"

	"modernc.org/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver {
	return sqldriver.New(sqldriver.Library{Info: driver.MustInfo(info), Connector: connector, Code: code})
}

func connector(path string, s driver.Settings) (sql.Connector, error) {
	_, pageSize := s["page_size"]
	_, locking := s["locking_mode"]
	query := url.Values{}
	late := driver.Settings{}
	for _, d := range driver.Vocabulary {
		value, ok := s[d.Name]
		switch {
		case !ok:
		case d.Name == "txlock":
			query.Set("_txlock", value)
		case d.Name == "auto_vacuum" && pageSize, d.Name == "journal_mode" && (pageSize || locking):
			// The library applies the values of _pragma in alphabetical order.
			late[d.Name] = value
		case d.Pragma:
			query.Add("_pragma", d.Name+"("+value+")")
		}
	}
	return sqldriver.Connector(&sqlite.Driver{}, s.URI(path, query), late.Pragmas()), nil
}

func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}
