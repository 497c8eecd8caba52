package explorer

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

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
		t.Errorf("want an empty list of defects of SQLite 3.53.4: %+v", d)
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
