package sources_test

import (
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/sqlite3perf/sqlite3perf/internal/sources"
)

// The archive has the files from which a driver's worker is built.
func Example() {
	for _, f := range txtar.Parse([]byte(sources.Archive)).Files {
		if strings.HasPrefix(f.Name, "drivers/modernc/") {
			fmt.Println(f.Name)
		}
	}
	// Output:
	// drivers/modernc/added-cost.json
	// drivers/modernc/byhand/main.go
	// drivers/modernc/driver.json
	// drivers/modernc/fdatasync.go
	// drivers/modernc/go.mod
	// drivers/modernc/go.sum
	// drivers/modernc/modernc.go
	// drivers/modernc/worker/main.go
}
