package build_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestDownload checks that the modules of a worker that is not built are downloaded in the background, and
// that the function "stop" ends the download.
func TestDownload(t *testing.T) {
	s, ref := published(t, "v1.3.0")
	ref.Name, ref.Version = "toy@v1.3.0", "v1.3.0"
	asked, ended := make(chan bool), make(chan bool)
	first := sync.OnceFunc(func() { close(asked) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "v1.3.0.mod"):
			_, _ = io.WriteString(w, "module example.com/lib\n")
		case strings.HasSuffix(r.URL.Path, "v1.3.0.info"):
			_, _ = io.WriteString(w, `{"Version": "v1.3.0"}`)
		case strings.HasSuffix(r.URL.Path, "v1.3.0.zip"):
			first()
			<-r.Context().Done() // waits until the go command has gone
			close(ended)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	t.Setenv("GOPROXY", server.URL)
	b := &build.Builder{Source: s, Cache: t.TempDir()}
	stop := b.Download(t.Context(), []build.Ref{{Name: "./a-worker", Path: "./a-worker"}, ref})
	<-asked
	stop()
	<-ended
}

// fromProxy makes the toy driver use the library of a module proxy. It returns the driver with the library's
// version in the proxy.
func fromProxy(t *testing.T, ref build.Ref) build.Ref {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(ref.Known.Dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, ref.Known.Dir, map[string]string{"go.mod": strings.Replace(string(mod), "\texample.com/lib => ./lib\n", "", 1)})
	ref.Name, ref.Version = "toy@v1.3.0", "v1.3.0"
	return ref
}

// TestBuildsDuringDownloads checks that a worker is built while the modules of other workers are still being
// downloaded, even if those workers were requested earlier. It also checks the times in
// [build.Builder.Spent].
func TestBuildsDuringDownloads(t *testing.T) {
	s, ready := clone(t)
	other, _ := clone(t)
	list, err := other.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	p := newModuleProxy(t)
	p.fault = "waits"
	modules := t.TempDir()
	t.Setenv("GOMODCACHE", modules)
	write(t, filepath.Join(modules, "example.com", "lib@v1.0.0"), map[string]string{"go.mod": "module example.com/lib\n"})
	first := fromProxy(t, build.Ref{Known: &list[0]})
	second := first
	second.Name, second.Options = "toy@v1.3.0:GOEXPERIMENT=nogreenteagc", map[string]string{"GOEXPERIMENT": "nogreenteagc"}

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b := &build.Builder{Source: s, Cache: t.TempDir()}
	refs := []build.Ref{first, second, ready}
	e, slow := b.Expect(ctx, refs, 1), b.Expect(ctx, refs, 2)
	if len(e.Builds) != 3 || e.Download <= 0 || e.Builds[0].Ready != e.Download || e.Builds[1].Takes >= e.Builds[0].Takes || e.Total != build.EndOf(e.Builds, 0) || slow.Total <= e.Total {
		t.Errorf("expected %+v, and on a slower machine %+v", e, slow)
	}
	defer b.Download(ctx, refs)()
	var waiting sync.WaitGroup
	for _, ref := range []build.Ref{first, second} {
		waiting.Go(func() {
			if _, _, err := b.Worker(ctx, ref, nil); err != nil {
				t.Error(err)
			}
		})
	}
	if _, _, err := b.Worker(ctx, ready, nil); err != nil {
		t.Error(err)
	}
	close(p.wait)
	waiting.Wait()
	if downloading, building := b.Spent(); downloading <= 0 || building <= 0 {
		t.Errorf("%v downloading, %v building", downloading, building)
	}
	if e := b.Expect(ctx, refs, 1); e.Total != 0 || len(e.Builds) != 0 {
		t.Errorf("all workers are built, but Expect returns %+v", e)
	}
}
