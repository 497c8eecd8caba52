package bvinc_test

import (
	"os"
	"strings"
	"testing"
)

// TestTwin compares this driver's hand-written code with the hand-written code of the driver
// eatonphil. The library of eatonphil is a fork of this driver's library. The two files must be the
// same, so that a difference in added cost is a difference between the libraries.
func TestTwin(t *testing.T) {
	names := strings.NewReplacer(
		"github.com/eatonphil/gosqlite", "github.com/bvinc/go-sqlite-lite/sqlite3",
		"eatonphil", "bvinc",
		"gosqlite", "sqlite3",
	)
	const name = "addedcost_test.go"
	twin, err := os.ReadFile("../eatonphil/" + name)
	if err != nil {
		t.Fatal(err)
	}
	mine, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	there, here := strings.Split(names.Replace(string(twin)), "\n"), strings.Split(string(mine), "\n")
	for i := range max(len(there), len(here)) {
		if i >= len(there) || i >= len(here) || there[i] != here[i] {
			t.Fatalf("%s differs from its twin from line %d on", name, i+1)
		}
	}
}
