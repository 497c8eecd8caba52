package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
)

// write creates files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the text of a file below dir.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// clone creates a source tree with the driver "toy", a module proxy with the given versions of its
// library, and a tool that prints what the command "sqlite3perf compare" would print. With version v1.2.0
// of the library, the driver's tests fail.
func clone(t *testing.T, versions ...string) (*bumper, *bytes.Buffer) {
	t.Helper()
	root, proxy := t.TempDir(), t.TempDir()
	for _, v := range versions {
		var module bytes.Buffer
		w := zip.NewWriter(&module)
		for name, text := range map[string]string{"go.mod": "module example.com/lib\n", "lib.go": "package lib\n\nconst Version = \"" + v + "\"\n"} {
			f, err := w.Create("example.com/lib@" + v + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(proxy, "example.com", "lib", "@v"), map[string]string{
			v + ".info": `{"Version": "` + v + `", "Time": "2026-0` + v[3:4] + `-02T23:04:05-05:00"}`, v + ".mod": "module example.com/lib\n", v + ".zip": module.String(),
			"list": strings.Join(versions, "\n") + "\n",
		})
	}
	write(t, root, map[string]string{
		"go.mod":                    "module github.com/sqlite3perf/sqlite3perf\n",
		"worker/go.mod":             "module github.com/sqlite3perf/sqlite3perf/worker\n",
		"CHANGELOG.md":              "# Changelog\n\n## Unreleased\n\n### New\n\n- A thing.\n\n## 1.0.0\n\n- All.\n",
		"drivers/toy/go.mod":        "module example.com/toy\n\ngo 1.26\n\nrequire example.com/lib v1.0.0\n",
		"drivers/toy/toy.go":        "package toy\n\nimport \"example.com/lib\"\n\nconst Version = lib.Version\n",
		"drivers/toy/toy_test.go":   "package toy\n\nimport \"testing\"\n\nfunc TestToy(t *testing.T) {\n\tif Version == \"v1.2.0\" {\n\t\tt.Error(\"it cannot do this\")\n\t}\n}\n",
		"drivers/toy/driver.json":   "{\n  \"name\": \"toy\",\n  \"module\": \"example.com/lib\",\n  \"kind\": \"transpiled\",\n  \"interface\": \"direct\"\n}\n",
		"drivers/other/driver.json": `{"name": "other", "module": "x", "kind": "other language", "interface": "direct", "command": ["other"]}`,
		"tool":                      "#!/bin/sh\necho \"$@\" > asked\necho '{\"cells\": [{\"workload\": \"simple\", \"phase\": \"query\", \"verdict\": \"same\"}]}'\nexit 4\n",
	})
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	var out bytes.Buffer
	return &bumper{root: root, out: &out, tool: []string{filepath.Join(root, "tool")}, workloads: "simple", time: "1s"}, &out
}

func TestBump(t *testing.T) {
	b, out := clone(t, "v1.0.0", "v1.1.0")
	if err := b.run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if want := "DRIVER  PINNED  NEWEST  RELEASED\ntoy     v1.0.0  v1.1.0  2026-01-03\n"; out.String() != want {
		t.Errorf("got\n%s, want\n%s", out, want)
	}
	if got := read(t, b.root, "drivers/toy/go.mod"); !strings.Contains(got, "v1.0.0") {
		t.Errorf("the list changed go.mod:\n%s", got)
	}
	if err := b.run(t.Context(), []string{"all"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"drivers/toy/go.mod":      "module example.com/toy\n\ngo 1.26\n\nrequire example.com/lib v1.1.0\n",
		"drivers/toy/driver.json": "{\n  \"name\": \"toy\",\n  \"module\": \"example.com/lib\",\n  \"kind\": \"transpiled\",\n  \"interface\": \"direct\",\n  \"release\": {\"version\": \"v1.1.0\", \"date\": \"2026-01-03\"}\n}\n",
		"asked":                   "compare toy@v1.0.0 toy@v1.1.0 --workloads simple --time 1s --format json --quiet\n",
		"CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n### New\n\n- A thing.\n\n### Drivers\n\n" +
			"- **toy**: v1.1.0 instead of v1.0.0, released 2026-01-03. Of 1 measured cells, none is clearly slower or faster.\n\n## 1.0.0\n\n- All.\n",
	} {
		if d := cmp.Diff(want, read(t, b.root, name)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	out.Reset()
	if err := b.run(t.Context(), []string{"toy"}); err != nil || !strings.Contains(out.String(), "toy     v1.1.0  pinned") {
		t.Errorf("with the newest release: %v\n%s", err, out)
	}
	if err := b.run(t.Context(), []string{"other"}); err == nil || !strings.Contains(err.Error(), `unknown driver "other"`) {
		t.Errorf("a driver without a module: %v", err)
	}
}

// TestBroken updates to a release with which the driver's tests fail, and to a release that the proxy
// does not have.
func TestBroken(t *testing.T) {
	b, out := clone(t, "v1.0.0", "v1.2.0")
	changelog := read(t, b.root, "CHANGELOG.md")
	if err := b.run(t.Context(), []string{"toy"}); err == nil || err.Error() != "failed: toy" {
		t.Errorf("got error %v", err)
	}
	for _, want := range []string{"it cannot do this", "its tests fail with v1.2.0: mend it", "git restore"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q", out, want)
		}
	}
	if got := read(t, b.root, "CHANGELOG.md"); got != changelog {
		t.Errorf("the changelog has a release that does not work:\n%s", got)
	}
	t.Setenv("GOPROXY", "off")
	if err := b.run(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := b.run(t.Context(), []string{"toy"}); err == nil || err.Error() != "failed: toy" {
		t.Errorf("without a network: %v", err)
	}
}

// TestFound checks how the function "found" describes a comparison that sqlite3perf wrote.
func TestFound(t *testing.T) {
	text, err := os.ReadFile("../report/testdata/comparison-compared.json")
	if err != nil {
		t.Fatal(err)
	}
	var sides compare.JSONSides
	if err := json.Unmarshal(text, &sides); err != nil {
		t.Fatal(err)
	}
	want := "Of 5 measured cells, analytics json: bad, read-write mix: fewer failed, simple insert is slower (2.30x); the mean ratio of times is 1.63x (1.52 to 1.73)."
	if got := found(&sides); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAddLine(t *testing.T) {
	for name, test := range map[string]struct{ before, want string }{
		"no file":    {"", "# Changelog\n\n## Unreleased\n\n### Drivers\n\n- new\n"},
		"no section": {"# Changelog\n\nIntro.\n\n## 1.0.0\n\n- All.\n", "# Changelog\n\nIntro.\n\n## Unreleased\n\n### Drivers\n\n- new\n\n## 1.0.0\n\n- All.\n"},
		"a line":     {"# C\n\n## Unreleased\n\n### Drivers\n\n- old\n\n### Changed\n\n- x\n", "# C\n\n## Unreleased\n\n### Drivers\n\n- new\n- old\n\n### Changed\n\n- x\n"},
		"empty":      {"# C\n\n## Unreleased\n", "# C\n\n## Unreleased\n\n### Drivers\n\n- new\n"},
	} {
		file := filepath.Join(t.TempDir(), "CHANGELOG.md")
		if test.before != "" {
			write(t, filepath.Dir(file), map[string]string{"CHANGELOG.md": test.before})
		}
		if err := addLine(file, "- new"); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(test.want, read(t, filepath.Dir(file), "CHANGELOG.md")); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
