package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestContributing checks that the files that CONTRIBUTING.md names exist, and that they contain
// the names that CONTRIBUTING.md says they contain.
func TestContributing(t *testing.T) {
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		data, err := os.ReadFile(filepath.Join(source.Root, filepath.FromSlash(path)))
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	text := read("CONTRIBUTING.md")
	files := regexp.MustCompile("`((?:cmd|internal|worker|docs)/[a-z0-9_/]+\\.[a-z]+)`").FindAllStringSubmatch(text, -1)
	pairs := regexp.MustCompile("`([A-Za-z.]+)` in `([a-z0-9_/]+\\.go)`").FindAllStringSubmatch(text, -1)
	if len(files) < 15 || len(pairs) < 8 {
		t.Fatalf("found only %d file names and %d names in files: the form of the page has changed", len(files), len(pairs))
	}
	for _, f := range files {
		read(f[1])
	}
	for _, p := range pairs {
		name := p[1][strings.LastIndex(p[1], ".")+1:]
		if !regexp.MustCompile(`(?m)^(func (\(.*\) )?|type |var |const |\t)` + name + `\b`).MatchString(read(p[2])) {
			t.Errorf("%s declares no %s", p[2], name)
		}
	}
}
