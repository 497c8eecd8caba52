package directory_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
)

func ExampleMissing() {
	here, err := os.MkdirTemp("", "missing")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(here)
	for _, dir := range directory.Missing(filepath.Join(here, "a", "b")) {
		name, err := filepath.Rel(here, dir)
		fmt.Println(filepath.ToSlash(name), err)
	}
	fmt.Println(len(directory.Missing(here)), "missing")
	// Output:
	// a/b <nil>
	// a <nil>
	// 0 missing
}
