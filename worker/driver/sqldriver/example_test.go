package sqldriver_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

func ExampleNew() {
	ctx := context.Background()
	l := &library{}
	d := sqldriver.New(sqldriver.Library{
		Info:      contract.Info{Name: "example"},
		Connector: func(string, contract.Settings) (driver.Connector, error) { return l, nil },
		Code:      func(error) int { return 0 },
	})
	db, err := d.Open(ctx, "test.db", contract.Settings{"pool_size": "2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := db.Prepare(ctx, contract.Statement{SQL: "SELECT 1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := errors.Join(s.Query(ctx, nil, 0, visit), s.Close(), db.Close()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(l.conns), l.conns[0].ran)
	// Output: 1 [SELECT 1]
}
