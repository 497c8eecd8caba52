// Package explorer serves the explorer: pages over a store of runs, and the JSON API that the
// pages themselves use. docs/explorer.md documents the API.
//
// Nothing in a store or a request is trusted. Names reach a page only as text nodes or through
// html/template, and no part of a request names a file.
package explorer

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Options say what the explorer serves, and what it may start.
type Options struct {
	Store string // path of the store's file
	Floor string // name of the driver that is plain C, with which other drivers are compared

	Launcher *Launcher // starts runs; nil: no run can be started

	// Users returns how many processes measure in the directory of a machine. The result "known" is false
	// if this server cannot know that. If Users is nil, the number is never known.
	Users func(result.Machine) (n int, known bool)

	// Describe returns the options of a run's report; nil: no options.
	Describe func(*stats.Analysis) report.Options

	// Answer writes the stored answer of a run, as html or json; nil: answers are not shown.
	Answer func(ctx context.Context, w io.Writer, format string, a *stats.Analysis, o document.Options) error
}

// Server is the explorer. Its methods may be called by multiple goroutines simultaneously.
type Server struct {
	options Options
	token   string // secret that a client needs to change anything
	shelf   *shelf
	album   album
	reading time.Duration // longest time that one request may spend reading runs
	done    chan struct{} // closed by [Server.Close]
	streams streams

	launch sync.Mutex // held while a run is started, and while job is read
	job    *job       // the last run that the page has started; nil: none
	grace  time.Duration
}

// New returns an explorer for a store, whose file need not exist yet. The caller must call
// [Server.Close].
func New(o Options) *Server {
	if o.Describe == nil {
		o.Describe = func(*stats.Analysis) report.Options { return report.Options{} }
	}
	return &Server{options: o, token: rand.Text(), shelf: newShelf(o.Store, o.Floor), done: make(chan struct{}), grace: endGrace, reading: readingTime}
}

// Token returns the secret that requests to start or stop a run must have. Pages learn the secret
// from an address that ends in #token= and the secret.
func (s *Server) Token() string { return s.token }

// Open opens the store and reads the list of its runs. Without Open, the first request does that.
// If there is no store, the error is [store.ErrNoStore], and later requests try again.
func (s *Server) Open(ctx context.Context) error {
	s.shelf.mu.Lock()
	_, err := s.shelf.open(ctx)
	s.shelf.mu.Unlock()
	if err == nil {
		_, err = s.shelf.list(ctx)
	}
	return err
}

// Close ends requests that wait for changes, and closes the store.
func (s *Server) Close() error {
	close(s.done)
	return s.shelf.close()
}

// These are the limits of a request.
const (
	maxQuery = 8 << 10  // bytes of the query
	maxPath  = 1 << 10  // bytes of the path
	maxBody  = 64 << 10 // bytes of the body
)

// tokenHeader is the HTTP header with the token. A page of another site cannot know the token, and
// cannot set this header.
const tokenHeader = "X-Sqlite3perf-Token"

// policy is the Content-Security-Policy of pages. It allows only resources from this server, images in
// data: URLs, and no inline script or style.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, view := range views {
		mux.Handle(path, only{http.MethodGet: s.page(view)})
	}
	mux.Handle("/assets/", only{http.MethodGet: http.HandlerFunc(asset)})
	mux.Handle("/runs/{id}/report", only{http.MethodGet: s.report("html")})
	mux.Handle("/runs/{id}/answer", only{http.MethodGet: s.storedAnswer("html")})
	for path, methods := range s.api() {
		mux.Handle(path, methods)
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, failf(http.StatusNotFound, "there is no %s: docs/explorer.md lists the API", clip(r.URL.Path)))
	})
	return s.guard(mux)
}

// guard rejects requests that cannot come from a page of this server, and adds security headers.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if err := s.check(r); err != nil {
			writeError(w, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

func (s *Server) check(r *http.Request) error {
	if !s.known(r.Host) {
		return failf(http.StatusForbidden, "the host %q is not one of this server: address it by its IP address or as localhost", clip(r.Host))
	}
	if len(r.URL.RawQuery) > maxQuery || len(r.URL.Path) > maxPath {
		return failf(http.StatusRequestURITooLong, "the address is too long: a path has at most %d bytes, a query at most %d", maxPath, maxQuery)
	}
	if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host {
		return failf(http.StatusForbidden, "a page of %s may not ask this server", clip(o))
	}
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead
	// A report takes computing time, so a page of another site must not request many reports.
	if site := r.Header.Get("Sec-Fetch-Site"); (changes || strings.HasPrefix(r.URL.Path, "/api/") || strings.HasSuffix(r.URL.Path, "/report") || strings.HasSuffix(r.URL.Path, "/answer")) && site != "" && site != "same-origin" && site != "none" {
		return failf(http.StatusForbidden, "a page of another site may not ask this server")
	}
	if why := s.noToken(r); changes && why != "" {
		return failf(http.StatusForbidden, "%s", why)
	}
	return nil
}

// noToken returns a message that says what to do about a missing or wrong token, or "" if the token
// is right.
func (s *Server) noToken(r *http.Request) string {
	const open = "open the address that the server printed when it started, with all that follows the #"
	switch given := r.Header.Get(tokenHeader); {
	case given == "":
		return "the token is missing: " + open
	case subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) != 1:
		return "the token is that of another server, or of an earlier start of this one: " + open
	}
	return ""
}

// known reports whether a Host header names this server. If every name were accepted, a foreign site could
// point its own name to this server and read everything (DNS rebinding). Any IP address is accepted,
// because a foreign site cannot point an IP address to another server.
func (s *Server) known(host string) bool {
	u, err := url.Parse("http://" + host)
	if err != nil || u.Host != host || u.User != nil { // host contains more than a name and a port
		return false
	}
	name := u.Hostname()
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Zone() == "" // no IPv6 zone, because a zone may be any text
	}
	return strings.EqualFold(name, "localhost")
}

type only map[string]http.Handler

func (o only) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h := o[method]; h != nil {
		h.ServeHTTP(w, r)
		return
	}
	allowed := slices.Sorted(maps.Keys(o))
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeError(w, failf(http.StatusMethodNotAllowed, "%s takes only %s", clip(r.URL.Path), document.And(allowed)))
}

//go:embed assets page.html
var files embed.FS

var shell = template.Must(template.ParseFS(files, "page.html"))

// views are the pages by path. The script of each page fills the page with data from the API.
var views = map[string]view{
	"/{$}":       {"runs", "Runs"},
	"/runs/{id}": {"run", "Run"},
	"/compare":   {"compare", "Compare"},
	"/trends":    {"trends", "Trends"},
	"/measure":   {"measure", "Measure"},
}

type view struct{ Name, Title string }

func (s *Server) page(v view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = shell.Execute(w, v) // fails only if the client has disconnected
	})
}

const chartStyle = "/assets/chart.css"

const pageAssets = "/assets/report/"

// types maps the extensions of the files that may be served to media types.
var types = map[string]string{
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".html": "text/html; charset=utf-8",
	".json": "application/json",
}

// asset serves a file that is embedded in the executable.
func asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	var from fs.FS = files
	if file, ok := strings.CutPrefix(r.URL.Path, pageAssets); ok {
		name, from = file, document.Assets
	}
	data, err := []byte(chartColors), error(nil)
	if r.URL.Path != chartStyle {
		data, err = fs.ReadFile(from, name)
	}
	kind, ok := types[path.Ext(name)]
	if err != nil || !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(data) // fails only if the client has disconnected
}
