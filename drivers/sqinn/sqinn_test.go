package sqinn_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/sqinn"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// standIn is the path of a program that replaces sqinn's executable. The executable itself is not
// available everywhere, and the tests must be the same everywhere.
var standIn string

// TestMain builds the program at standIn, which most tests use. If TEST_SQINN is set to the path of a real
// executable of sqinn, these tests use that executable instead.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sqinn-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	standIn = filepath.Join(dir, "sqinn.exe")
	if out, err := exec.Command("go", "build", "-o", standIn, "./internal/sqinn").CombinedOutput(); err != nil {
		panic(string(out))
	}
	if err := os.Setenv("SQINN_PATH", cmp.Or(os.Getenv("TEST_SQINN"), standIn)); err != nil {
		panic(err)
	}
	return m.Run()
}

func open(t *testing.T, s driver.Settings) (driver.DB, error) {
	t.Helper()
	db, err := sqinn.New().Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), s)
	if err == nil {
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return db, err
}

// TestExecutable checks that a program that isn't sqinn 1.x is reported as such.
func TestExecutable(t *testing.T) {
	for name, c := range map[string]struct{ path, version, want string }{
		"absent":        {"/nonexistent/sqinn", "", "starting sqinn, as SQINN_PATH or PATH names it: "},
		"another tool":  {"/bin/cat", "", "does not answer as version 1 does"},
		"other version": {standIn, "2.0.0", "is version 2.0.0: want 1.x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SQINN_PATH", c.path)
			t.Setenv("SQINN_VERSION", c.version)
			_, err := open(t, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("in PATH", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink(os.Getenv("SQINN_PATH"), filepath.Join(dir, "sqinn")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("SQINN_PATH", "")
		t.Setenv("PATH", dir)
		if _, err := open(t, nil); err != nil {
			t.Error(err)
		}
	})
}
