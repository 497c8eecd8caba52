package modernc_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/modernc"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
)

var library = addedcost.Library{Driver: modernc.New(), Open: addedcost.SQL(context.Background(), openByHand)}

func TestAddedCost(t *testing.T)      { addedcost.Test(t, library) }
func BenchmarkAddedCost(b *testing.B) { addedcost.Benchmark(b, library) }

func openByHand(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+path+"?_pragma=locking_mode(exclusive)&_pragma=journal_mode(memory)&_pragma=synchronous(off)&_pragma=cache_size(-65536)")
}
