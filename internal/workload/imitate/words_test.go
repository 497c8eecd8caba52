package imitate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
)

// TestReplaceable checks that only a generated workload that nobody has edited may be replaced.
func TestReplaceable(t *testing.T) {
	text := imitate.Sealed("name: app\nphases: []\n")
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"as it was":        {text, true},
		"edited":           {strings.Replace(text, "app", "mine", 1), false},
		"with a line more": {text + "# mine\n", false},
		"without its seal": {"name: app\n", false},
		"empty":            {"", false},
		"of two":           {text + text, false},
	} {
		file := filepath.Join(t.TempDir(), "mine.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := imitate.Replaceable(file); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !imitate.Replaceable(filepath.Join(t.TempDir(), "none.yaml")) || imitate.Replaceable(t.TempDir()) {
		t.Error("want true for a missing file, and false for a directory")
	}
}
