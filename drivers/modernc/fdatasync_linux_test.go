package modernc_test

import (
	"os"
	"os/exec"
	"testing"

	"modernc.org/sqlite"
)

// TestFdatasync checks that only the build tag fdatasync changes how files are synced. It runs itself a
// second time, with this tag.
func TestFdatasync(t *testing.T) {
	const variable = "TEST_FDATASYNC"
	tagged := os.Getenv(variable) != ""
	if got := sqlite.FdatasyncEnabled(); got != tagged {
		t.Errorf("with the tag: %v; fdatasync: %v", tagged, got)
	}
	if tagged {
		return
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags=fdatasync", "-run=^TestFdatasync$", ".")
	cmd.Env = append(os.Environ(), variable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
