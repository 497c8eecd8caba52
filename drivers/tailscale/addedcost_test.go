package tailscale_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"testing"

	"github.com/tailscale/sqlite"

	"github.com/sqlite3perf/sqlite3perf/drivers/tailscale"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
)

var library = addedcost.Library{Driver: tailscale.New(), Open: addedcost.SQL(sqlite.WithPersist(context.Background()), openByHand)}

func TestAddedCost(t *testing.T)      { addedcost.Test(t, library) }
func BenchmarkAddedCost(b *testing.B) { addedcost.Benchmark(b, library) }

func openByHand(path string) (*sql.DB, error) {
	return sql.OpenDB(sqlite.Connector("file:"+path, func(_ context.Context, c sqldriver.ConnPrepareContext) error {
		return sqlite.ExecScript(c.(sqlite.SQLConn), "PRAGMA locking_mode=exclusive; PRAGMA journal_mode=memory; PRAGMA synchronous=off; PRAGMA cache_size=-65536")
	}, nil)), nil
}
