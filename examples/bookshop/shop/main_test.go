package shop_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/examples/bookshop/shop"
)

// TestMain runs the bookshop instead of the tests if TestHelp has started this process.
func TestMain(m *testing.M) {
	if os.Getenv("BOOKSHOP") != "" {
		shop.Main("sqlite", func(file string) string { return file })
		return
	}
	os.Exit(m.Run())
}

// TestHelp checks that -h prints the flags and succeeds, and that an unknown flag fails.
func TestHelp(t *testing.T) {
	for arg, fails := range map[string]bool{"-h": false, "-nosuch": true} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], arg)
		cmd.Env = append(os.Environ(), "BOOKSHOP=1")
		var said bytes.Buffer
		cmd.Stderr = &said
		err := cmd.Run()
		if failure := (*exec.ExitError)(nil); errors.As(err, &failure) != fails || !fails && err != nil {
			t.Errorf("%s: %v", arg, err)
		}
		if !strings.Contains(said.String(), "-record") || strings.Contains(said.String(), "help requested") {
			t.Errorf("%s:\n%s", arg, said.String())
		}
	}
}
