package dsn_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The settings that a data source name asks for, and likely mistakes in it, can be found without
// any library.
func ExampleParse() {
	n, err := dsn.Parse("file:x.db?_sync=1&_pragma=busy_timeout(5s)&_jounal=WAL&_auth_pass=secret")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n)
	for _, w := range n.Wanted() {
		fmt.Println(w.Setting, w.Value)
	}
	for i := range n.Options {
		if o := &n.Options[i]; o.Problem != "" {
			fmt.Printf("%s: %s\n", o, o.Problem)
		}
	}
	// Output:
	// file:x.db?_sync=1&_pragma=busy_timeout(5s)&_jounal=WAL&_auth_pass=***
	// synchronous normal
	// busy_timeout 5000
	// _jounal=WAL: no library here is known to have this option: did you mean "_journal"?
}

func ExampleOf() {
	name, rest := dsn.Of("app.db", driver.Settings{"journal_mode": "wal", "txlock": "immediate", "cache_size": "-65536", "pool_size": "1"})
	fmt.Println(name)
	fmt.Println(rest)
	// Output:
	// file:app.db?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=cache_size(-65536)
	// map[pool_size:1]
}
