package defects_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/defects"
)

func ExampleKnown() {
	for _, d := range defects.Known(defects.Library{SQLite: "3.51.2"}) {
		if d.ID == "wal-reset" {
			fmt.Println(d.Effect, d.Sources[0])
		}
	}
	// Output:
	// corruption https://www.sqlite.org/wal.html#walresetbug
}
