package explorer

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/trends"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

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
