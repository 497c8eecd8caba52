package conformance_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/conformance"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func ExampleChecks() {
	for _, c := range conformance.Checks()[:3] {
		fmt.Println(c.Name)
	}
	// Output:
	// messages/describe
	// messages/schema
	// messages/unknown request
}

func ExampleNotShown() {
	fmt.Println(conformance.NotShown(driver.Info{}))
	// Output: []
}
