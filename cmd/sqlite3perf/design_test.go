package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
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

var updateRules = flag.Bool("update-rules", false, "write the linter's rules of the rooms into .golangci.yml")

const module = "github.com/sqlite3perf/sqlite3perf"

// room is a directory that docs/design.md lists.
type room struct {
	pattern string // such as drivers/NAME
	below   bool   // it includes the packages below it
}

// rooms reads the list of docs/design.md.
func rooms(fsys fs.FS) ([]room, error) {
	data, err := fs.ReadFile(fsys, "docs/design.md")
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(string(data), "## The house\n\n```\n")
	text, _, ok := strings.Cut(text, "\n```\n")
	if !ok {
		return nil, fmt.Errorf("docs/design.md has no list of rooms below its heading The house")
	}
	var list []room
	for line := range strings.Lines(text) {
		if dir, about, ok := strings.Cut(line, "/ "); ok && !strings.HasPrefix(line, " ") {
			list = append(list, room{dir, strings.Contains(about, "packages below it")})
		}
	}
	return list, nil
}

// in returns the room's directory that contains dir: dir itself, or one above it.
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

// find returns the index of dir's room in the list, and the room's directory. The index
// is -1 if no room contains dir.
func find(list []room, dir string) (int, string) {
	for i, r := range list {
		if d, ok := r.in(dir); ok {
			return i, d
		}
	}
	return -1, ""
}

// engine are the packages of the worker module that only workers, and tests, link.
var engine = []string{"worker", "worker/addedcost", "worker/job", "worker/driver/connpool", "worker/driver/drivertest", "worker/driver/sqldriver"}

// violations returns where the source tree differs from the list in docs/design.md.
func violations(fsys fs.FS) ([]string, error) {
	list, err := rooms(fsys)
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
			case at < own:
				wrong = append(wrong, name+" imports "+target+", which docs/design.md lists above "+dir)
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

// TestRooms checks that docs/design.md's list of rooms is complete and true, and that
// imports point down the list.
func TestRooms(t *testing.T) {
	wrong, err := violations(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestRoomsViolated checks a tree in which every rule is broken once.
func TestRoomsViolated(t *testing.T) {
	file := func(imports ...string) *fstest.MapFile {
		text := "package p\n"
		for _, i := range imports {
			text += "import _ " + strconv.Quote(i) + "\n"
		}
		return &fstest.MapFile{Data: []byte(text)}
	}
	got, err := violations(fstest.MapFS{
		"docs/design.md": {Data: []byte("## The house\n\n```\nstudy/   above\n         and more/ of it\nstats/   below\ngone/    nothing\n" +
			"drivers/NAME/   with the packages below it\nworker/   the engine\nworker/plan/   a plan\n```\n")},
		"study/a.go":         file("fmt", module+"/stats", module+"/worker/plan"),
		"stats/a.go":         file(module + "/study"),
		"stats/b_test.go":    file(module + "/worker"),
		"stats/c.go":         file(module+"/worker", module+"/nowhere"),
		"stats/more/a.go":    file(),
		"drivers/x/y/a.go":   file(module+"/drivers/x", module+"/worker"),
		"drivers/y/a.go":     file(module + "/drivers/x"),
		"worker/a.go":        file("go.yaml.in/yaml/v3"),
		"worker/plan/a.go":   file(module + "/worker"),
		"stats/testdata/a":   {},
		".hidden/nowhere.go": file(),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"drivers/y/a.go imports drivers/x of drivers/x, which is beside drivers/y",
		"stats/a.go imports study, which docs/design.md lists above stats",
		"stats/c.go imports worker, which only workers link",
		"stats/c.go imports nowhere, which docs/design.md does not list",
		"stats/more/a.go: docs/design.md does not list the directory",
		"worker/a.go imports go.yaml.in/yaml/v3: a worker links no YAML",
		"worker/plan/a.go imports worker, which docs/design.md lists above worker/plan",
		"docs/design.md lists gone/, which does not exist",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// roomRules returns the linter's rules for the rooms of one module. Each room must not
// import one above it.
func roomRules(list []string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for i, dir := range list[min(1, len(list)):] {
		var deny []string
		for _, above := range list[:i+1] {
			name := strings.ReplaceAll(above, "/", "-")
			if seen[above] {
				deny = append(deny, "*"+name)
				continue
			}
			seen[above] = true
			deny = append(deny, fmt.Sprintf("&%s {pkg: %s/%s$, desc: docs/design.md lists it above this package}", name, module, above))
		}
		fmt.Fprintf(&b, "        %s: {files: [\"${config-path}/%[1]s/*.go\"], deny: [%s]}\n", dir, strings.Join(deny, ", "))
	}
	return b.String()
}

// TestLinterHoldsRooms compares the linter's rules with docs/design.md's list.
func TestLinterHoldsRooms(t *testing.T) {
	root := os.DirFS("../..")
	list, err := rooms(root)
	if err != nil {
		t.Fatal(err)
	}
	var own, workers []string
	for _, r := range list {
		goFiles, err := fs.Glob(root, r.pattern+"/*.go")
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case len(goFiles) == 0: // a driver, which is its own module, or not a package
		case r.pattern == "worker" || strings.HasPrefix(r.pattern, "worker/"):
			workers = append(workers, r.pattern)
		default:
			own = append(own, r.pattern)
		}
	}
	const file = "../../.golangci.yml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "writes them.\n", "    misspell:\n"
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no rules between %q and %q", file, begin, end)
	}
	want := roomRules(own) + roomRules(workers)
	if *updateRules {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s is not what docs/design.md lists (go test ./cmd/sqlite3perf -run TestLinterHoldsRooms -update-rules writes it):\n%s", file, d)
	}
}

// TestLinked checks that a worker does not link YAML and that the command does not link
// the engine, not even through another package.
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
			t.Errorf("%s in %s does not link the plan: is this the list of what it links?", c.pkg, c.dir)
		}
		for _, p := range linked {
			if c.none(p) {
				t.Errorf("%s in %s links %s", c.pkg, c.dir, p)
			}
		}
	}
}

// TestExamples checks that each package of the root and the worker module has a runnable
// example, except commands and packages for tests.
func TestExamples(t *testing.T) {
	root := os.DirFS("../..")
	list, err := rooms(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		names, err := fs.Glob(root, r.pattern+"/*.go")
		if err != nil {
			t.Fatal(err)
		}
		// deploy has nothing but a test.
		needed, found := slices.ContainsFunc(names, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }), false
		for _, name := range names {
			data, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "_test.go") {
				found = found || slices.ContainsFunc(doc.Examples(file), func(e *doc.Example) bool { return e.Output != "" })
				continue
			}
			forTests := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
			needed = needed && file.Name.Name != "main" && !forTests
		}
		if needed && !found {
			t.Errorf("%s has no example with an output", r.pattern)
		}
	}
}

// TestOnePlaceForTemporaryFiles checks that nothing but [lab.NewTemporary] makes something in
// the system's directory for temporary files, where only what it marks is swept.
func TestOnePlaceForTemporaryFiles(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(os.DirFS("../.."), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == "docs" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != "."): // docs has tools of ours
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path.Join("../..", file))
		for _, call := range []string{`MkdirTemp("",`, `CreateTemp("",`, "MkdirTemp(os.TempDir(),", "CreateTemp(os.TempDir(),"} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s has %s…: want lab.NewTemporary", file, call)
			}
		}
		// Every command that measures sweeps what has this prefix in its directory for databases.
		for _, call := range regexp.MustCompile(`lab\.NewScratch\(.*`).FindAllString(string(text), -1) {
			if strings.HasPrefix(file, "cmd/") && !strings.Contains(call, ", runDirectory)") && !strings.Contains(call, `, ".sqlite3perf-output-")`) {
				t.Errorf("%s has %s: want the prefix runDirectory", file, call)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
