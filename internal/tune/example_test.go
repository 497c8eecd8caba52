package tune_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/tune"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func ExampleSpace() {
	today := tune.Situation{InForce: driver.Settings{"journal_mode": "delete", "synchronous": "full"}, DatabaseBytes: 40 << 20, Most: 1,
		Cannot: func(string, string) string { return "" }}
	space, _ := tune.Space(today, []string{"journal_mode", "synchronous"}, nil)
	for _, s := range space {
		fmt.Println(s.Name, s.Values)
	}
	// Output:
	// journal_mode [wal truncate]
	// synchronous [normal]
}
