package tailscale_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"testing"

	"github.com/tailscale/sqlite"

	"github.com/sqlite3perf/sqlite3perf/drivers/tailscale"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/suite"
)

var library = addedcost.Library{Driver: tailscale.New(), Open: addedcost.SQL(sqlite.WithPersist(context.Background()), openByHand)}

func TestDriver(t *testing.T)      { suite.Test(t, library) }
func BenchmarkDriver(b *testing.B) { suite.Benchmark(b, library) }

func openByHand(path string) (*sql.DB, error) {
	return sql.OpenDB(sqlite.Connector("file:"+path, func(_ context.Context, c sqldriver.ConnPrepareContext) error {
		return sqlite.ExecScript(c.(sqlite.SQLConn), "PRAGMA locking_mode=exclusive; PRAGMA journal_mode=memory; PRAGMA synchronous=off; PRAGMA cache_size=-65536")
	}, nil)), nil
}
