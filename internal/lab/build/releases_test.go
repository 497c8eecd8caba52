package build_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

func TestParseReleases(t *testing.T) {
	r, err := build.ParseReleases(t.Context(), "mattn@v1.14.22..v1.14.52", known(t))
	if err != nil || r.Known.Name != "mattn" || r.First != "v1.14.22" || r.Last != "v1.14.52" {
		t.Errorf("%+v, %v", r, err)
	}
	for text, want := range map[string]string{"mattn@v1.14.22..v1.14.52": "mattn@v1.14.30", "mattn@v1.14.22..latest:tags=sqlite_fts5": "mattn@v1.14.30:tags=sqlite_fts5"} {
		r, err := build.ParseReleases(t.Context(), text, known(t))
		if err != nil {
			t.Fatal(err)
		}
		if ref, err := r.Ref(t.Context(), "v1.14.30"); err != nil || ref.Name != want {
			t.Errorf("%s: %q, %v", text, ref.Name, err)
		}
	}
	for text, want := range map[string]string{
		"mattn":                    "mattn is not a range: want two releases, such as mattn@v1.0.0..v1.",
		"mattn@v1.14.22":           "is not a range",
		"mattn@v1.14.22..":         "is not a range",
		"mattn@..v1.14.22":         "is not a range",
		"mattn@v1.14.52..v1.14.22": "the older release comes first: want mattn@v1.14.22..v1.14.52",
		"mattn@v1.14.9..v1.14.9":   "has one release",
		"mattn@v1.14.9..1.14.10":   `bad version "1.14.10"`,
		"matn@v1.14.9..v1.14.10":   `did you mean "mattn"?`,
		"./x@v1.14.9..v1.14.10":    "is an executable",
		"mattn@latest..v1.14.10":   "is not a range",
		"python@v1.0.0..v2.0.0":    "not built from releases",
	} {
		if _, err := build.ParseReleases(t.Context(), text, known(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestReleases checks which versions Releases returns. The module proxy is a directory.
func TestReleases(t *testing.T) {
	proxy := t.TempDir()
	dir := filepath.Join(proxy, "github.com", "mattn", "go-sqlite3", "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	versions := []string{"v1.99.10", "v1.99.9", "v1.99.3-rc.1", "v1.99.3", "v1.99.1", "v1.99.4-rc.1"}
	write("list", strings.Join(versions, "\n"))
	for _, v := range append(versions, "v1.99.2-unlisted") {
		write(v+".info", `{"Version":"`+v+`","Time":"2026-01-02T15:04:05Z"}`)
		write(v+".mod", "module github.com/mattn/go-sqlite3\n")
	}
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
	b := &build.Builder{Source: source(t), Cache: t.TempDir()}
	mattn := find(t, "mattn").Known
	for _, c := range []struct {
		first, last string
		want        []string
	}{
		{"v1.99.1", "v1.99.10", []string{"v1.99.1", "v1.99.3", "v1.99.9", "v1.99.10"}},
		{"v1.99.3-rc.1", "v1.99.9", []string{"v1.99.3-rc.1", "v1.99.3", "v1.99.9"}},
		{"v1.99.3", "latest", []string{"v1.99.3", "v1.99.9", "v1.99.10"}},
		{"v1.99.2-unlisted", "v1.99.3", []string{"v1.99.2-unlisted", "v1.99.3"}},
	} {
		got, err := b.Releases(t.Context(), mattn, c.first, c.last)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s..%s: -want +got:\n%s", c.first, c.last, d)
		}
	}
	_, err := b.Releases(t.Context(), mattn, "v1.99.1", "v1.99.7")
	if none, ok := errors.AsType[*build.NoReleaseError](err); !ok || none.Version != "v1.99.7" || cmp.Diff([]string{"v1.99.4-rc.1", "v1.99.9"}, none.Nearest) != "" {
		t.Errorf("a version that does not exist: %v", err)
	}
	t.Setenv("GOPROXY", "off")
	_, err = b.Releases(t.Context(), mattn, "v1.99.1", "v1.99.9")
	if _, ok := errors.AsType[*build.NoReleaseError](err); ok || err == nil || !strings.Contains(err.Error(), "the releases of github.com/mattn/go-sqlite3 cannot be listed: ") {
		t.Errorf("no network: %v", err)
	}
}

func TestLinked(t *testing.T) {
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	b := &build.Builder{Source: source(t), Cache: cache}
	ref := find(t, "mattn")
	linked, err := b.Linked(t.Context(), ref)
	if err != nil || linked[ref.Known.Module] != ref.Known.Version {
		t.Errorf("%v, %v", linked, err)
	}
	for path := range linked {
		if strings.HasPrefix(path, "github.com/sqlite3perf/") {
			t.Errorf("%s is sqlite3perf's own", path)
		}
	}
}
