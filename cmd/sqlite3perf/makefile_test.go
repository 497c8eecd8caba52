package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeGoesOn uses a go command that fails in one of three modules and in one of two drivers.
// The program make must still test all modules and, at the end, list the modules that failed.
func TestMakeGoesOn(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	tool := filepath.Join(t.TempDir(), "go")
	script := "#!/bin/sh\ncase $PWD in */worker|*/mattn) exit 1;; esac\necho \"$1 in ${PWD##*/}\"\n"
	if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"test", "race", "lint"} {
		cmd := exec.Command("make", "-C", "../..", target, "MODULES=record worker tools drivers/mattn drivers/rqlite", "GO="+tool)
		if target == "lint" { // use the go command of the test in place of the linter that make would build
			cmd.Args = append(cmd.Args, "LINTER="+tool)
		}
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("make %s succeeds:\n%s", target, out)
		}
		for _, want := range []string{" in record\n", " in tools\n", " in rqlite\n", target + " failed in: worker drivers/mattn\n"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("make %s: no %q in\n%s", target, want, out)
			}
		}
	}
}
