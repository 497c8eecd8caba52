package explorer

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/trends"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
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

// TestDefects checks which known defects a run lists, and which of them can do harm on the run's
// machine.
func TestDefects(t *testing.T) {
	run := aRun(1, 1)
	run.Machine.OS, run.Machine.Arch = "linux", "amd64"
	for i := range run.Trials {
		p := run.Trials[i].Proof
		switch run.Cases[run.Trials[i].Case-1].Driver {
		case "native", "mattn": // native is plain C, which is not a driver to choose, so its defects are not listed
			p.SQLiteVersion = "3.51.2"
		case "modernc":
			p.Module, p.ModuleVersion = "github.com/ncruces/go-sqlite3", "v0.29.0"
		}
	}
	run.Cases[2].Info.Module = "github.com/ncruces/go-sqlite3"
	server := serveRuns(t, run)
	type defect struct {
		ID, Drivers          string
		Falsifies, Elsewhere bool
	}
	var got []defect
	r := get[*Run](t, server, "/api/v1/runs/1")
	for _, d := range r.Defects {
		if d.Title == "" || d.Effect == "" || d.Needs == "" {
			t.Errorf("%+v", d)
		}
		got = append(got, defect{d.ID, strings.Join(d.Drivers, " "), d.Falsifies, d.Elsewhere})
	}
	if want := []defect{{"wal-reset", "mattn", true, false}, {"CVE-2026-11822", "mattn", false, false}, {"ncruces-404", "modernc", true, true}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	var beside []string
	for _, c := range r.Cases {
		beside = append(beside, c.Driver+" "+strings.Join(c.Defects, ","))
	}
	if want := []string{"native ", "mattn wal-reset,CVE-2026-11822", "modernc ncruces-404"}; !slices.Equal(beside, want) {
		t.Errorf("%q", beside)
	}
	if d := get[*Run](t, serveRuns(t, aRun(1, 1)), "/api/v1/runs/1").Defects; d == nil || len(d) > 0 {
		t.Errorf("of 3.53.4: %+v", d)
	}
}

// TestYesterday checks the words by which the runs of the last two days can be found.
func TestYesterday(t *testing.T) {
	now := time.Date(2026, 11, 27, 0, 30, 0, 0, time.UTC)
	for hours, want := range map[int]string{0: "today", 1: "yesterday", 24: "yesterday", 25: "2026-11-25 23:30"} {
		if words := dateWords(now.Add(-time.Duration(hours)*time.Hour), now); !slices.Contains(words, want) || strings.HasPrefix(want, "20") && len(words) > 4 {
			t.Errorf("%d hours ago: %q without %q", hours, words, want)
		}
	}
}

// harmedRun returns a run of native, mattn, modernc and zombiezen. native is plain C. Of the
// drivers, zombiezen is the fastest, but it links a SQLite that can lose data. The phase mix has
// reads and writes.
func harmedRun(number int) *result.Run {
	r := aRun(number, 1.5)
	r.Machine.OS, r.Machine.Arch = "linux", "amd64"
	r.Cases = append(r.Cases, result.Case{ID: 4, Workload: "simple", WorkloadSHA256: "abc", Scale: "quick", Driver: "zombiezen",
		Settings: driver.Settings{"journal_mode": "wal"}, Phases: []string{"insert", "mix"}})
	for i, trials := 0, r.Trials; i < len(trials); i += 3 { // the trials of native
		x := trials[i]
		proof := *x.Proof
		proof.SQLiteVersion, x.Proof = "3.51.2", &proof
		x.Case, x.Order, x.Samples = 4, len(r.Trials)+1, slices.Clone(x.Samples)
		for k := range x.Samples {
			x.Samples[k].WallNS += x.Samples[k].WallNS / 2
			x.Samples[k].PeakRSSBytes /= 2
		}
		r.Trials = append(r.Trials, x)
	}
	for i := range r.Trials {
		n, mix := int64(r.Trials[i].Case), &r.Trials[i].Samples[1]
		mix.Latency = []latency.Summary{{Operation: "read", Count: 1000, P50NS: 2000, P99NS: 40_000 - 5000*n}, {Operation: "write", Count: 1000, P50NS: 20_000, P99NS: 90_000 + 1000*n}}
	}
	return r
}

// TestHarm checks that each table marks the drivers whose known defects can lose data, and the best
// driver without such a defect.
func TestHarm(t *testing.T) {
	server := serveRuns(t, harmedRun(1))
	for query, want := range map[string]string{
		"phase=insert":                                "native- zombiezen!wal-reset mattn+ modernc-",
		"phase=insert&metric=rate":                    "native- zombiezen!wal-reset mattn+ modernc-",
		"phase=insert&metric=memory":                  "zombiezen!wal-reset native- mattn+ modernc-",
		"phase=insert&metric=cpu":                     "zombiezen!wal-reset native- mattn- modernc-",
		"phase=insert&driver=modernc":                 "modernc+",
		"phase=mix&metric=p99":                        "native- mattn+ modernc- zombiezen!wal-reset",
		"phase=mix&metric=p99:read":                   "zombiezen!wal-reset modernc+ mattn- native-",
		"phase=mix&metric=p99:write&driver=zombiezen": "zombiezen!wal-reset",
		"phase=insert&driver=zombiezen&driver=native": "native- zombiezen!wal-reset",
	} {
		path := "/api/v1/runs/1/cells?" + query
		var words []string
		for _, c := range get[*Cells](t, server, path).Tables[0].Cells {
			mark := "-"
			if c.Sound {
				mark = "+"
			}
			if c.Harmful != nil {
				mark = strings.TrimSuffix(mark, "-") + "!" + strings.Join(c.Harmful, ",")
			}
			words = append(words, c.Driver+mark)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		least := get[*Cells](t, server, path).Answer
		if of := strings.HasPrefix(least, "Least memory: zombiezen! with ") && strings.Contains(least, "; without a known defect that can lose data, mattn with "); of != strings.Contains(query, "metric=memory") {
			t.Errorf("%s: %q", query, least)
		}
	}
	table := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=mix&metric=p99").Tables[0]
	for _, c := range table.Cells {
		if read := c.Kinds[0]; read.Name != "read" || read.Sound != (c.Driver == "modernc") || read.N != 10 || read.Ratio == nil {
			t.Errorf("%s: %+v", c.Driver, read)
		}
	}
	if fmt.Sprint(table.Operations) != "[read write]" || fmt.Sprint(table.Settings) != "[journal_mode=wal page_size=4096]" || table.Differing != nil {
		t.Errorf("%+v", table)
	}
	for _, s := range get[*Trends](t, server, "/api/v1/trends?workload=simple&driver=zombiezen&driver=mattn&phase=insert").Series {
		want := map[string]string{"zombiezen": "[wal-reset]", "mattn": "[]"}[s.Driver]
		if got := fmt.Sprint(s.Points[0].Harmful); got != want {
			t.Errorf("trend of %s: harmful defects %s, want %s", s.Driver, got, want)
		}
	}
	for _, c := range get[*Run](t, server, "/api/v1/runs/1").Cases {
		if harm := fmt.Sprint(c.Harmful); (harm == "[wal-reset]") != (c.Driver == "zombiezen") {
			t.Errorf("%s: %s", c.Driver, harm)
		}
	}
}

func ids(l *List) string {
	var list []string
	for _, r := range l.Runs {
		list = append(list, fmt.Sprint(r.ID))
	}
	return strings.Join(list, " ")
}

func TestList(t *testing.T) {
	second := aRun(2, 1)
	second.Cases[2].Driver, second.Stopped = "ncruces", result.StoppedInterrupted
	third := aRun(3, 1)
	third.Workloads[0].Name, third.Machine.Hostname = "real", "Elsewhere"
	for i := range third.Cases {
		third.Cases[i].Workload = "real"
	}
	third.Trials[0].Status, third.Trials[0].Samples, third.Trials[0].Reason = result.Refused, nil, &protocol.Reason{Code: "settings", Message: "no"}
	fourth := aRun(4, 1)
	fourth.Trials, fourth.Ended, fourth.Stopped, fourth.Asked = fourth.Trials[:4], time.Time{}, "", nil
	server := serveRuns(t, aRun(1, 1), second, third, fourth)
	for query, want := range map[string]string{
		"":                                   "4 3 2 1",
		"?order=asc":                         "1 2 3 4",
		"?driver=modernc":                    "4 3 1",
		"?driver=modernc&driver=mattn":       "4 3 1",
		"?driver=modernc&driver=ncruces":     "",
		"?workload=real":                     "3",
		"?state=interrupted":                 "2",
		"?state=incomplete":                  "3",
		"?state=refused":                     "3",
		"?state=wrong":                       "",
		"?q=refused":                         "3",
		"?state=unfinished":                  "4",
		"?state=complete":                    "1",
		"?since=2026-11-03&until=2026-11-04": "3 2",
		"?until=2026-11-02T12:00:00Z":        "1",
		"?q=elsewhere":                       "3",
		"?q=NCRUCES+journal_mode=wal":        "2",
		"?q=2026-11-03":                      "2",
		"?q=11-03+12:00":                     "2",
		"?q=3+november+tuesday+ncruces":      "2",
		"?q=2026-11":                         "4 3 2 1",
		"?q=yesterday":                       "",
		"?q=2026-11-04+02:00&zone=Pacific/Kiritimati": "2",
		"?size=1&page=2":           "3",
		"?size=3&page=9":           "1",
		"?sort=trials&order=asc":   "4 1 2 3",
		"?sort=workload&order=asc": "3 1 2 4",
	} {
		l := get[*List](t, server, "/api/v1/runs"+query)
		if got := ids(l); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		if l.Total != 4 || fmt.Sprint(l.Drivers) != "[mattn modernc native ncruces]" || fmt.Sprint(l.Workloads) != "[real simple]" {
			t.Errorf("%s: %d runs, drivers %v, workloads %v", query, l.Total, l.Drivers, l.Workloads)
		}
	}
}

// TestStoreChanges checks that the answers are up to date if the store is created, changed, removed or
// replaced while it is served.
func TestStoreChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	server := serving(t, Options{Store: path, Floor: "native"})
	if l := get[*List](t, server, "/api/v1/runs"); l.Total != 0 || l.Runs == nil {
		t.Errorf("%+v", l)
	}
	if status, _, body := request(t, server, "GET", "/api/v1/runs/1", ""); status != http.StatusNotFound {
		t.Errorf("status %d: %s", status, body)
	}
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := aRun(1, 1)
	all := r.Trials
	r.Trials, r.Ended, r.Stopped = all[:6], time.Time{}, ""
	if err := st.Begin(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for i := 6; i <= len(all); i++ {
		if l := get[*List](t, server, "/api/v1/runs"); l.Total != 1 || l.Runs[0].Trials != i {
			t.Fatalf("after %d trials: %+v", i, l)
		}
		if run := get[*Run](t, server, "/api/v1/runs/1"); run.Trials != i {
			t.Fatalf("after %d trials: run has %d", i, run.Trials)
		}
		if i < len(all) {
			if err := st.AddTrial(t.Context(), 1, &all[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Ended, r.Stopped = began.AddDate(0, 0, 1), result.StoppedRounds
	if err := st.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if run := get[*Run](t, server, "/api/v1/runs/1"); run.Stopped != result.StoppedRounds {
		t.Errorf("stopped %q", run.Stopped)
	}
	for _, question := range []string{result.QuestionTune, result.QuestionAdvise} {
		if err := st.SetAnswer(t.Context(), 1, &result.Answer{Question: question, Version: 1, Value: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		if run := get[*Run](t, server, "/api/v1/runs/1"); run.Question != question {
			t.Errorf("the answer of %q, want that of %s", run.Question, question)
		}
	}
	if err := st.AddWarning(t.Context(), 1, result.Warning{Code: "load", Message: "busy"}); err != nil {
		t.Fatal(err)
	}
	if run := get[*Run](t, server, "/api/v1/runs/1"); len(run.Warnings) != 1 {
		t.Errorf("warnings: %+v", run.Warnings)
	}

	// Another file replaces the store.
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if l := get[*List](t, server, "/api/v1/runs"); l.Total != 0 {
		t.Errorf("after the store has gone: %+v", l)
	}
	other, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for i := range 2 {
		if err := other.Begin(t.Context(), aRun(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if l := get[*List](t, server, "/api/v1/runs"); l.Total != 2 {
		t.Errorf("of the other store: %+v", l)
	}
}

func TestRun(t *testing.T) {
	r := aRun(1, 2)
	r.Trials[2].Status, r.Trials[2].Samples, r.Trials[2].Reason = result.Refused, nil, &protocol.Reason{Code: "settings", Message: "want off, is on"}
	server := serveRuns(t, r, aRun(2, 2))
	run := get[*Run](t, server, "/api/v1/runs/1")
	if c := run.Cases[2]; c.Status != result.Refused || c.Reason.Message != "want off, is on" || c.BadTrials != 1 || c.Trials != 10 {
		t.Errorf("%+v", c)
	}
	if run.Seed != 1<<60 || run.Machine.Hostname != "lab" || run.Cases[1].SQLite != "3.53.4" {
		t.Errorf("%+v", run)
	}

	for query, want := range map[string]string{
		"":                                       "insert: native 0 mattn 1 modernc 0; mix: native 0 mattn 1 modernc 0",
		"?phase=mix&driver=mattn":                "mix: mattn 1",
		"?metric=allocs&phase=insert":            "insert: mattn 0 native 0 modernc 0",
		"?workload=other":                        "",
		"?metric=rate&phase=insert&driver=mattn": "insert: mattn 0",
	} {
		var tables []string
		for _, table := range get[*Cells](t, server, "/api/v1/runs/1/cells"+query).Tables {
			text := table.Phase + ":"
			for _, c := range table.Cells {
				text += fmt.Sprintf(" %s %d", c.Driver, c.Rank)
			}
			tables = append(tables, text)
		}
		if got := strings.Join(tables, "; "); got != want {
			t.Errorf("cells%s: %s, want %s", query, got, want)
		}
	}
	c := get[*Cells](t, server, "/api/v1/runs/2/cells?phase=insert").Tables[0]
	if !c.Cells[0].Floor || c.Cells[0].Rank != 0 || c.Cells[1].Rank != 1 || c.Cells[2].Rank != 2 {
		t.Errorf("ranks: %+v", c.Cells)
	}
	if c.Unit != "s" || c.Base != "native" || !c.IsFloor || *c.Cells[1].Median < 0.002 || *c.Cells[1].Low > *c.Cells[1].Median || c.Cells[2].Ratio.Median < 3.9 {
		t.Errorf("%+v", c)
	}
	c = get[*Cells](t, server, "/api/v1/runs/2/cells?phase=insert&driver=modernc&driver=mattn").Tables[0]
	if p := c.Pair; p == nil || p.First != "mattn" || p.Second != "modernc" || p.Ratio.Median < 1.9 || p.Ratio.Median > 2.1 || p.Ratio.Interval == nil || p.P == nil || !p.Apart {
		t.Errorf("of two drivers: %+v", c)
	}
	c = get[*Cells](t, server, "/api/v1/runs/2/cells?phase=mix&metric=p99").Tables[0]
	if c.Unit != "s" || *c.Cells[1].Median != 5e-6 || c.Cells[1].Ratio == nil || c.Cells[1].Ratio.Interval == nil {
		t.Errorf("%+v", c)
	}

	s := get[*Samples](t, server, "/api/v1/runs/2/samples?case=2&case=3&phase=mix&metric=rate")
	if len(s.Cases) != 2 || s.Unit != "op/s" || len(s.Cases[1].Samples) != 10 || s.Cases[0].InForce["journal_mode"] != "wal" || s.Cases[0].InForce["page_size"] != "4096" || s.Cases[0].Proof.Connections[0]["journal_mode"] != "wal" {
		t.Errorf("%+v", s)
	}
	if x := s.Cases[0].Samples[9]; x.Round != 10 || x.Trial != 29 || !x.Counts || x.Ops != 10 || x.Value < 4900 || x.Value > 5000 {
		t.Errorf("%+v", x)
	}
}

// TestOwnCost checks that an answer says if sqlite3perf's own overhead could explain the difference between
// two drivers. The row of a driver must say so about its lead over the next slower driver, even if the
// driver is not the fastest.
func TestOwnCost(t *testing.T) {
	r := aRun(1, 1.5)
	for i, d := range []string{"mattn", "modernc", "ncruces"} {
		r.Cases[i].Driver = d
		r.Cases[i].Info = driver.Info{Name: d, Kind: []driver.Kind{driver.Cgo, driver.Transpiled, driver.Wasm}[i], Interface: []driver.Interface{driver.Direct, driver.DatabaseSQL, driver.DatabaseSQL}[i]}
		r.Cases[i].Added = []result.AddedTime{{Phase: "insert", Operation: estimate.Estimate{Low: 100, High: float64([]int{100, 100, 20_000}[i])}}}
	}
	server := serveRuns(t, r)
	table := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=insert").Tables[0]
	if c := table.Cells; c[0].Doubtful != "" || c[1].Doubtful != "ncruces" || c[2].Doubtful != "" || !c[0].First || c[1].First || table.Pair != nil {
		t.Errorf("%+v", table)
	}
	for drivers, own := range map[string]bool{"driver=mattn&driver=modernc": false, "driver=modernc&driver=ncruces": true} {
		p := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=insert&"+drivers).Tables[0].Pair
		if p == nil || !p.Apart || strings.Contains(p.Added, "sqlite3perf's own overhead may explain the difference: it is at least 50% of the time of modernc") != own {
			t.Errorf("%s: %+v", drivers, p)
		}
	}
	run := get[*Run](t, server, "/api/v1/runs/1")
	if c := run.Choices; len(c) != 1 || c[0][0] != "without cgo" || !strings.HasPrefix(c[0][1], "modernc, 2.0 times as slow as mattn") {
		t.Errorf("%q", c)
	}
	if c := run.Cases[1]; c.Kind != driver.Transpiled || c.Interface != driver.DatabaseSQL {
		t.Errorf("%+v", c)
	}
}

// TestFirstOrTied checks that the fastest row, and the rows that do not differ significantly from
// it, are marked as first or tied.
func TestFirstOrTied(t *testing.T) {
	r := aRun(1, 1)
	for i := range r.Trials {
		x := &r.Trials[i]
		if x.Case > 1 {
			x.Samples[0].WallNS = 2e6 + int64((x.Round+x.Case)%2*1000)
		}
	}
	c := get[*Cells](t, serveRuns(t, r), "/api/v1/runs/1/cells?phase=insert").Tables[0].Cells
	if c[0].First || !c[1].First || !c[2].First || len(c[2].Tied) != 1 {
		t.Errorf("%+v", c)
	}
}

// TestKindsOfP99 checks that an answer about 99th percentiles names the kind of operations of each
// percentile.
func TestKindsOfP99(t *testing.T) {
	r := aRun(1, 2)
	for i := range r.Trials {
		mix := &r.Trials[i].Samples[1]
		mix.Latency = append(mix.Latency, latency.Summary{Operation: "put", Count: 1000, P50NS: 20_000, P99NS: 90_000, MaxNS: 100_000})
	}
	server := serveRuns(t, r)
	table := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=mix&metric=p99").Tables[0]
	c := table.Cells[0]
	if table.Of != "the slowest kind (put)" || fmt.Sprint(table.Operations) != "[get put]" || len(c.Kinds) != 2 || c.Kinds[0].Name != "get" || c.Kinds[0].Median != 5e-6 || c.Kinds[0].N != 10 || c.Kinds[0].Ratio == nil ||
		c.Kinds[1].Name != "put" || c.Kinds[1].Median != 90e-6 || c.Kinds[1].Low == nil || *c.Median != 90e-6 {
		t.Errorf("%+v\n%+v", table, c)
	}
	// The 99th percentile of each kind of operations is also a metric.
	var tails []string
	for _, m := range get[*Run](t, server, "/api/v1/runs/1").Metrics {
		if strings.HasPrefix(m.Name, tailLatency) {
			tails = append(tails, m.Name+", "+m.Title)
		}
	}
	if want := []string{"p99, 99th percentile of the latency", "p99:get, 99th percentile of the latency of get", "p99:put, 99th percentile of the latency of put"}; !slices.Equal(tails, want) {
		t.Errorf("metrics %q, want %q", tails, want)
	}
	for kind, want := range map[string]float64{"get": 5e-6, "put": 90e-6} {
		cells := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=mix&metric=p99:"+kind)
		if table := cells.Tables[0]; *table.Cells[0].Median != want || table.Unit != "s" || table.Of != "" || table.Cells[0].Kinds != nil || !strings.HasSuffix(cells.Metric.Title, " of "+kind) {
			t.Errorf("%s: %+v", kind, cells)
		}
	}
	for _, m := range get[*Run](t, serveRuns(t, aRun(1, 1)), "/api/v1/runs/1").Metrics {
		if strings.HasPrefix(m.Name, kindPrefix) {
			t.Errorf("a run with one kind of operations has the metric %s", m.Name)
		}
	}
	if table := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=mix").Tables[0]; table.Of != "" || table.Cells[0].Kinds != nil {
		t.Errorf("of time: %+v", table)
	}
}

// TestCharts checks which pictures of a run an answer lists. The parameters of the request select
// pictures. Pictures that would be empty are left out.
func TestCharts(t *testing.T) {
	server := serveRuns(t, aRun(1, 2))
	kinds := func(query string) string {
		var list []string
		for _, c := range get[*Charts](t, server, "/api/v1/runs/1/charts"+query).Charts {
			list = append(list, fmt.Sprintf("%s %s", c.Kind, c.Phase))
		}
		return strings.TrimSpace(strings.Join(list, "; "))
	}
	for query, want := range map[string]string{
		"":                             "summary ; tradeoff ; ratios ; ranking insert; samples insert; memory insert; ranking mix; latency mix; samples mix",
		"?kind=latency&kind=memory":    "memory insert; latency mix",
		"?phase=mix":                   "ranking mix; latency mix; samples mix",
		"?driver=mattn":                "summary ; ranking insert; samples insert; memory insert; ranking mix; latency mix; samples mix",
		"?driver=mattn&driver=modernc": "summary ; tradeoff ; ratios ; ranking insert; samples insert; memory insert; ranking mix; latency mix; samples mix",
		"?driver=nobody":               "",
		"?workload=other":              "",
		"?phase=insert&driver=native&kind=ranking": "ranking insert",
	} {
		if got := kinds(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}

	d := get[*Drawn](t, server, "/api/v1/runs/1/charts/simple-mix-latency-get?driver=mattn&driver=modernc&width=400")
	if !strings.HasPrefix(d.SVG, `<svg width="400"`) || strings.Contains(d.SVG, "native") || d.Kind != document.KindLatency || d.Phase != "mix" || len(d.Columns) == 0 || len(d.Rows) == 0 {
		t.Errorf("%+v", d)
	}
	for _, part := range []string{`href="?case=2&amp;of=mix"`, "99 %: 5", "10 samples", "interval"} {
		if !strings.Contains(d.SVG, part) {
			t.Errorf("without %s: %s", part, d.SVG)
		}
	}
	for extension, want := range map[string][2]string{".svg": {"image/svg+xml", "<svg"}, ".png": {"image/png", "\x89PNG"}} {
		status, header, body := request(t, server, "GET", "/api/v1/runs/1/charts/phases"+extension, "")
		if status != http.StatusOK || header.Get("Content-Type") != want[0] || !strings.HasPrefix(body, want[1]) ||
			header.Get("Content-Disposition") != "attachment; filename=phases"+extension || strings.Contains(body, "href") {
			t.Errorf("%s: status %d, %v, %.100q", extension, status, header, body)
		}
	}
	if status, _, body := request(t, server, "GET", "/assets/chart.css", ""); status != http.StatusOK || !strings.Contains(body, "--chart-1:") || !strings.Contains(body, "prefers-color-scheme: dark") {
		t.Errorf("status %d: %s", status, body)
	}
}

// TestRatios checks the ratios of metrics other than time. A driver has a ratio if its own figure
// and the figure of the driver that ratios are relative to are known. The answer says whether less
// or more is better.
func TestRatios(t *testing.T) {
	server := serveRuns(t, aRun(1, 2))
	for query, want := range map[string]string{
		"metric=memory&phase=insert":             "less: native 1.00 mattn 1.00 modernc 1.00",
		"metric=rate&phase=insert":               "more: native 1.00 mattn 0.50 modernc 0.25",
		"metric=rate&phase=insert&driver=mattn":  "more: mattn 0.50",
		"metric=cpu&phase=insert&driver=modernc": ": modernc 1.00",
		"metric=allocs&phase=insert":             "less: mattn none modernc none native none", // native allocates nothing
		"metric=failed&phase=insert":             "less: native none mattn none modernc none",
	} {
		c := get[*Cells](t, server, "/api/v1/runs/1/cells?"+query)
		text := string(c.Metric.Better) + ":"
		for _, x := range c.Tables[0].Cells {
			text += " " + x.Driver + " none"
			if x.Ratio != nil {
				text = strings.TrimSuffix(text, "none") + fmt.Sprintf("%.2f", x.Ratio.Median)
			}
		}
		if text != want || c.Tables[0].Base != "native" {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
}

// TestListCounts checks that the list of runs counts the cases that are not OK and the kinds of
// warnings, and says why each run ended. A run is complete if every failed trial was repeated with success.
func TestListCounts(t *testing.T) {
	bad, warned := aRun(2, 1), aRun(3, 1)
	for _, i := range []int{0, 3, 5} { // trials of the cases 1, 1 and 3
		bad.Trials[i].Status, bad.Trials[i].Samples, bad.Trials[i].Reason = result.Refused, nil, &protocol.Reason{Code: "settings", Message: "no"}
	}
	bad.Trials[8].Status, bad.Trials[8].Samples = result.Wrong, nil // another trial of case 3
	warned.Warnings = []result.Warning{{Code: "load", Message: "busy"}, {Code: "virtual", Message: "virtual"}, {Code: "virtual", Message: "again"}}
	warned.Stopped = result.StoppedTime
	resumed := aRun(4, 1)
	failed := resumed.Trials[0]
	failed.Status, failed.Samples, failed.Reason, failed.Repeated = result.Failed, nil, &protocol.Reason{Code: "timeout", Message: "no"}, true
	failed.Order = len(resumed.Trials) + 1
	resumed.Trials = append(resumed.Trials, failed)
	l := get[*List](t, serveRuns(t, aRun(1, 1), bad, warned, resumed), "/api/v1/runs?order=asc")
	var got []string
	for _, r := range l.Runs {
		got = append(got, fmt.Sprint(r.State, r.Cases, r.Bad, r.Warnings, r.Warned, " ", r.Ending))
	}
	if want := []string{"complete3 map[] 0 [] rounds done", "incomplete3 map[refused:1 wrong:1] 0 [] rounds done", "complete3 map[] 2 [noise] time over", "complete3 map[] 0 [] rounds done"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTrendsStart checks that Trends.Start has a workload and a driver that several runs have
// measured.
func TestTrendsStart(t *testing.T) {
	other := aRun(3, 1)
	other.Workloads[0].Name = "another"
	for i := range other.Cases {
		other.Cases[i].Workload = "another"
	}
	server := serveRuns(t, aRun(1, 1), aRun(2, 1), other)
	if s := get[*Trends](t, server, "/api/v1/trends").Start; s == nil || s.Workload != "simple" {
		t.Errorf("%+v", s)
	}
}

// TestCompareBeware compares runs that were made at different times. The answer must have the
// warnings of both runs, and say whether their builds are the same, because either may explain a
// difference.
func TestCompareBeware(t *testing.T) {
	loaded := aRun(2, 2)
	loaded.Warnings = []result.Warning{{Code: "load", Message: "the machine was busy"}}
	server := serveRuns(t, aRun(1, 1), loaded, aRun(4, 1))
	c := get[*Comparison](t, server, "/api/v1/compare?first=1&second=2")
	says := func(list []conditions.Caveat) bool {
		return slices.ContainsFunc(list, func(c conditions.Caveat) bool { return c.Text == "the machine was busy" })
	}
	if !c.SameBuilds || !strings.Contains(c.Beware, "same builds, measured at different times") || says(c.FirstCaveats) || !says(c.SecondCaveats) {
		t.Errorf("%+v", c)
	}
	if c := get[*Comparison](t, serveRuns(t, aRun(1, 1), aRun(2, 1)), "/api/v1/compare?first=1&second=2"); strings.Contains(c.Beware, "the machine probably changed") {
		t.Errorf("%q, although nothing changed", c.Beware)
	}
	slow := aRun(2, 1)
	for i := range slow.Trials {
		for k := range slow.Trials[i].Samples {
			slow.Trials[i].Samples[k].WallNS *= 3
		}
	}
	if c := get[*Comparison](t, serveRuns(t, aRun(1, 1), slow), "/api/v1/compare?first=1&second=2"); !strings.Contains(c.Beware, "is 3.0 times as slow in run 2 as in run 1: the machine probably changed") {
		t.Errorf("%q", c.Beware)
	}
	slow.Cases[1].Info.Module = "github.com/mattn/go-sqlite3"
	for i := range slow.Trials {
		slow.Trials[i].Proof.ModuleVersion = "v1.14.53"
	}
	if c := get[*Comparison](t, serveRuns(t, aRun(1, 1), slow), "/api/v1/compare?first=1&second=2"); !strings.Contains(c.Beware, ". Known defect: mattn-reprepare may explain it.") {
		t.Errorf("%q", c.Beware)
	}
	if run := get[*Run](t, server, "/api/v1/runs/2"); !says(run.Caveats) {
		t.Errorf("%+v", run.Caveats)
	}
	if c := get[*Comparison](t, server, "/api/v1/compare?first=1&second=3"); c.SameBuilds || !strings.Contains(c.Beware, "measured at different times") ||
		fmt.Sprint(c.FirstDrivers, c.SecondDrivers) != "[native v1.0.0, SQLite 3.53.4 mattn v1.0.0, SQLite 3.53.4 modernc v1.0.0, SQLite 3.53.4] [native v1.1.0, SQLite 3.53.4 mattn v1.1.0, SQLite 3.53.4 modernc v1.1.0, SQLite 3.53.4]" ||
		fmt.Sprint(c.Differences) != "[{module m v1.0.0 m v1.1.0 all cells}]" {
		t.Errorf("of another version: %+v", c)
	}
}

func TestCompare(t *testing.T) {
	server := serveRuns(t, aRun(1, 1), aRun(2, 2))
	c := get[struct {
		Answer  string
		Started []time.Time
		Cells   []struct{ Verdict, Variant, Phase string }
		Words   []string
	}](t, server, "/api/v1/compare?first=1&second=2&margin=0.1")
	if !slices.Equal(c.Started, []time.Time{began.AddDate(0, 0, 1), began.AddDate(0, 0, 2)}) {
		t.Errorf("the runs began at %v", c.Started)
	}
	if len(c.Words) != len(c.Cells) || c.Words[0] != "slower" || c.Words[2] == "unclear" {
		t.Errorf("verdicts in words: %q", c.Words)
	}
	if c.Cells[0].Verdict != "slower" || c.Cells[0].Variant != "modernc" || c.Cells[2].Verdict != "unclear" || !strings.HasPrefix(c.Answer, "run 2 is 2.0 times as slow as run 1 in 2 of 6 cells") ||
		!strings.Contains(c.Answer, "differ by less than 10% in 4 of 6 cells") {
		t.Errorf("%+v", c)
	}
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
			t.Errorf("%s, %s: the store's text is in it as it is", path, header.Get("Content-Type"))
		}
	}
	l := get[*List](t, server, "/api/v1/runs?driver="+strings.Repeat("x", maxText)+"%E2%80%A6")
	if ids(l) != "1" {
		t.Errorf("a clipped name finds no run: %+v", l)
	}
}

// TestTrendsInParts checks that the trends of a large store are read in parts, beginning with the
// newest runs.
func TestTrendsInParts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i := range 4 {
		if err := st.Begin(t.Context(), aRun(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	site := New(Options{Store: path, Floor: "native"})
	site.reading = 0
	server := httptest.NewServer(site.Handler())
	defer server.Close()
	defer site.Close()
	first := get[*Trends](t, server, "/api/v1/trends?workload=simple&driver=mattn&phase=mix")
	if first.Pending != 3 || first.Runs != 4 || len(first.Series[0].Points) != 1 || first.Series[0].Points[0].Run != 4 {
		t.Errorf("%+v", first)
	}
	site.reading = time.Hour
	if all := get[*Trends](t, server, "/api/v1/trends?workload=simple&driver=mattn&phase=mix"); all.Pending != 0 || len(all.Series[0].Points) != 4 || all.Series[0].Points[0].Run != 1 {
		t.Errorf("%+v", all)
	}
}

// TestTrends checks that a trend joins only figures that were measured in the same way, and that
// it finds the run in which the level changes.
func TestTrends(t *testing.T) {
	var runs []*result.Run
	noise := rand.New(rand.NewPCG(1, 1))
	for i := range 32 {
		slower := 1 + 0.01*noise.Float64()
		if i >= 16 {
			slower *= 1.2
		}
		runs = append(runs, aRun(i, slower))
	}
	elsewhere, edited, other, going, refused := aRun(40, 1), aRun(41, 1), aRun(42, 1), aRun(43, 1), aRun(44, 1)
	elsewhere.Machine.CPU = "another"
	for i := range edited.Cases {
		edited.Cases[i].WorkloadSHA256 = "def"
		other.Cases[i].Settings = driver.Settings{"journal_mode": "delete"}
	}
	going.Ended, going.Stopped = time.Time{}, ""
	refused.Trials[2].Status, refused.Trials[2].Samples, refused.Trials[2].Reason = result.Refused, nil, &protocol.Reason{Code: "settings", Message: "no"}
	server := serveRuns(t, append(runs, elsewhere, edited, other, going, refused)...)

	all := get[*Trends](t, server, "/api/v1/trends?workload=simple&driver=modernc&phase=insert")
	var lengths []int
	for _, s := range all.Series {
		lengths = append(lengths, len(s.Points))
	}
	if fmt.Sprint(lengths) != "[1 1 1 32]" || all.Runs != 36 || all.Older != 0 {
		t.Fatalf("%d runs, series with %v points", all.Runs, lengths)
	}
	s := all.Series[3]
	if len(s.Changes) != 1 || s.Changes[0].Run != 17 || s.Changes[0].At != 16 || s.Changes[0].Ratio < 1.19 || s.Changes[0].Ratio > 1.21 || s.Changes[0].P > 0.05 {
		t.Errorf("%+v", s.Changes)
	}
	if len(s.Marks) != 7 || s.Marks[3] != (trends.Mark{At: 16, Run: 17, Words: "modernc v1.4.0, before v1.3.0"}) {
		t.Errorf("%+v", s.Marks)
	}
	if p := s.Points[31]; p.Run != 32 || p.Library != "v1.7.0" || p.N != 10 || p.Median < 0.0024 || p.Low == nil || s.Unit != "s" || s.Host != "lab" {
		t.Errorf("%+v", p)
	}
	if x := get[*Trends](t, server, "/api/v1/trends?workload=simple&driver=modernc&driver=mattn&runs=3&metric=rate"); x.Older != 33 || x.Runs != 3 || len(x.Series) != 10 {
		t.Errorf("%d runs, %d older, %d series", x.Runs, x.Older, len(x.Series))
	}
	if x := get[*Trends](t, server, "/api/v1/trends"); len(x.Series) != 0 || fmt.Sprint(x.Workloads) != "[simple]" || len(x.Drivers) != 3 {
		t.Errorf("%+v", x)
	}
	if status, _, body := request(t, server, "GET", "/api/v1/trends?runs=1000", ""); status != http.StatusBadRequest {
		t.Errorf("status %d: %s", status, body)
	}
}

// TestDamagedStore checks that a run whose record contradicts itself is listed as damaged, and
// that all other runs can still be read.
func TestDamagedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := st.Begin(t.Context(), aRun(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, change := range []string{
		`UPDATE samples SET json = json_set(json, '$.wall_ns', -1) WHERE run_id = 1 AND trial_id = 3`,
		`UPDATE runs SET json = '{"rounds": 1e999}' WHERE run_id = 2`,
		`UPDATE trials SET json = json_set(json, '$.status', '</script>') WHERE run_id = 3 AND trial_id = 1`,
	} {
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
	}
	server := serving(t, Options{Store: path, Floor: "native"})
	states := ""
	for _, r := range get[*List](t, server, "/api/v1/runs?order=asc").Runs {
		states += r.State + " "
	}
	if states != "damaged complete damaged complete " { // run 2 comes first, because it has no date; run 1 is complete here, because samples are checked only when their run is read
		t.Error(states)
	}
	for id, says := range map[int]string{1: "-1 ns", 2: "damaged", 3: "there is no status"} {
		for _, path := range []string{"/runs/%d/report", "/api/v1/runs/%d", "/api/v1/runs/%d/cells", "/api/v1/runs/%d/report", "/api/v1/compare?first=%d&second=4"} {
			status, _, body := request(t, server, "GET", fmt.Sprintf(path, id), "")
			if status != http.StatusUnprocessableEntity || !strings.Contains(body, says) {
				t.Errorf(path+": status %d, want %q: %s", id, status, says, body)
			}
		}
	}
	if x := get[*Trends](t, server, "/api/v1/trends?workload=simple&driver=modernc&phase=mix"); x.Damaged != 1 || len(x.Series[0].Points) != 1 || x.Series[0].Points[0].Run != 4 {
		t.Errorf("%+v", x)
	}
	get[*Current](t, server, "/api/v1/current")
	get[*Run](t, server, "/api/v1/runs/4")
}

// TestAnsweredRun checks that a run with an answer links to that answer. A run without samples
// must never be used like a run with samples.
func TestAnsweredRun(t *testing.T) {
	tuned, diffed := aRun(2, 1), aRun(3, 1)
	tuned.Answer = &result.Answer{Question: result.QuestionTune, Version: 1, Value: []byte("{}")}
	diffed.Trials, diffed.Answer = nil, &result.Answer{Question: result.QuestionDiff, Version: 1, Value: []byte("{}")}
	server := servingRuns(t, func(o *Options) {
		o.Answer = func(_ context.Context, w io.Writer, format string, a *stats.Analysis, o document.Options) error {
			_, err := fmt.Fprintf(w, `{"of": %d, "as": %q, "assets": %t}`, a.Run.ID, format, o.Assets != "")
			return err
		}
	}, aRun(1, 1), tuned, diffed)
	if l := get[*List](t, server, "/api/v1/runs?state=answer"); l.Matching != 1 || l.Runs[0].Question != "diff" || l.Runs[0].State != "answer" {
		t.Errorf("%+v", l)
	}
	if r := get[*Run](t, server, "/api/v1/runs/2"); r.Question != "tune" || r.Unsampled != "" || len(r.Cases) == 0 {
		t.Errorf("%+v", r)
	}
	if r := get[*Run](t, server, "/api/v1/runs/3"); r.Question != "diff" || r.Answer != "This run has the answer of diff instead of samples." {
		t.Errorf("%+v", r)
	}
	type written struct {
		Of     int64  `json:"of"`
		As     string `json:"as"`
		Assets bool   `json:"assets"`
	}
	if got, want := get[written](t, server, "/api/v1/runs/3/answer"), (written{3, "json", true}); got != want {
		t.Errorf("%+v", got)
	}
	for path, want := range map[string]int{"/runs/2/answer": 200, "/runs/1/answer": 404, "/api/v1/runs/1/answer": 404, "/api/v1/compare?first=2&second=3": 400} {
		if status, _, body := request(t, server, "GET", path, ""); status != want {
			t.Errorf("%s: %d: %s", path, status, body)
		}
	}
}

// TestProfiledRun checks that a run that has profiles links to its report. Such a run must never be used
// like a run with samples.
func TestProfiledRun(t *testing.T) {
	profiled := aRun(3, 1)
	profiled.Trials, profiled.Profiles = nil, &result.Profiles{Phase: "insert"}
	for _, c := range profiled.Cases {
		profiled.Profiles.Cases = append(profiled.Profiles.Cases, result.Profile{Case: c.ID, Status: result.OK, CPUNS: []int64{1e9},
			Functions: []result.Function{{Name: "main.main"}, {Name: "sqlite3_step<script>"}},
			CPU:       []result.Stack{{Functions: []int{1, 0}, Samples: 100, Value: 1e9}}})
	}
	server := serveRuns(t, aRun(1, 1), aRun(2, 1), profiled, profiled, profiled)
	if l := get[*List](t, server, "/api/v1/runs?state=profile"); l.Matching != 3 || l.Runs[0].Profiled != "insert" || l.Runs[0].State != "profile" {
		t.Errorf("%+v", l)
	}
	if r := get[*Run](t, server, "/api/v1/runs/3"); r.Profiled != "insert" || !strings.HasPrefix(r.Answer, "native spends 100%") {
		t.Errorf("%+v", r)
	}
	for path, want := range map[string]string{"/runs/3/report": "picture-flame-mattn", "/api/v1/runs/3/report": `"sampler"`} {
		if status, _, body := request(t, server, "GET", path, ""); status != 200 || !strings.Contains(body, want) || strings.Contains(body, "step<script>") && strings.HasPrefix(path, "/runs") {
			t.Errorf("%s: %d: %.300s", path, status, body)
		}
	}
	if status, _, body := request(t, server, "GET", "/api/v1/compare?first=1&second=3", ""); status != 400 || !strings.Contains(body, "run 3 has profiles instead of samples") {
		t.Errorf("%d: %s", status, body)
	}
	x := get[*Trends](t, server, "/api/v1/trends?workload=simple&driver=mattn&phase=insert")
	if x.Runs != 2 || len(x.Series) != 1 || len(x.Series[0].Points) != 2 {
		t.Errorf("%+v", x)
	}
	if c := get[*Cells](t, server, "/api/v1/runs/3/cells"); slices.ContainsFunc(c.Tables, func(t Table) bool {
		return slices.ContainsFunc(t.Cells, func(c Cell) bool { return c.Median != nil })
	}) {
		t.Errorf("%+v", c)
	}
}

// TestReadBack checks a case that was refused because a connection read back another value of a
// setting after a phase. The answer with the samples must contain the settings that the
// connections read back.
func TestReadBack(t *testing.T) {
	r := aRun(1, 1)
	x := &r.Trials[1]
	x.Status, x.Samples, x.Reason = result.Refused, nil, &protocol.Reason{Code: protocol.CodeSetting, Message: "it changed"}
	x.ReadBack = &result.ReadBack{After: "insert", Wanted: driver.Settings{"synchronous": "full"},
		Connections: []driver.Settings{{"synchronous": "full"}, {"synchronous": strings.Repeat("x", 10_000)}}}
	server := serveRuns(t, r)
	s := get[*Samples](t, server, "/api/v1/runs/1/samples?case=2&phase=insert").Cases[0].Later
	if s == nil || s.After != "insert" || s.Wanted["synchronous"] != "full" || len(s.Connections) != 2 || len(s.Connections[1]["synchronous"]) > 1000 {
		t.Errorf("%+v", s)
	}
}
