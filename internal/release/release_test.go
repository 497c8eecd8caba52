package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// toy is a repository like this one, without dependencies.
const toy = `
-- LICENSE --
free
-- README.md --
# Toy

<!-- in a clone -->
Clone it.
<!-- in a release:
Type go install example.com/toy/cmd/toy@VERSION.
-->

It speaks, and has a VERSION.
-- CHANGELOG.md --
# Changelog

## Unreleased

- later

## v0.2.0 - 2026-11-28

- # is no comment
- the tool speaks

## v0.2.1

## v0.1.0

- first
-- go.mod --
module example.com/toy

go 1.26

require (
	example.com/toy/record v0.0.0
	example.com/toy/worker v0.0.0
)

replace (
	example.com/toy/record => ./record
	example.com/toy/worker => ./worker
)
-- cmd/toy/main.go --
package main

import (
	"fmt"

	"example.com/toy/record"
	"example.com/toy/worker"
)

func main() { fmt.Println(worker.Name, record.Name) }
-- worker/go.mod --
module example.com/toy/worker

go 1.26
-- worker/worker.go --
package worker

const Name = "worker"
-- record/go.mod --
module example.com/toy/record

go 1.26
-- record/record.go --
package record

const Name = "record"
`

// repository creates a Git repository with the files of an archive, and makes it the working directory.
func repository(t *testing.T, archive string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(t, f.Name, string(f.Data))
	}
	for _, kv := range []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"} {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	gitDo(t, "init", "--quiet", "--initial-branch=main")
	gitDo(t, "add", "--all")
	gitDo(t, "commit", "--quiet", "--message=first")
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func gitDo(t *testing.T, args ...string) string {
	t.Helper()
	out, err := git(t.Context(), ".", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRelease releases the toy, and installs it from the modules that were published to files.
func TestRelease(t *testing.T) {
	repository(t, toy)
	before := gitDo(t, "rev-parse", "HEAD")
	proxy := t.TempDir()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-proxy", proxy, "v0.2.0"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if want := "git push --atomic origin main v0.2.0 record/v0.2.0 worker/v0.2.0\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
	if got := gitDo(t, "tag"); got != "record/v0.2.0\nv0.2.0\nworker/v0.2.0" {
		t.Errorf("tags: %s", got)
	}
	if got := gitDo(t, "tag", "--list", "--format=%(contents)", "v0.2.0"); got != "toy v0.2.0\n\n- # is no comment\n- the tool speaks" {
		t.Errorf("the tag says %q", got)
	}
	mod := gitDo(t, "show", "v0.2.0:go.mod")
	if strings.Contains(mod, "replace") || !strings.Contains(mod, "toy/worker v0.2.0") || !strings.Contains(mod, "toy/record v0.2.0") {
		t.Errorf("go.mod: %s", mod)
	}
	if got := gitDo(t, "diff", "--name-only", before, "v0.2.0"); got != "README.md\ngo.mod\ngo.sum" {
		t.Errorf("changed: %s", got)
	}
	readme := "# Toy\n\nType go install example.com/toy/cmd/toy@v0.2.0.\n\nIt speaks, and has a VERSION."
	if got := gitDo(t, "show", "v0.2.0:README.md"); got != readme {
		t.Errorf("README.md: %s", got)
	}
	if head, status := gitDo(t, "rev-parse", "HEAD"), gitDo(t, "status", "--porcelain", "--branch"); head != before || status != "## main" {
		t.Errorf("after the release, main is at %s, and git status prints %s", head, status)
	}
	if got := gitDo(t, "worktree", "list"); strings.Contains(got, "\n") {
		t.Errorf("worktrees remain: %s", got)
	}

	home := t.TempDir()
	cmd := exec.Command("go", "install", "example.com/toy/cmd/toy@v0.2.0")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY="+fileURL(proxy), "GONOSUMDB=example.com", "GOPATH="+home, "GOBIN=", "GOMODCACHE=", "GOFLAGS=-modcacherw")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	if out, err := exec.Command(filepath.Join(home, "bin", "toy")).CombinedOutput(); string(out) != "worker record\n" {
		t.Errorf("the tool says %q, %v", out, err)
	}
}

// TestRefused checks that every mistake is refused with one line that says what to type, before
// anything is tagged.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T)
		args   []string
		want   string
	}{
		"no version":        {nil, nil, "type the version: go run ./internal/release v0.1.0"},
		"unknown flag":      {nil, []string{"-force", "v0.2.0"}, "type the version"},
		"short":             {nil, []string{"0.2"}, `"0.2" is not a version: type one such as v0.1.0`},
		"not canonical":     {nil, []string{"v0.2"}, "is not a version"},
		"build":             {nil, []string{"v0.2.0+1"}, "is not a version"},
		"another major":     {nil, []string{"v2.0.0"}, "v2.0.0 needs module paths that end in /v2"},
		"branch":            {func(t *testing.T) { gitDo(t, "switch", "-c", "x") }, []string{"v0.2.0"}, "this is x, but releases are made of main: git switch main"},
		"detached":          {func(t *testing.T) { gitDo(t, "switch", "--detach") }, []string{"v0.2.0"}, "git switch main"},
		"dirty":             {func(t *testing.T) { write(t, "record/new.go", "package record\n") }, []string{"v0.2.0"}, "files are not committed, such as record/new.go: git commit them"},
		"no section":        {nil, []string{"v0.3.0"}, `CHANGELOG.md has no section for v0.3.0, or an empty one: add the line "## v0.3.0" below "## Unreleased"`},
		"empty section":     {nil, []string{"v0.2.1"}, "or an empty one"},
		"released":          {func(t *testing.T) { gitDo(t, "tag", "v0.2.0") }, []string{"v0.2.0"}, "the tag v0.2.0 exists"},
		"released in part":  {func(t *testing.T) { gitDo(t, "tag", "worker/v0.2.0") }, []string{"v0.2.0"}, "if it was never pushed: git tag -d v0.2.0 record/v0.2.0 worker/v0.2.0"},
		"not greater":       {func(t *testing.T) { gitDo(t, "tag", "v0.10.0") }, []string{"v0.2.0"}, "v0.2.0 is not greater than v0.10.0"},
		"another replace":   {edit("go.mod", "replace (", "replace (\nexample.com/a v1.0.0 => ./a\n"), []string{"v0.2.0"}, "go mod edit -dropreplace example.com/a@v1.0.0"},
		"exclude":           {edit("go.mod", "replace (", "exclude example.com/a v1.0.0\nreplace ("), []string{"v0.2.0"}, "go mod edit -dropexclude example.com/a@v1.0.0"},
		"replace in a part": {edit("worker/go.mod", "go 1.26", "go 1.26\nreplace example.com/a => ../a\n"), []string{"v0.2.0"}, "go -C worker mod edit -dropreplace example.com/a"},
		"does not compile":  {edit("worker/worker.go", "Name =", "Name int ="), []string{"v0.2.0"}, "nothing was tagged: go -C . vet"},
		"no command":        {edit("cmd/toy/main.go", "package main", "package toy"), []string{"v0.2.0"}, "nothing was tagged: go install"},
	} {
		t.Run(name, func(t *testing.T) {
			repository(t, toy)
			if c.change != nil {
				c.change(t)
			}
			tags := gitDo(t, "tag")
			var out bytes.Buffer
			err := run(t.Context(), c.args, &out)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			} else if text := err.Error(); !strings.Contains(text, "nothing was tagged") && strings.Contains(text, "\n") {
				t.Errorf("more than one line: %s", text)
			}
			if got := gitDo(t, "tag"); got != tags {
				t.Errorf("tags before: %s; after: %s", tags, got)
			}
			if got := gitDo(t, "worktree", "list"); strings.Contains(got, "\n") {
				t.Errorf("worktrees remain: %s", got)
			}
		})
	}
}

// edit returns a function that replaces text in a file, and commits the file.
func edit(file, old, with string) func(t *testing.T) {
	return func(t *testing.T) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte(old)) {
			t.Fatalf("no %q in %s", old, file)
		}
		write(t, file, strings.Replace(string(data), old, with, 1))
		gitDo(t, "commit", "--quiet", "--all", "--message=changed")
	}
}

// TestTagsOrNone checks that no tag of a release remains if one of the tags cannot be made.
func TestTagsOrNone(t *testing.T) {
	repository(t, toy)
	r := &release{root: ".", version: "v0.2.0", module: "example.com/toy", parts: []part{{"example.com/toy/worker", "worker"}, {"x", "not..allowed"}}}
	if err := r.tag(t.Context(), "HEAD"); err == nil || !strings.Contains(err.Error(), "not..allowed") {
		t.Errorf("got %v", err)
	}
	if got := gitDo(t, "tag"); got != "" {
		t.Errorf("tags: %s", got)
	}
}
