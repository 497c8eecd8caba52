package ncruces_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/ncruces"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/suite"
)

var library = addedcost.Library{Driver: ncruces.New(), Open: byhand.SQL(context.Background(), openByHand)}

func TestDriver(t *testing.T)      { suite.Test(t, library) }
func BenchmarkDriver(b *testing.B) { suite.Benchmark(b, library) }

func openByHand(path string) (*sql.DB, error) { return sql.Open("sqlite3", "file:"+path) }
