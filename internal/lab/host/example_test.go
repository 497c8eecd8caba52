package host_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/host"
)

func ExampleParse() {
	names, err := host.Parse([]string{"pi", " user@nvme"})
	fmt.Println(names, err)
	_, err = host.Parse([]string{"pi", "pi"})
	fmt.Println(err)
	// Output:
	// [pi user@nvme] <nil>
	// host pi is named twice: name it once
}
