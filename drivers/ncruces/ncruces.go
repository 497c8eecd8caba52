// Package ncruces adapts the database/sql driver of github.com/ncruces/go-sqlite3.
package ncruces

import (
	"context"
	sql "database/sql/driver"
	_ "embed"
	"strconv"

	"github.com/ncruces/go-sqlite3"
	sqlite "github.com/ncruces/go-sqlite3/driver"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver {
	return sqldriver.New(sqldriver.Library{
		Info: driver.MustInfo(info), Connector: connector, Registered: "sqlite3", LimitAttached: limitAttached,
		Code: driver.CodeOf(func(e sqlite3.ExtendedErrorCode) int { return int(e) }),
	})
}

// connector puts all settings into the data source name. The library applies the values of _pragma in
// the order in which they appear in the name.
func connector(path string, s driver.Settings) (sql.Connector, error) {
	c := sqldriver.Connector(&sqlite.SQLite{}, s.URI(path, sqldriver.Options(s)), nil)
	if mapped, err := strconv.ParseInt(s["mmap_size"], 10, 64); err == nil && mapped > 0 {
		return roomy{c, min(mapped, mostMapped)}, nil
	}
	return c, nil
}

// mostMapped is the greatest number of bytes of a file that the library maps into memory.
const mostMapped = 1 << 30

// roomy opens connections whose memory has room for the mapped part of the file. Without the room, the
// library maps nothing, and returns no error.
type roomy struct {
	sql.Connector
	mapped int64
}

func (r roomy) Connect(ctx context.Context) (sql.Conn, error) {
	return r.Connector.Connect(withRoom(ctx, r.mapped))
}

func limitAttached(c sql.Conn, most int) (before int, err error) {
	return c.(sqlite.Conn).Raw().Limit(sqlite3.LIMIT_ATTACHED, most), nil
}
