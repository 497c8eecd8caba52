package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
)

func ExampleStart() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "cluster-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cluster, err := nodes.Start(ctx, nodes.Config{Nodes: 3, Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	first := cluster.Nodes[0]
	status, err := first.Status(ctx)
	if err = errors.Join(err, cluster.Kill()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("node %s: %s of %d nodes\n", first.ID, status.State, status.Voters)
	// Output: node 1: Leader of 3 nodes
}
