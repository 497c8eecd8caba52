package rqlite_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// endless writes the text until the reader has gone.
func endless(w io.Writer, text string) {
	part := []byte(strings.Repeat(text, 64<<10/len(text)))
	for {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// TestHostileNode opens a database on a node that is stopped, faulty or hostile. It checks that the
// error is one line, that the driver uses little memory, and that it sends nothing to addresses
// that the node names.
func TestHostileNode(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Add(1)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer other.Close()
	status := func(w http.ResponseWriter) {
		fmt.Fprint(w, `{"build":{"version":"8"},"store":{"leader":{"node_id":"1","addr":"a"},"nodes":[{"suffrage":"Voter"}],"raft":{"state":"Leader"},"sqlite3":{"version":"3.46.1","pragmas":{"rw":{"foreign_keys":"0"}}}}}`)
	}
	// The function "honest" gives the correct answers to the requests that come before the trial.
	honest := func(own string, w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/status":
			status(w)
		case "/nodes":
			fmt.Fprintf(w, `{"1":{"api_addr":%q,"addr":"a","reachable":true,"leader":true}}`, own)
		case "/db/query":
			fmt.Fprint(w, `{"results":[{"values":[[0]]}]}`)
		}
	}
	on := func(path string, do http.HandlerFunc) func(string, http.ResponseWriter, *http.Request) {
		return func(own string, w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, path) {
				do(w, r)
				return
			}
			honest(own, w, r)
		}
	}
	for name, x := range map[string]struct {
		serve func(own string, w http.ResponseWriter, r *http.Request)
		want  string
	}{
		"no answer":       {on("/status", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "it has not answered within 300ms"},
		"a drip":          {on("/status", func(w http.ResponseWriter, _ *http.Request) { drip(w) }), "it has not answered within 300ms"},
		"an endless page": {on("/status", func(w http.ResponseWriter, _ *http.Request) { endless(w, " ") }), "answers /status with more than 1 MiB"},
		"an endless error": {on("/status", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			endless(w, "\x1b[2J::error::")
		}), "500 Internal Server Error: "},
		"a bomb": {on("/status", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			endless(z, " ")
		}), "answers /status with more than 1 MiB"},
		"a redirect": {on("/status", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }), "it redirects requests to 127.0.0.1:"},
		"a redirect to file": {on("/status", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}), "it redirects requests to "},
		"another type":  {on("/status", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"store":{"leader":7}}`) }), "its status is not rqlite's"},
		"a huge number": {on("/status", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"store":{"dir_size":1e300}}`) }), "its status is not rqlite's"},
		"no values":     {on("/db/query", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"results":[{"values":[[]]}]}`) }), "answers no query"},
		"a query redirected": {on("/db/query", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}), "it redirects requests to 127.0.0.1:"},
		"an error of megabytes": {on("/db/execute", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"results":[{"error":"%s"}]}`, strings.Repeat("x", 10<<20))
		}), "xxx …"},
		"another host": {on("/nodes", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"1":{"api_addr":%q,"addr":"a","reachable":true,"leader":true}}`, other.URL)
		}), "so nothing is sent to it: add it to RQLITE_ADDRESSES"},
		"a write redirected": {on("/db/execute", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}), "it redirects requests to 127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			var s *httptest.Server
			s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { x.serve(s.URL, w, r) }))
			defer s.Close()
			defer s.CloseClientConnections()
			wait := 10 * time.Second // enough for late answers on a busy machine
			if strings.Contains(x.want, "300ms") {
				wait = 300 * time.Millisecond
			}
			rqlite.Impatient(t, wait)
			t.Setenv("RQLITE_ADDRESSES", strings.Replace(s.URL, "://", "://bob:secret@", 1))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			db, err := rqlite.New().Open(ctx, filepath.Join(t.TempDir(), "test.db"), driver.Settings{"pool_size": "1"})
			if err == nil {
				err = db.Script(ctx, "INSERT INTO t VALUES (1)")
				_ = db.Close() // Close fails too, because the node cannot save the database
			}
			runtime.ReadMemStats(&after)
			wantLine(t, name, err, x.want)
			if err != nil && len(err.Error()) > 8<<10 {
				t.Errorf("%d bytes", len(err.Error()))
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 200 {
				t.Errorf("the driver allocated %d MiB", used)
			}
		})
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went to an address that a node named", n)
	}
}

// drip sends a byte from time to time.
func drip(w http.ResponseWriter) {
	for {
		if _, err := w.Write([]byte(" ")); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		time.Sleep(20 * time.Millisecond)
	}
}
