package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/sqlite3perf/sqlite3perf"

// room is a directory, or a pattern of directories, in the list in docs/design.md.
type room struct {
	pattern string // such as drivers/NAME
	below   bool   // the entry includes the packages below the directory
	layer   int    // number of the layer, from 0, which is the highest
}

// rooms parses the list in docs/design.md. The list begins with the highest layer. For each
// layer, it has a line with the layer's name, followed by indented lines with the layer's
// directories.
func rooms(fsys fs.FS) (list []room, layers []string, err error) {
	data, err := fs.ReadFile(fsys, "docs/design.md")
	if err != nil {
		return nil, nil, err
	}
	_, text, _ := strings.Cut(string(data), "## The house\n\n```\n")
	text, _, ok := strings.Cut(text, "\n```\n")
	if !ok {
		return nil, nil, fmt.Errorf("docs/design.md has no list of rooms below its heading The house")
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			layers = append(layers, strings.TrimSpace(line))
		} else if dir, about, ok := strings.Cut(line[2:], "/ "); ok && !strings.HasPrefix(dir, " ") {
			list = append(list, room{dir, strings.Contains(about, "packages below it"), len(layers) - 1})
		}
	}
	return list, layers, nil
}

// The method "in" returns the room's directory that contains dir. That is dir itself or a directory
// above it. The result is false if the room does not contain dir.
func (r room) in(dir string) (string, bool) {
	elements := strings.Split(dir, "/")
	pattern := strings.Split(r.pattern, "/")
	if len(elements) < len(pattern) || len(elements) > len(pattern) && !r.below {
		return "", false
	}
	for i, p := range pattern {
		if p != "NAME" && p != elements[i] {
			return "", false
		}
	}
	return strings.Join(elements[:len(pattern)], "/"), true
}

// The function "find" finds the room that contains dir. It returns the index of the room in the
// parameter "list", and the room's directory. The index is -1 if no room contains dir.
func find(list []room, dir string) (int, string) {
	for i, r := range list {
		if d, ok := r.in(dir); ok {
			return i, d
		}
	}
	return -1, ""
}

// engine lists the packages of the worker module that only workers and tests link.
var engine = []string{"worker", "worker/addedcost", "worker/job", "worker/driver/connpool", "worker/driver/drivertest", "worker/driver/litedriver", "worker/driver/sqldriver", "worker/suite"}

// violations returns all differences between the source tree and the list in docs/design.md.
func violations(fsys fs.FS) ([]string, error) {
	list, layers, err := rooms(fsys)
	if err != nil {
		return nil, err
	}
	var wrong []string
	used := map[int]bool{}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if i, _ := find(list, name); i >= 0 {
				used[i] = true
			}
			if base := d.Name(); name != "." && strings.HasPrefix(base, ".") || base == "testdata" || name == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		own, dir := find(list, path.Dir(name))
		if own < 0 {
			wrong = append(wrong, name+": docs/design.md does not list the directory")
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ImportsOnly)
		if err != nil {
			return err
		}
		ofWorker := strings.HasPrefix(name, "worker/") || strings.HasPrefix(name, "drivers/")
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if ofWorker && strings.Contains(imported, "yaml") {
				wrong = append(wrong, name+" imports "+imported+": a worker links no YAML")
			}
			target, ok := strings.CutPrefix(imported, module+"/")
			if !ok {
				continue
			}
			at, there := find(list, target)
			switch {
			case at < 0:
				wrong = append(wrong, name+" imports "+target+", which docs/design.md does not list")
			case list[at].layer < list[own].layer && !strings.HasSuffix(name, "_test.go"):
				wrong = append(wrong, fmt.Sprintf("%s imports %s: the %s are above the %s", name, target, layers[list[at].layer], layers[list[own].layer]))
			case at == own && there != dir:
				wrong = append(wrong, name+" imports "+target+" of "+there+", which is beside "+dir)
			case !ofWorker && !strings.HasSuffix(name, "_test.go") && slices.Contains(engine, target):
				wrong = append(wrong, name+" imports "+target+", which only workers link")
			}
		}
		return nil
	})
	for i, r := range list {
		if !used[i] {
			wrong = append(wrong, "docs/design.md lists "+r.pattern+"/, which does not exist")
		}
	}
	return wrong, err
}

// TestRooms checks that the list in docs/design.md is complete and correct, and that no package
// imports one from a higher layer.
func TestRooms(t *testing.T) {
	wrong, err := violations(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestRoomsViolated checks a tree that breaks every rule once. The function "violations" must find all of this.
func TestRoomsViolated(t *testing.T) {
	file := func(imports ...string) *fstest.MapFile {
		text := "package p\n"
		for _, i := range imports {
			text += "import _ " + strconv.Quote(i) + "\n"
		}
		return &fstest.MapFile{Data: []byte(text)}
	}
	got, err := violations(fstest.MapFS{
		"docs/design.md": {Data: []byte("## The house\n\n```\nquestions\n  study/   above\n           and more/ of it\nknowledge\n  stats/   below\n  gone/    nothing\n" +
			"workers\n  drivers/NAME/   with the packages below it\n  worker/   the engine\n  worker/plan/   a plan\n```\n")},
		"study/a.go":         file("fmt", module+"/stats", module+"/worker/plan"),
		"stats/a.go":         file(module + "/study"),
		"stats/b_test.go":    file(module+"/worker", module+"/study"),
		"stats/c.go":         file(module+"/worker", module+"/nowhere"),
		"stats/more/a.go":    file(),
		"drivers/x/y/a.go":   file(module+"/drivers/x", module+"/worker"),
		"drivers/y/a.go":     file(module + "/drivers/x"),
		"worker/a.go":        file("go.yaml.in/yaml/v3"),
		"worker/plan/a.go":   file(module + "/worker"), // no violation here, because Go itself forbids import cycles
		"stats/testdata/a":   {},
		".hidden/nowhere.go": file(),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"drivers/y/a.go imports drivers/x of drivers/x, which is beside drivers/y",
		"stats/a.go imports study: the questions are above the knowledge",
		"stats/c.go imports worker, which only workers link",
		"stats/c.go imports nowhere, which docs/design.md does not list",
		"stats/more/a.go: docs/design.md does not list the directory",
		"worker/a.go imports go.yaml.in/yaml/v3: a worker links no YAML",
		"docs/design.md lists gone/, which does not exist",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestLinked checks that a worker links no package for YAML, and that the command links none of the
// packages in the variable "engine", not even through another package.
func TestLinked(t *testing.T) {
	for _, c := range []struct {
		dir, pkg string
		none     func(imported string) bool
	}{
		{"../../drivers/modernc", "./worker", func(p string) bool { return strings.Contains(p, "yaml") }},
		{"../..", "./cmd/sqlite3perf", func(p string) bool {
			p, ok := strings.CutPrefix(p, module+"/")
			return ok && slices.Contains(engine, p)
		}},
	} {
		cmd := exec.Command("go", "list", "-deps", c.pkg)
		cmd.Dir = c.dir
		cmd.Env = append(os.Environ(), "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list %s in %s: %v", c.pkg, c.dir, err)
		}
		linked := strings.Fields(string(out))
		if !slices.Contains(linked, module+"/worker/plan") {
			t.Errorf("%s in %s doesn't seem to link worker/plan, so the list of linked packages must be wrong", c.pkg, c.dir)
		}
		for _, p := range linked {
			if c.none(p) {
				t.Errorf("%s in %s links %s", c.pkg, c.dir, p)
			}
		}
	}
}

// TestOnePlaceForTemporaryFiles checks that only [process.NewTemporary] creates files in the system's
// temporary directory, because only files that it has marked are removed later. For the same reason,
// directories for databases must have the prefix cli.RunDirectory.
func TestOnePlaceForTemporaryFiles(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(os.DirFS("../.."), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == "docs" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != "."): // skips docs, which has its own tools
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path.Join("../..", file))
		for _, call := range []string{`MkdirTemp("",`, `CreateTemp("",`, "MkdirTemp(os.TempDir(),", "CreateTemp(os.TempDir(),"} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s has %s…: want process.NewTemporary", file, call)
			}
		}
		// Every command that measures removes leftovers from its directory for databases. It
		// recognizes them by the prefix cli.RunDirectory.
		for _, call := range regexp.MustCompile(`process\.NewScratch\(.*`).FindAllString(string(text), -1) {
			if strings.HasPrefix(file, "cmd/") && !strings.Contains(call, ", RunDirectory)") && !strings.Contains(call, ", cli.RunDirectory)") && !strings.Contains(call, `, ".sqlite3perf-output-")`) {
				t.Errorf("%s has %s: want the prefix cli.RunDirectory", file, call)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
