package build_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestDownload checks that the modules of a worker that is not built are downloaded in the background, and
// that stop ends that.
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
			<-r.Context().Done() // the go command has gone
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
