package connpool_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

func ExampleNew() {
	ctx := context.Background()
	c := &fake{}
	pool, err := connpool.NewFixed(ctx, 1, func(int) (connpool.ClosingConn, error) { return c, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	db := connpool.New(pool, 1, "BEGIN IMMEDIATE")
	tx, err := db.Begin(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := errors.Join(tx.Commit(ctx), db.Close()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", c.log)
	// Output: ["BEGIN IMMEDIATE" "COMMIT" "close"]
}
