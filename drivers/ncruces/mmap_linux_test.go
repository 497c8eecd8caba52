package ncruces_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/ncruces"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestLargeMapping maps more than 256 MiB of a database. By default, a connection of the library
// has only 256 MiB of memory.
func TestLargeMapping(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := ncruces.New().Open(t.Context(), path, driver.Settings{"mmap_size": "536870912"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Script(t.Context(), "CREATE TABLE t (n INT); INSERT INTO t VALUES (1); SELECT * FROM t"); err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(maps), path) {
		t.Error("mmap_size is set, but the file is not mapped")
	}
}
