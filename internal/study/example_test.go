package study_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/study"
)

func ExampleFind() {
	s, err := study.Find("cgo-or-not")
	fmt.Println(s.Asks, err)
	_, err = study.Find("cgo")
	fmt.Println(err)
	// Output:
	// what SQLite without cgo costs: ingest and GROUP BY in memory, mattn against modernc <nil>
	// unknown study "cgo": did you mean "cgo-or-not"?
}
