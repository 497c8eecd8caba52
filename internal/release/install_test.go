package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

const ours = "github.com/sqlite3perf/sqlite3perf"

// user is a user of a published release, with an empty home directory.
type user struct {
	dir string
	env []string
}

// newUser returns a user who gets the release's modules from the given proxy, and other modules
// from this machine's usual proxies. If TEST_FRESH is set, as by make release-check, the user
// downloads and compiles everything. Otherwise this machine's caches save the time.
func newUser(t *testing.T, proxy string) user {
	t.Helper()
	out, err := exec.Command("go", "env", "GOPROXY", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	have := strings.Split(string(out), "\n")
	dir := t.TempDir()
	proxies, cache := have[0], filepath.Join(dir, "build")
	if os.Getenv("TEST_FRESH") == "" {
		proxies, cache = fileURL(filepath.Join(have[1], "cache", "download"))+","+proxies, have[2]
	}
	return user{dir, append(os.Environ(), "GOWORK=off", "HOME="+dir, "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME=",
		"GOPATH="+filepath.Join(dir, "go"), "GOMODCACHE=", "GOBIN=", "GOCACHE="+cache,
		"GOPROXY="+fileURL(proxy)+","+proxies, "GONOPROXY=none", "GONOSUMDB="+ours, "GOFLAGS=-modcacherw -trimpath")}
}

// run runs a command of the user in a directory below the user's home.
func (u user) run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = filepath.Join(u.dir, dir), u.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// copyFiles copies the files that Git tracks or would track. These are all files except ignored files.
func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	list, err := git(t.Context(), from, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(list, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // the file was deleted, but the deletion is not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, name), string(data))
	}
}

// TestSoakRelease releases this source tree, and uses the release as its users do: it installs the
// command, measures two drivers with it, records an application that uses package record, and
// replays the recording.
func TestSoakRelease(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	repository(t, "-- LICENSE --\n")
	copyFiles(t, root, ".")
	log, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "CHANGELOG.md", string(log)+"\n## v0.0.1-test\n\nOnly a test.\n")
	gitDo(t, "add", "--all")
	gitDo(t, "commit", "--quiet", "--message=tree")
	proxy := t.TempDir()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-proxy", proxy, "v0.0.1-test"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}

	if readme := gitDo(t, "show", "v0.0.1-test:README.md"); !strings.Contains(readme, "$ go install "+ours+"/cmd/sqlite3perf@v0.0.1-test\n$ sqlite3perf run\n") {
		t.Errorf("README.md: %s", readme)
	}
	if left, err := git(t.Context(), ".", "grep", "-n", "^<!-- in a clone\\|sqlite3perf@main", "v0.0.1-test", "--", "*.md"); err == nil {
		t.Errorf("documents: %s", left)
	}

	u := newUser(t, proxy)
	u.run(t, "", "go", "install", ours+"/cmd/sqlite3perf@v0.0.1-test")
	tool := filepath.Join(u.dir, "go", "bin", "sqlite3perf")
	if got := u.run(t, "", tool, "--version"); !strings.HasPrefix(got, "sqlite3perf v0.0.1-test\n") {
		t.Errorf("version: %s", got)
	}
	got := u.run(t, "", tool, "run", "--drivers", "modernc,mattn", "--workloads", "simple", "--scale", "0.001", "--rounds", "6", "--full")
	for _, want := range []string{"modernc v1.", "mattn v1."} {
		if !strings.Contains(got, want) {
			t.Errorf("run: no %q in %s", want, got)
		}
	}

	copyFiles(t, filepath.Join(root, "examples", "bookshop"), filepath.Join(u.dir, "shop"))
	published(t, filepath.Join(u.dir, "shop", "go.mod"))
	u.run(t, "shop", "go", "get", ours+"/record@v0.0.1-test")
	if mod := u.run(t, "shop", "go", "list", "-m", ours+"/record"); mod != ours+"/record v0.0.1-test\n" {
		t.Errorf("the application uses %s", mod)
	}
	u.run(t, "shop", "go", "run", "./modernc", "-db", "before.db", "-users", "20", "-books", "20", "-fill")
	u.run(t, "shop", "cp", "before.db", "shop.db")
	u.run(t, "shop", "go", "run", "./modernc", "-db", "shop.db", "-load", "50", "-record", "shop.jsonl", "-values")
	got = u.run(t, "shop", tool, "run", "--drivers", "modernc", "--workloads", "./bookshop.yaml", "--rounds", "6", "--full")
	if !strings.Contains(got, "replay") {
		t.Errorf("replay: %s", got)
	}
}

// published removes from the example's go.mod the directives that are needed only until package
// record is published.
func published(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := modfile.Parse(file, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.DropReplace(ours+"/record", ""); err != nil {
		t.Fatal(err)
	}
	if err := f.DropRequire(ours + "/record"); err != nil {
		t.Fatal(err)
	}
	f.Cleanup()
	data, err = f.Format()
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(data))
}
