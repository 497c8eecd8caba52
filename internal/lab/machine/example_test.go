package machine_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

func ExampleWarningsBefore() {
	m := result.Machine{OS: "linux", Cores: 2, Virtual: "kvm", FileSystem: "tmpfs", SyncFree: true, Directory: "/dev/shm"}
	for _, w := range machine.WarningsBefore(m, machine.Reading{Load: 3.5}) {
		fmt.Println(w.Code)
	}
	// Output:
	// load
	// virtual
	// sync
}
