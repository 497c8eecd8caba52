package explorer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// began is when run number 0 of a test begins.
var began = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// aRun returns a run of native, mattn and modernc on the workload simple. The time of modernc is
// the time of mattn, multiplied by the parameter "slower". The run begins as many days after
// "began" as the parameter "number" says.
func aRun(number int, slower float64) *result.Run {
	start := began.AddDate(0, 0, number)
	r := &result.Run{Version: "test", Started: start, Ended: start.Add(time.Minute), Command: []string{"run"}, Seed: 1 << 60, Scale: "quick", Rounds: 10,
		Stopped: result.StoppedRounds, Machine: result.Machine{Hostname: "lab", OS: "linux", CPU: "test", Cores: 2},
		Asked:     &result.Asked{Settings: map[string][]string{"journal_mode": {"wal"}}},
		Workloads: []result.Workload{{Name: "simple", Text: "name: simple", SHA256: "abc"}}}
	for i, d := range []string{"native", "mattn", "modernc"} {
		r.Cases = append(r.Cases, result.Case{ID: i + 1, Workload: "simple", WorkloadSHA256: "abc", Scale: "quick", Driver: d,
			Settings: driver.Settings{"journal_mode": "wal"}, Phases: []string{"insert", "mix"}})
	}
	for round := 1; round <= 10; round++ {
		for i := range r.Cases {
			ns := int64([]float64{1e6, 2e6, 2e6 * slower}[i] * (1 + 0.001*float64(round+i)))
			r.Trials = append(r.Trials, result.Trial{Case: i + 1, Round: round, Order: len(r.Trials) + 1, Started: start, TookNS: ns, Status: result.OK,
				Proof: &protocol.Proof{SQLiteVersion: "3.53.4", Module: "m", ModuleVersion: fmt.Sprintf("v1.%d.0", number/4), Connections: []driver.Settings{{"journal_mode": "wal", "page_size": "4096"}}},
				Samples: []result.Sample{
					{Phase: "insert", WallNS: ns, UserNS: ns / 2, Operations: 100, Rows: 100, Metric: result.MetricTime, Costs: protocol.Costs{Allocs: int64(100 * i), PeakRSSBytes: 1 << 20}},
					{Phase: "mix", WallNS: ns, Operations: 10, Metric: result.MetricTimePerOp, Latency: []latency.Summary{{Operation: "get", Count: 1000, P50NS: 2000, P90NS: 3000, P99NS: 5000, P999NS: 7000, MaxNS: 9000}}},
				}})
		}
	}
	return r
}

// serveRuns serves a store with some runs.
func serveRuns(t testing.TB, runs ...*result.Run) *httptest.Server {
	t.Helper()
	return servingRuns(t, func(*Options) {}, runs...)
}

// servingRuns does what serveRuns does. Before that, it calls the function "change", which can
// change the options.
func servingRuns(t testing.TB, change func(*Options), runs ...*result.Run) *httptest.Server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results.db")
	st, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if err := st.Begin(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	o := Options{Store: path, Floor: "native"}
	change(&o)
	return serving(t, o)
}

func serving(t testing.TB, o Options) *httptest.Server {
	site := New(o)
	site.reading = time.Hour // so that a trend comes in one part even on a busy machine
	server := httptest.NewServer(site.Handler())
	t.Cleanup(func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return server
}

// request sends a request and returns the status, header and body of the response. The parameter
// "header" has names, each followed by its value.
func request(t testing.TB, server *httptest.Server, method, path, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, server.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	r.URL.Opaque = path // sends the path unchanged
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, a.Header, string(data)
}

// get decodes the answer to a request.
func get[T any](t testing.TB, server *httptest.Server, path string) T {
	t.Helper()
	status, _, body := request(t, server, "GET", path, "")
	if status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, status, body)
	}
	var v T
	d := json.NewDecoder(strings.NewReader(body))
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v in %s", path, err, body)
	}
	return v
}

// TestHostileRequests checks which requests are answered, and that requests that no page sends are
// refused with a reason.
func TestHostileRequests(t *testing.T) {
	server := serveRuns(t, aRun(1, 1))
	host := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := strings.Cut(host, ":")
	for _, c := range []struct {
		method, path string
		header       []string
		status       int
		says         string
	}{
		{"GET", "/", nil, 200, "<!DOCTYPE html>"},
		{"GET", "/", []string{"Host", "localhost:" + port}, 200, ""},
		{"GET", "/", []string{"Host", "[::1]:" + port}, 200, ""},
		{"HEAD", "/", nil, 200, ""},
		{"GET", "/", []string{"Host", "evil.example:" + port}, 403, "not one of this server"},
		{"GET", "/", []string{"Host", "localhost.evil.example"}, 403, "not one of this server"},
		{"GET", "/", []string{"Host", "127.0.0.1.evil.example"}, 403, "not one of this server"},
		{"GET", "/", []string{"Host", "evil.example@127.0.0.1"}, 403, "not one of this server"},
		{"GET", "/runs/1/report", []string{"Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		{"GET", "/runs/1/report", []string{"Sec-Fetch-Site", "same-site"}, 403, "another site"},
		{"GET", "/runs/1/report", []string{"Sec-Fetch-Site", "none"}, 200, "<!DOCTYPE html>"},
		{"GET", "/api/v1/runs", []string{"Origin", "http://" + host}, 200, ""},
		{"GET", "/api/v1/runs", []string{"Origin", "http://evil.example"}, 403, "may not ask"},
		{"GET", "/api/v1/runs", []string{"Origin", "http://127.0.0.1:1"}, 403, "may not ask"},
		{"GET", "/api/v1/runs", []string{"Origin", "null"}, 403, "may not ask"},
		{"GET", "/api/v1/runs", []string{"Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		{"GET", "/api/v1/runs", []string{"Sec-Fetch-Site", "same-origin"}, 200, ""},
		{"GET", "/runs/1", []string{"Sec-Fetch-Site", "cross-site"}, 200, ""}, // a link on a page of another site leads here
		{"POST", "/api/v1/runs", nil, 403, "token"},
		{"POST", "/api/v1/runs", []string{tokenHeader, "guess"}, 403, "token"},
		{"GET", "/api/v1/runs/../../etc/passwd", nil, 307, ""},
		{"GET", "/api/etc/passwd", nil, 404, "docs/explorer.md"},
		{"GET", "/assets/%2e%2e/web.go", nil, 404, ""},
		{"GET", "/assets/..%2fweb.go", nil, 404, ""},
		{"GET", "/assets/", nil, 404, ""},
		{"GET", "/assets/vendor/uplot/LICENSE", nil, 404, ""},
		{"GET", "/assets/app.js", nil, 200, "views"},
		{"GET", "/api/v1/runs/-1", nil, 400, "want the number of a run"},
		{"GET", "/api/v1/runs/0", nil, 400, "want the number of a run"},
		{"GET", "/api/v1/runs/1e99", nil, 400, "want the number of a run"},
		{"GET", "/api/v1/runs/99999999999999999999", nil, 400, "want the number of a run"},
		{"GET", "/api/v1/runs/%00", nil, 400, "want the number of a run"},
		{"GET", "/api/v1/runs/last", nil, 400, "want the number of a run"},
		{"GET", "/api/v1/runs/2", nil, 404, "no such run as 2"},
		{"GET", "/api/v1/runs/1/samples", nil, 400, "case is missing"},
		{"GET", "/api/v1/runs/1/samples?case=1", nil, 400, "phase is missing"},
		{"GET", "/api/v1/runs/1/samples?case=-1&phase=mix", nil, 400, "want the number of a case"},
		{"GET", "/api/v1/runs/1/samples?case=9&phase=mix", nil, 404, "no case 9"},
		{"GET", "/api/v1/runs/1/samples?case=1&phase=mox", nil, 404, `did you mean "mix"`},
		{"GET", "/api/v1/runs/1/cells?metric=speed", nil, 400, "metric"},
		{"GET", "/api/v1/runs/1/cells?metrics=time", nil, 400, `did you mean "metric"`},
		{"GET", "/api/v1/runs?page=0", nil, 400, "want a whole number from 1"},
		{"GET", "/api/v1/runs?size=100000", nil, 400, "to 200"},
		{"GET", "/api/v1/runs?since=yesterday", nil, 400, "want a date"},
		{"GET", "/api/v1/runs?zone=Mars/Olympus", nil, 400, "want the name of a time zone"},
		{"GET", "/api/v1/runs?%zz", nil, 400, "cannot be read"},
		{"GET", "/api/v1/runs?" + strings.Repeat("driver=x&", 60), nil, 400, "at most 50"},
		{"GET", "/api/v1/runs?q=" + strings.Repeat("x", maxQuery), nil, 414, "too long"},
		{"GET", "/" + strings.Repeat("x", maxPath), nil, 414, "too long"},
		{"GET", "/api/v1/runs/1/charts/nothing", nil, 404, "/api/v1/runs/1/charts lists them"},
		{"GET", "/api/v1/runs/1/charts/nothing.svg", nil, 404, "/api/v1/runs/1/charts lists them"},
		{"GET", "/api/v1/runs/1/charts/phases.gif", nil, 404, "alone or with .svg or .png"},
		{"GET", "/api/v1/runs/1/charts/phases.png?width=100000", nil, 400, "to 1600"},
		{"GET", "/api/v1/runs/1/charts/phases?size=3", nil, 400, "parameter"},
		{"GET", "/api/v1/runs/1/charts/..%2f..%2fweb.go", nil, 404, ""},
		{"GET", "/api/v1/compare", nil, 400, "first is missing"},
		{"GET", "/api/v1/compare?first=1", nil, 400, "not made to compare"},
		{"GET", "/api/v1/compare?first=1&second=1&margin=NaN", nil, 400, "want a share"},
	} {
		status, header, body := request(t, server, c.method, c.path, "", c.header...)
		if status != c.status || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), c.says) {
			t.Errorf("%s %.60s %v: status %d, want %d with %q: %.300s", c.method, c.path, c.header, status, c.status, c.says, body)
		}
		if p := header.Get("Content-Security-Policy"); status != 307 && (p != policy || header.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s %.60s: headers %v", c.method, c.path, header)
		}
	}
	// Go's client removes the zone of an IPv6 address, so these host names are tested without a
	// request.
	for name, want := range map[string]bool{
		"[::1%25evil.example]:8317": false, "[::1%25evil.example]": false, "[fe80::1%25eth0]": false, "[::1%evil.example]": false, "evil.example@127.0.0.1": false, "127.0.0.1/evil.example": false,
		"127.0.0.1#evil.example": false, "127.0.0.1?evil.example": false, "[::1]evil.example": false, "": false, "[::1]": true, "[::1]:8317": true, "127.0.0.1": true, "LocalHost:8317": true,
	} {
		if got := New(Options{}).known(name); got != want {
			t.Errorf("host %q: known %v, want %v", name, got, want)
		}
	}
	token := New(Options{}).token
	if len(token) < 26 || token == New(Options{}).token {
		t.Errorf("the token %q can be guessed", token)
	}
}

// TestHostileStore checks that texts from a store appear in pages only as text, and that long
// texts are cut.
func TestHostileStore(t *testing.T) {
	const script = `</script><script>alert(1)</script>`
	r := aRun(1, 1)
	r.Cases[0].Driver, r.Cases[1].Driver = script, strings.Repeat("x", 10<<20)
	for i := range r.Cases {
		r.Cases[i].Workload = "../../x\x1b[31m"
		r.Cases[i].Phases[0] = script
	}
	for i := range r.Trials {
		r.Trials[i].Samples[0].Phase = script
	}
	r.Machine.Hostname = strings.Repeat("h", 1<<20)
	r.Warnings = []result.Warning{{Code: "x", Message: strings.Repeat("m", 1<<20)}}
	server := serveRuns(t, r)
	for _, path := range []string{"/", "/runs/1", "/runs/1/report", "/api/v1/runs", "/api/v1/runs/1", "/api/v1/runs/1/cells", "/api/v1/runs/1/samples?case=1&case=2&phase=mix",
		"/api/v1/runs/1/charts", "/api/v1/runs/1/charts/phases", "/api/v1/runs/1/charts/phases.svg", "/api/v1/runs/1/charts/x-31m-mix-order",
		"/api/v1/trends?workload=../../x%1B[31m&driver=modernc", "/api/v1/current"} {
		status, header, body := request(t, server, "GET", path, "")
		if status != 200 || len(body) > 100_000 && path != "/runs/1/report" || len(body) > 5_000_000 {
			t.Errorf("%s: status %d, %d bytes", path, status, len(body))
		}
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "\x1b") {
			t.Errorf("%s, %s: the answer contains a text of the store that is not escaped", path, header.Get("Content-Type"))
		}
	}
	l := get[*List](t, server, "/api/v1/runs?driver="+strings.Repeat("x", maxText)+"%E2%80%A6")
	if ids(l) != "1" {
		t.Errorf("a clipped name finds no run: %+v", l)
	}
}
