package driver_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// ParseSetting returns the value in canonical form. For an unknown name it suggests a known name.
func ExampleParseSetting() {
	timeout, err := driver.ParseSetting("busy_timeout", "5s")
	fmt.Println(timeout, err)
	_, err = driver.ParseSetting("jurnal_mode", "wal")
	fmt.Println(err)
	// Output:
	// 5000 <nil>
	// unknown setting "jurnal_mode": did you mean "journal_mode"?
}

func ExampleParseDSN() {
	s, err := driver.ParseDSN("file:test.db?_journal_mode=WAL&_busy_timeout=5000")
	fmt.Println(s["journal_mode"], s["busy_timeout"], err)
	// Output: wal 5000 <nil>
}

func ExampleCheck() {
	wanted := driver.Settings{"journal_mode": "wal", "synchronous": "normal"}
	got := driver.Settings{"journal_mode": "delete", "synchronous": "normal"}
	for _, m := range driver.Check(wanted, got) {
		fmt.Println(m)
	}
	// Output: journal_mode: wanted wal, got delete
}

func ExampleCodeName() {
	fmt.Println(driver.CodeName(5), driver.CodeName(517))
	// Output: SQLITE_BUSY SQLITE_BUSY_SNAPSHOT
}
