package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// TestManual generates the files that installation packages (such as .deb) contain besides the executable: a man
// page for each command, and completions for shells. With -update it writes them to bin/manual. The pages have
// the date in the environment variable SOURCE_DATE_EPOCH.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if *update {
		dir = filepath.Join("..", "..", "bin", "manual")
	}
	root := rootCommand(cli.ProcessEnvironment())
	root.DisableAutoGenTag = true
	names := []string{"sqlite3perf.1"}
	for _, g := range groups {
		for _, c := range commandsOf(root, g.title) {
			names = append(names, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		}
	}
	pages := t.TempDir()
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "sqlite3perf", Manual: "sqlite3perf"}, pages); err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(pages, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range list {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "man", filepath.Base(page)+".gz"), b.Bytes())
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(pages, name))
		if err != nil || !bytes.Contains(text, []byte(".SH EXAMPLE")) || !bytes.Contains(text, []byte(".SH OPTIONS")) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	for file, shell := range map[string]string{"sqlite3perf.bash": "bash", "_sqlite3perf": "zsh", "sqlite3perf.fish": "fish"} {
		out, code := run1(t, 0, "completion", shell)
		if code != cli.ExitOK || !strings.Contains(out, "__complete") {
			t.Errorf("completion %s: exit status %d: %.200s", shell, code, out)
		}
		writeFile(t, filepath.Join(dir, "completions", file), []byte(out))
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
