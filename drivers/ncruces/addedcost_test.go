package ncruces_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/ncruces"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
)

var library = addedcost.Library{Driver: ncruces.New(), Open: addedcost.SQL(context.Background(), openByHand)}

func TestAddedCost(t *testing.T)      { addedcost.Test(t, library) }
func BenchmarkAddedCost(b *testing.B) { addedcost.Benchmark(b, library) }

func openByHand(path string) (*sql.DB, error) {
	return sql.Open("sqlite3", "file:"+path+"?_pragma=locking_mode(exclusive)&_pragma=journal_mode(memory)&_pragma=synchronous(off)&_pragma=cache_size(-65536)")
}
