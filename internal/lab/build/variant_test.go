package build_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func TestJoinRefs(t *testing.T) {
	list := known(t)
	for typed, want := range map[string][]string{
		"mattn,modernc":                          {"mattn", "modernc"},
		"mattn,mattn:GOGC=400":                   {"mattn", "mattn:GOGC=400"},
		"mattn:tags=a+b,GOGC=400,modernc":        {"mattn:tags=a+b,GOGC=400", "modernc"},
		"mattn:GOGC=400,mattn:tags=a":            {"mattn:GOGC=400", "mattn:tags=a"},
		"mattn:GOGC=400,mattn=../x":              {"mattn:GOGC=400", "mattn=../x"},
		"mattn@v1.14.22:GOGC=400,env.A=b":        {"mattn@v1.14.22:GOGC=400,env.A=b"},
		"mattn=../x,modernc:GOAMD64=v3,GOGC=400": {"mattn=../x", "modernc:GOAMD64=v3,GOGC=400"},
		`mattn:env.A=x=1\,y=2,GOGC=400,./a=b`:    {`mattn:env.A=x=1\,y=2,GOGC=400`, "./a=b"},
		"mattn:GOGC=400,./x":                     {"mattn:GOGC=400", "./x"},
		"mattn:GOGC=400,modernc@v1.2.3":          {"mattn:GOGC=400", "modernc@v1.2.3"},
		"mattn:tags=a, GOGC=400, modernc":        {"mattn:tags=a,GOGC=400", "modernc"},
		"mattn,GOGC=400":                         {"mattn", "GOGC=400"}, // ParseRef gets the whole text and reports the error
		"mattn:tags=a,GOGGC=400":                 {"mattn:tags=a,GOGGC=400"},
		"mattn:GOGC=400,matn":                    {"mattn:GOGC=400", "matn"},
	} {
		got, err := build.JoinRefs(strings.Split(typed, ","), list)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v; want %q", typed, got, err, want)
		}
	}
	want := `unknown driver "b": several tags are joined with +, as in mattn:tags=a+b`
	if got, err := build.JoinRefs([]string{"mattn:tags=a", "b"}, list); err == nil || err.Error() != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestParseVariant(t *testing.T) {
	list := known(t)
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{
		"lib/go.mod":   "module github.com/mattn/go-sqlite3\n",
		"other/go.mod": "module example.com/other\n", "empty/x": "", "nameless/go.mod": "go 1.26\n",
	})
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typed, name, version, dir string
		options                   map[string]string
		env                       []string
	}{
		{typed: "mattn:tags=b+a+b", name: "mattn:tags=a+b", options: map[string]string{"tags": "a+b"}},
		{typed: "mattn:tags=b a", name: "mattn:tags=a+b", options: map[string]string{"tags": "a+b"}},
		{
			typed: "mattn:env.B=1,GOGC=0400,env.A=,tags=x", name: "mattn:tags=x,GOGC=400,env.A=,env.B=1",
			options: map[string]string{"tags": "x", "GOGC": "400", "env.A": "", "env.B": "1"}, env: []string{"A=", "B=1", "GOGC=400"},
		},
		{typed: "modernc:gogc=off,goamd64=v3", name: "modernc:GOAMD64=v3,GOGC=off", options: map[string]string{"GOAMD64": "v3", "GOGC": "off"}, env: []string{"GOGC=off"}},
		{typed: "mattn@v1.14.22:GOGC=1", name: "mattn@v1.14.22:GOGC=1", version: "v1.14.22", options: map[string]string{"GOGC": "1"}, env: []string{"GOGC=1"}},
		{typed: "mattn@latest", name: "mattn@latest", version: "latest"},
		{typed: `mattn:env.GODEBUG=a=1\,b=2`, name: `mattn:env.GODEBUG=a=1\,b=2`, options: map[string]string{"env.GODEBUG": "a=1,b=2"}, env: []string{"GODEBUG=a=1,b=2"}},
		{typed: "mattn:cflags=-O3  -DX=1", name: "mattn:cflags=-O3 -DX=1", options: map[string]string{"cflags": "-O3 -DX=1"}},
		{typed: "mattn=lib", name: "mattn=lib", dir: filepath.Join(here, "lib")},
		{typed: "mattn=./lib/", name: "mattn=lib", dir: filepath.Join(here, "lib")},
		{typed: "native=lib:tags=a", name: "native=lib:tags=a", dir: filepath.Join(here, "lib"), options: map[string]string{"tags": "a"}},
		{typed: "python:env.A=b", name: "python:env.A=b", options: map[string]string{"env.A": "b"}, env: []string{"A=b"}},
	} {
		got, err := build.ParseRef(t.Context(), c.typed, list)
		if err != nil {
			t.Errorf("%s: %v", c.typed, err)
			continue
		}
		if got.Name != c.name || got.Version != c.version || got.Dir != c.dir || !maps.Equal(got.Options, c.options) || !slices.Equal(got.Env(), c.env) {
			t.Errorf("%s: got %+v, env %q", c.typed, got, got.Env())
		}
		if again, err := build.ParseRef(t.Context(), got.Name, list); err != nil || again.Name != got.Name || !maps.Equal(again.Options, got.Options) {
			t.Errorf("%s: its name is parsed as %+v, %v", c.typed, again, err)
		}
	}
	for typed, want := range map[string]string{
		"mattn@v9.9.9":               "driver mattn@v9.9.9: there is no such version (a module of major version 9 would have another path); the pinned one is mattn@v",
		"mattn:":                     `driver mattn:: bad option "": want key=value`,
		"mattn:tags":                 `bad option "tags": want key=value`,
		"mattn:tag=a":                `unknown option "tag": did you mean "tags"?`,
		"mattn:tags=":                `bad value "" of tags: want build tags joined with +`,
		"mattn:tags=a;b":             `bad value "a;b" of tags`,
		"mattn:tags=a,tags=b":        "option tags is given twice",
		"mattn:GOGC=much":            `bad value "much" of GOGC: want a percentage such as 400, or off`,
		"mattn:GOGC=-1":              `bad value "-1" of GOGC`,
		"mattn:GOAMD64=3":            `bad value "3" of GOAMD64: want v1, v2, v3 or v4`,
		"mattn:GOMEMLIMIT=1GB":       `bad value "1GB" of GOMEMLIMIT: want a size such as 512MiB`,
		"mattn:GOMAXPROCS=0":         `bad value "0" of GOMAXPROCS`,
		"mattn:env.=x":               `unknown option "env."`,
		"mattn:env.A-B=x":            `unknown option "env.A-B"`,
		"mattn:env.A=\x1b[2J":        "of env.A: want printable text",
		"mattn:env.GOGC=1":           "option env.GOGC: leave out the prefix env.",
		"mattn:env.TMPDIR=/x":        "sqlite3perf sets TMPDIR itself",
		"modernc:cflags=-O3":         "modernc has no C code that is compiled",
		"python:GOGC=1":              "python is not a Go program: it can only have env.NAME=value",
		"python=lib":                 "python is not built, so it is measured in the version that is installed: leave out =lib",
		"GOGC=400":                   "GOGC is an option, which follows a driver, as in mattn:GOGC=400",
		"matn:GOGC=400":              `unknown driver "matn": did you mean "mattn"?`,
		"matn=lib":                   `unknown driver "matn": did you mean "mattn"?`,
		"mattn@v1.14.22=lib":         `bad version "v1.14.22=lib"`,
		"mattn=":                     ". has no go.mod",
		"mattn=absent":               "absent is not a directory: want a checkout of github.com/mattn/go-sqlite3",
		"mattn=lib/go.mod":           "lib/go.mod is not a directory",
		"mattn=empty":                "empty has no go.mod: want the root of a checkout of github.com/mattn/go-sqlite3",
		"mattn=other":                "other is the module example.com/other: want a checkout of github.com/mattn/go-sqlite3",
		"mattn=nameless":             "nameless is the module without a name: want",
		"./x:GOGC=400":               "only drivers of sqlite3perf have options, so leave out :GOGC=400",
		"github.com/mattn/go-sqlite": "to name a driver of sqlite3perf leave out the path",
	} {
		got, err := build.ParseRef(t.Context(), typed, list)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v; want %s", typed, got, err, want)
		}
	}
}

// published creates a module proxy with these versions of example.com/lib, and makes the toy
// driver use that library.
func published(t *testing.T, versions ...string) (build.Source, build.Ref) {
	t.Helper()
	s, ref := clone(t)
	proxy := t.TempDir()
	files := map[string]string{}
	for _, v := range versions {
		files["example.com/lib/@v/"+v+".info"] = `{"Version": "` + v + `", "Time": "2026-01-02T03:04:05Z"}`
		files["example.com/lib/@v/"+v+".mod"] = "module example.com/lib\n"
	}
	files["example.com/lib/@v/list"] = strings.Join(versions, "\n") + "\n"
	write(t, proxy, files)
	mod, err := os.ReadFile(filepath.Join(ref.Known.Dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, ref.Known.Dir, map[string]string{"go.mod": strings.Replace(string(mod), "\texample.com/lib => ./lib\n", "", 1)})
	server := httptest.NewServer(http.FileServer(http.Dir(proxy)))
	t.Cleanup(server.Close)
	t.Setenv("GOPROXY", server.URL)
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	return s, ref
}

func TestResolve(t *testing.T) {
	s, ref := published(t, "v1.0.0", "v1.3.0", "v1.2.0")
	b := &build.Builder{Source: s, Cache: t.TempDir()}
	known := []build.Known{*ref.Known}
	resolve := func(name string) (build.Ref, error) {
		t.Helper()
		r, err := build.ParseRef(t.Context(), name, known)
		if err != nil {
			t.Fatal(err)
		}
		return b.Resolve(t.Context(), r)
	}
	for name, want := range map[string]string{
		"toy": "toy", "toy@v1.2.0": "toy@v1.2.0", "toy@latest": "toy@v1.3.0", "toy@latest:GOGC=400,tags=a": "toy@v1.3.0:tags=a,GOGC=400",
	} {
		if got, err := resolve(name); err != nil || got.Name != want || got.Version != "" && !strings.Contains(want, got.Version) {
			t.Errorf("%s: got %s in %q, %v", name, got.Name, got.Version, err)
		}
	}
	var gone *build.VersionError
	_, err := resolve("toy@v1.9.0")
	if !errors.As(err, &gone) || !gone.Missing || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), "driver toy@v1.9.0: ") || !strings.Contains(err.Error(), "pinned is toy@v1.0.0, the newest is toy@latest") {
		t.Errorf("a version that does not exist: %v", err)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "blocked by the rules of this house", http.StatusForbidden)
	}))
	defer refusing.Close()
	t.Setenv("GOPROXY", refusing.URL)
	_, err = resolve("toy@v1.8.0")
	want := "driver toy@v1.8.0: the version cannot be had from the module proxy (403 Forbidden): name one that go list -m -versions example.com/lib lists, or the pinned one, toy@v1.0.0"
	if !errors.As(err, &gone) || err.Error() != want {
		t.Errorf("a version that is refused: %v, want %s", err, want)
	}
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	for _, name := range []string{"toy@latest", "toy@v1.2.0"} {
		if _, err := resolve(name); !errors.As(err, &gone) || gone.Missing || !strings.Contains(err.Error(), "without a network name the pinned one, toy@v1.0.0") {
			t.Errorf("%s without a network: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := build.ParseRef(ctx, "toy@latest", known)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&build.Builder{Source: s, Cache: t.TempDir()}).Resolve(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("when cancelled: %v", err)
	}
}

// TestResolveBuilt checks that resolving a version whose worker is built needs no network.
func TestResolveBuilt(t *testing.T) {
	s, ref := clone(t)
	ref.Name, ref.Version = "toy@v1.2.3", "v1.2.3"
	b := &build.Builder{Source: s, Cache: t.TempDir()}
	if _, _, err := b.Worker(t.Context(), ref, nil); err != nil {
		t.Fatal(err)
	}
	write(t, ref.Known.Dir, map[string]string{"lib/go.mod": ""}) // makes go list fail
	t.Setenv("GOPROXY", "off")
	if got, err := b.Resolve(t.Context(), ref); err != nil || got.Name != ref.Name {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestVariantBuilds checks that a variant with build options gets its own worker, and that a variant with
// only run options does not.
func TestVariantBuilds(t *testing.T) {
	s, ref := clone(t)
	write(t, s.Root, map[string]string{
		"worker/tagged.go": "//go:build special\n\npackage worker\n\nfunc init() { Tagged = \", tagged\" }\n",
		"worker/t.go":      "package worker\n\nvar Tagged string\n",
		"drivers/toy/worker/main.go": `package main

import (
	"fmt"

	_ "example.com/lib"

	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { fmt.Println(worker.Name + worker.Tagged) }
`,
		"worker/broken.go": "//go:build broken\n\npackage worker\n\nfunc init() { nonsense() }\n",
	})
	cache := t.TempDir()
	variant := func(options map[string]string) build.Ref {
		r := ref
		r.Options = options
		return r
	}
	plain, _ := made(t, s, cache, ref)
	if path, built := made(t, s, cache, variant(map[string]string{"GOGC": "400", "env.A": "b"})); path != plain || built {
		t.Errorf("GOGC: %s, built: %v", path, built)
	}
	tagged, built := made(t, s, cache, variant(map[string]string{"tags": "special"}))
	out, err := exec.Command(tagged).Output()
	if !built || err != nil || string(out) != "one, tagged\n" {
		t.Errorf("with a tag: built %v, it says %q, %v", built, out, err)
	}
	if path, built := made(t, s, cache, variant(map[string]string{"GOEXPERIMENT": "nogreenteagc"})); path == plain || !built {
		t.Errorf("with an experiment: %s, built: %v", path, built)
	}
	write(t, s.Root, map[string]string{"worker/other.go": "//go:build !(windows && other)\n\npackage worker\n"})
	t.Setenv("GOFLAGS", "-tags=special")
	both, _ := made(t, s, cache, variant(map[string]string{"tags": "other"}))
	if out, err := exec.Command(both).Output(); err != nil || string(out) != "one, tagged\n" {
		t.Errorf("a tag in addition to one in GOFLAGS: the worker says %q, %v", out, err)
	}
	t.Setenv("GOFLAGS", "")
	b := &build.Builder{Source: s, Cache: cache}
	for _, c := range []struct{ key, value, want string }{
		{"tags", "broken", "undefined: nonsense (correct tags=broken, or leave it out)"},
		{"tags", "special+speciall", "no file of example.com/lib or of what it depends on has the build tag speciall: did you mean \"special\"?"},
		{"GOEXPERIMENT", "quick", "unknown GOEXPERIMENT quick (correct GOEXPERIMENT=quick, or leave it out)"},
		{map[bool]string{true: "GOAMD64", false: "GOARM64"}[runtime.GOARCH != "amd64"], "v9", "workers are built for " + runtime.GOARCH + " here: leave out"},
	} {
		var broken *build.BuildError
		_, _, err := b.Worker(t.Context(), variant(map[string]string{c.key: c.value}), nil)
		if !errors.As(err, &broken) || broken.Reason.Code != protocol.CodeBuild || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s=%s: %v; want %s", c.key, c.value, err, c.want)
		}
	}
}

// TestDirectory checks that a worker is built from the current files of a checkout, and that workers built
// earlier stay unchanged. It also checks how long builds are expected to take.
func TestDirectory(t *testing.T) {
	s, ref := clone(t)
	write(t, s.Root, map[string]string{"drivers/toy/lib/a.go": "package lib\n\nconst Name = \"pinned\"\n", "drivers/toy/worker/main.go": `package main

import (
	"fmt"

	"example.com/lib"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { fmt.Println(worker.Name, lib.Name) }
`})
	dir := filepath.Join(t.TempDir(), "my lib")
	write(t, dir, map[string]string{"go.mod": "module example.com/lib\n\ngo 1.26\n", "a.go": "package lib\n\nconst Name = \"first\"\n"})
	r, err := build.ParseRef(t.Context(), "toy="+dir, []build.Known{*ref.Known})
	if err != nil {
		t.Fatal(err)
	}
	b := &build.Builder{Source: s, Cache: t.TempDir()}
	made := func() (path, says string, with map[string]string) {
		t.Helper()
		path, with, err := b.Worker(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(path).Output()
		if err != nil {
			t.Fatal(err)
		}
		return path, string(out), with
	}
	// Building the pinned version first doesn't make the first build from a checkout shorter.
	if _, _, err := b.Worker(t.Context(), ref, nil); err != nil {
		t.Fatal(err)
	}
	tagged := r
	tagged.Options = map[string]string{"tags": "special"}
	cold := b.Expect(t.Context(), []build.Ref{r}, 1)
	first, says, with := made()
	if warm, other := b.Expect(t.Context(), []build.Ref{r}, 1), b.Expect(t.Context(), []build.Ref{tagged}, 1); cold.Total < time.Minute/2 || warm.Total >= cold.Total/2 || other.Total != cold.Total {
		t.Errorf("expected for the first build: %v, for the next: %v, with tags: %v", cold.Total, warm.Total, other.Total)
	}
	if says != "one first\n" || with["directory"] != dir || with["module_version"] != "" || with["vcs.revision"] != "" {
		t.Errorf("it says %q, built with %v", says, with)
	}
	if path, _, _ := made(); path != first {
		t.Errorf("unchanged: %s, want %s", path, first)
	}
	write(t, dir, map[string]string{"a.go": "package lib\n\nconst Name = \"second\"\n"})
	second, says, _ := made()
	if says != "one second\n" || second == first {
		t.Errorf("changed: it says %q", says)
	}
	if out, err := exec.Command(first).Output(); err != nil || string(out) != "one first\n" {
		t.Errorf("the first worker says %q, %v", out, err)
	}
	if built, err := b.Built(t.Context(), r); built || err != nil {
		t.Errorf("Built says %v, %v", built, err)
	}

	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args[0], err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	if _, _, with := made(); len(with["vcs.revision"]) < 40 || with["vcs.modified"] != "" {
		t.Errorf("committed: built with %v", with)
	}
	write(t, dir, map[string]string{"b.go": "package lib\n"})
	if _, _, with := made(); len(with["vcs.revision"]) < 40 || with["vcs.modified"] != "true" {
		t.Errorf("with another file: built with %v", with)
	}
	write(t, dir, map[string]string{"a.go": "package lib\n\nnonsense\n"})
	var broken *build.BuildError
	if _, _, err := b.Worker(t.Context(), r, nil); !errors.As(err, &broken) || !strings.Contains(err.Error(), "a.go:3:1: ") || !strings.Contains(err.Error(), "(in "+dir+")") {
		t.Errorf("broken: %v", err)
	}
}

// TestUnproven checks that a trial is refused if the worker does not prove all properties of
// the variant.
func TestUnproven(t *testing.T) {
	k := &build.Known{Manifest: build.Manifest{Info: driver.Info{Name: "x", Kind: driver.Cgo}}}
	lib := t.TempDir()
	proof := protocol.Proof{
		ModuleVersion: "v1.2.3",
		Build:         map[string]string{"-tags": "a,b", "CGO_CFLAGS": "-O2 -g -DX=1", "GOAMD64": "v3", "GOEXPERIMENT": "nogreenteagc"},
		Environment:   map[string]string{"GOGC": "400", "GOMEMLIMIT": "536870912", "A": ""},
	}
	local := proof
	local.ModuleVersion = lib
	option := func(key, value string) build.Ref { return build.Ref{Known: k, Options: map[string]string{key: value}} }
	for _, c := range []struct {
		ref   build.Ref
		proof protocol.Proof
		want  string
	}{
		{build.Ref{Known: k}, protocol.Proof{}, ""},
		{build.Ref{Known: k, Version: "v1.2.3"}, proof, ""},
		{build.Ref{Known: k, Version: "v1.2.4"}, proof, "version: wanted v1.2.4, got v1.2.3"},
		{build.Ref{Known: k, Dir: lib}, local, ""},
		{build.Ref{Known: k, Dir: lib}, proof, "directory: wanted " + lib + ", got v1.2.3"},
		{option("tags", "a"), proof, ""},
		{option("tags", "a+b"), proof, ""},
		{option("tags", "a+c"), proof, "tags: wanted a+c, got a,b"},
		{option("tags", "a"), protocol.Proof{}, "tags: wanted a, got nothing"},
		{option("cflags", "-DX=1"), proof, ""},
		{option("cflags", "-g -DX=1"), proof, ""},
		{option("cflags", "X=1"), proof, "cflags: wanted X=1, got -O2 -g -DX=1"},
		{option("cflags", "X=1"), protocol.Proof{}, "cflags: wanted X=1, got nothing, as GOFLAGS=-trimpath leaves"},
		{option("GOAMD64", "v3"), proof, ""},
		{option("GOAMD64", "v2"), proof, "GOAMD64: wanted v2, got v3"},
		{option("GOEXPERIMENT", "nogreenteagc"), proof, ""},
		{option("GOEXPERIMENT", "greenteagc"), proof, "GOEXPERIMENT: wanted greenteagc, got nogreenteagc"},
		{option("GOGC", "400"), proof, ""},
		{option("GOGC", "off"), proof, "GOGC: wanted off, got 400"},
		{option("GOMEMLIMIT", "512MiB"), proof, ""},
		{option("GOMEMLIMIT", "512KiB"), proof, "GOMEMLIMIT: wanted 512KiB, got 536870912"},
		{option("GOMAXPROCS", "1"), proof, "GOMAXPROCS: wanted 1, got nothing"},
		{option("env.A", ""), proof, ""},
		{option("env.B", "1"), proof, "env.B: wanted 1, got nothing"},
		{option("env.B", ""), protocol.Proof{}, "env.B: wanted nothing, got nothing"},
	} {
		got := c.ref.Unproven(&c.proof)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c.ref, got, c.want)
		}
	}
}
