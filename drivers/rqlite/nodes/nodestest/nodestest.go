// Package nodestest provides rqlited to tests.
package nodestest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
)

// Set sets RQLITED_PATH to an rqlited of the version that drivers/rqlite/rqlited/go.mod pins. Go
// builds rqlited unless it is in the build cache. The first build takes a minute or two, and
// needs a C compiler.
func Set() error {
	_, file, _, _ := runtime.Caller(0)
	cmd := exec.Command("go", "tool", "-n", "rqlited")
	cmd.Dir = filepath.Join(filepath.Dir(file), "../../rqlited")
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	var words strings.Builder
	cmd.Stderr = &words
	path, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("building rqlited, which needs a C compiler: %w: %s", err, words.String())
	}
	return os.Setenv(nodes.Env, strings.TrimSpace(string(path)))
}
