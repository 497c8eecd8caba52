package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAgentInUse checks that an agent reports whether another process uses a directory.
func TestAgentInUse(t *testing.T) {
	ask, end := talk(t)
	used := t.TempDir()
	f, err := os.Create(filepath.Join(used, "run-1.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{used: "true", t.TempDir(): "false"} {
		params, err := json.Marshal(place)
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(request{1, methodInUse, params}); string(got.Result) != want {
			t.Errorf("%s: in use: %s, want %s; error %q", place, got.Result, want, got.Error)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
