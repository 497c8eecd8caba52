package build_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// A moduleProxy serves the module example.com/lib, which requires example.com/dep. The field "fault" says how
// it answers requests for the archive of example.com/dep.
type moduleProxy struct {
	*httptest.Server

	mu    sync.Mutex
	fault string
	asked []string      // archives that were requested
	wait  chan struct{} // with the fault "waits", nothing is sent before it is closed
}

func newModuleProxy(t *testing.T) *moduleProxy {
	t.Helper()
	files := map[string]string{
		"/example.com/lib/@v/v1.3.0.info": `{"Version": "v1.3.0"}`, "/example.com/lib/@v/v1.3.0.mod": "module example.com/lib\n\nrequire example.com/dep v1.0.0\n",
		"/example.com/dep/@v/v1.0.0.info": `{"Version": "v1.0.0"}`, "/example.com/dep/@v/v1.0.0.mod": "module example.com/dep\n",
		"/example.com/lib/@v/v1.3.0.zip": archive(t, "example.com/lib@v1.3.0/a.go", "package lib\n\nimport _ \"example.com/dep\"\n"),
		"/example.com/dep/@v/v1.0.0.zip": archive(t, "example.com/dep@v1.0.0/a.go", "package dep\n"),
	}
	p := &moduleProxy{wait: make(chan struct{})}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[r.URL.Path]
		p.mu.Lock()
		fault := p.fault
		if strings.HasSuffix(r.URL.Path, ".zip") {
			p.asked = append(p.asked, r.URL.Path)
		}
		p.mu.Unlock()
		if !strings.HasSuffix(r.URL.Path, "/dep/@v/v1.0.0.zip") {
			fault = ""
		}
		switch {
		case !ok || fault == "lacks":
			http.NotFound(w, r)
			return
		case fault == "refuses":
			http.Error(w, "not for you", http.StatusForbidden)
			return
		case fault == "waits":
			<-p.wait
		case fault == "cuts":
			w.Header().Set("Content-Length", "1000000")
		}
		_, _ = io.WriteString(w, data)
	}))
	t.Cleanup(p.Close)
	t.Setenv("GOPROXY", p.URL)
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOFLAGS", "-modcacherw")
	return p
}

// archive returns a zip archive of one file.
func archive(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestUndelivered checks the message about a module that can't be downloaded. The message must be one line, with
// the cause and what to do. The next attempt must not repeat builds and downloads that were complete.
func TestUndelivered(t *testing.T) {
	s, ref := clone(t)
	p := newModuleProxy(t)
	mod, err := os.ReadFile(filepath.Join(ref.Known.Dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for fault, want := range map[string]string{
		"lacks":   "the module proxy doesn't deliver example.com/dep@v1.0.0 (" + p.URL + "/example.com/dep/@v/v1.0.0.zip: 404 Not Found): name one that does with GOPROXY, or unset GOPROXY",
		"refuses": "/v1.0.0.zip: 403 Forbidden): name one that does with GOPROXY, or unset GOPROXY",
		"cuts":    "downloading example.com/dep@v1.0.0 failed (unexpected EOF): run the same command again when the network and the module proxy (GOPROXY) work; it continues where it stopped",
		"gone":    "connection refused): run the same command again",
		"off":     "not everything is downloaded yet, and GOPROXY=off forbids it (",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Setenv("GOMODCACHE", t.TempDir())
			cache := t.TempDir()
			write(t, ref.Known.Dir, map[string]string{"go.mod": string(mod)})
			first, built := made(t, s, cache, ref)
			if !built {
				t.Fatal("the first worker was not built")
			}
			other := fromProxy(t, ref)
			p.mu.Lock()
			p.fault, p.asked = fault, nil
			p.mu.Unlock()
			switch fault {
			case "gone":
				t.Setenv("GOPROXY", "http://127.0.0.1:1")
			case "off":
				t.Setenv("GOPROXY", "off")
			}
			b := &build.Builder{Source: s, Cache: cache}
			stop := b.Download(t.Context(), []build.Ref{other})
			_, _, err := b.Worker(t.Context(), other, nil)
			stop()
			var failed *build.BuildError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || failed.Reason.Detail != "" {
				t.Fatalf("got %v\nwant %s", err, want)
			}
			t.Setenv("GOPROXY", p.URL)
			p.mu.Lock()
			p.fault = ""
			before := slices.Clone(p.asked)
			p.asked = nil
			p.mu.Unlock()
			if _, built := made(t, s, cache, other); !built {
				t.Error("the other worker was not built")
			}
			if fault == "cuts" && (!slices.Contains(before, "/example.com/lib/@v/v1.3.0.zip") || slices.Contains(p.asked, "/example.com/lib/@v/v1.3.0.zip")) {
				t.Errorf("downloaded %q, and then %q", before, p.asked)
			}
			write(t, ref.Known.Dir, map[string]string{"go.mod": string(mod)})
			if path, built := made(t, s, cache, ref); path != first || built {
				t.Errorf("the first worker was built again: %v", built)
			}
		})
	}
}

// TestUnreachableRepository checks the message if no proxy has a module, and the go command can't reach the
// module's repository. In the go command's output, git's message is on a separate line.
func TestUnreachableRepository(t *testing.T) {
	got := build.Outside("go: downloading example.com/lib v1.3.0\na.go:3:8: reading example.com/lib/go.mod at revision v1.3.0: git ls-remote -q origin in /x: exit status 128:\n\tfatal: could not resolve host\n")
	want := "downloading failed (a.go:3:8: reading example.com/lib/go.mod at revision v1.3.0: git ls-remote -q origin in /x: exit status 128: fatal: could not resolve host): run the same command again when"
	if !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
