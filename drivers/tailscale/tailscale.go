// Package tailscale adapts github.com/tailscale/sqlite.
package tailscale

import (
	"context"
	sql "database/sql/driver"
	_ "embed"
	"errors"
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
		Info: driver.MustInfo(info), Connector: connector, Registered: "sqlite3", Code: code, DirtyCommit: true,
		Script: script, Prepared: sqlite.WithPersist, Cancellable: sqlite.WithQueryCancel,
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

func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return int(e.Code)
	}
	return 0
}
