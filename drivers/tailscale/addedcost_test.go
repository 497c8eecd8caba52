package tailscale_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/tailscale/sqlite"

	"github.com/sqlite3perf/sqlite3perf/drivers/tailscale"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/suite"
)

var library = addedcost.Library{Driver: tailscale.New(), Open: byhand.SQL(sqlite.WithPersist(context.Background()), openByHand)}

func TestDriver(t *testing.T)      { suite.Test(t, library) }
func BenchmarkDriver(b *testing.B) { suite.Benchmark(b, library) }

func openByHand(path string) (*sql.DB, error) {
	return sql.OpenDB(sqlite.Connector("file:"+path, nil, nil)), nil
}
