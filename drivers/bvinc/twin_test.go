package bvinc_test

import (
	"os"
	"strings"
	"testing"
)

// TestTwin compares this adapter with that of eatonphil, a fork of the library, so
// that a difference between the two drivers is one between the libraries.
func TestTwin(t *testing.T) {
	names := strings.NewReplacer(
		"worker for github.com/eatonphil/gosqlite", "worker for github.com/bvinc/go-sqlite-lite",
		"github.com/eatonphil/gosqlite", "github.com/bvinc/go-sqlite-lite/sqlite3",
		"Package eatonphil adapts github.com/eatonphil/gosqlite:", "Package bvinc adapts github.com/bvinc/go-sqlite-lite:",
		"eatonphil", "bvinc",
		"gosqlite", "sqlite3",
	)
	for mine, twin := range map[string]string{
		"bvinc.go":          "../eatonphil/eatonphil.go",
		"stmt.go":           "../eatonphil/stmt.go",
		"addedcost_test.go": "../eatonphil/addedcost_test.go",
		"jobs_test.go":      "../eatonphil/jobs_test.go",
		"worker/main.go":    "../eatonphil/worker/main.go",
	} {
		a, err := os.ReadFile(twin)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(mine)
		if err != nil {
			t.Fatal(err)
		}
		there, here := strings.Split(names.Replace(string(a)), "\n"), strings.Split(string(b), "\n")
		for i := range max(len(there), len(here)) {
			if i >= len(there) || i >= len(here) || there[i] != here[i] {
				t.Errorf("%s differs from %s from line %d on", mine, twin, i+1)
				break
			}
		}
	}
}
