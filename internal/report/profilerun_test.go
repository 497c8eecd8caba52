package report_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// profiledRun returns a run of profiles of three drivers, one of which failed. The parameter
// "function" is the name of a function in the profiles.
func profiledRun(function string) *result.Run {
	r := &result.Run{ID: 7, Seed: 5, Scale: "quick", Rounds: 2, Stopped: result.StoppedTime, Profiles: &result.Profiles{Phase: "query", NoPerf: "there is no perf in PATH"}}
	for i, name := range []string{"mattn", "modernc@v1.46.0", "broken"} {
		r.Cases = append(r.Cases, result.Case{ID: i + 1, Workload: "real", Driver: name, Phases: []string{"query"},
			Settings: driver.Settings{"synchronous": "full", "journal_mode": "wal"}, Info: driver.Info{Module: "example.com/lib"}})
		x := result.Profile{Case: i + 1, Status: result.OK, Perf: i == 0, WallNS: 400e6, CPUNS: []int64{100e6, 200e6},
			Functions: []result.Function{{Name: "main.main"}, {Name: function}, {Name: "modernc.org/sqlite/lib.Xsqlite3_step"}},
			CPU:       []result.Stack{{Functions: []int{2, 0}, Samples: 200, Value: 200e6}, {Functions: []int{1, 0}, Samples: 100, Value: 100e6}}}
		if name == "broken" {
			x = result.Profile{Case: i + 1, Status: result.Failed, Reason: &protocol.Reason{Code: protocol.CodeCrash, Message: "it crashed"}}
		}
		r.Profiles.Cases = append(r.Profiles.Cases, x)
	}
	return r
}

// TestProfileRun checks that the report of a run with profiles instead of samples is a profile, and
// that only the formats of profiles can be written.
func TestProfileRun(t *testing.T) {
	a := stats.Analyze(profiledRun("main.work"), "native")
	for _, format := range report.Formats() {
		var b bytes.Buffer
		err := report.Write(&b, format, a, report.Options{})
		if slices.Contains(profile.Formats.Names(), format) == (err != nil) {
			t.Errorf("%s: %v", format, err)
		}
		if err != nil {
			continue
		}
		for _, want := range []string{"mattn spends 67%", "it crashed", "modernc@v1.46.0", "there is no perf in PATH"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q:\n%s", format, want, b.String())
			}
		}
	}
	if said := report.AnswersOf(a, report.Options{}); !strings.HasPrefix(said.Text, "mattn spends") || len(said.Caveats) != 1 || said.Caveats[0].Code != "failed" {
		t.Errorf("%+v", said)
	}
	var b bytes.Buffer
	if err := report.Write(&b, "json", a, report.Options{}); err != nil {
		t.Fatal(err)
	}
	validate(t, compiled(t, "profile"), b.String())
	var got profile.Profiled
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Run != 7 || got.Settings != "journal_mode=wal synchronous=full" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := report.ReadJSON(&b); err == nil || !strings.Contains(err.Error(), "is a profile, which has no stacks in JSON") {
		t.Errorf("read as a report: %v", err)
	}
}

// TestProfileRunInterrupted checks that a case without a profile counts as not measured.
func TestProfileRunInterrupted(t *testing.T) {
	r := profiledRun("main.work")
	r.Profiles.Cases = r.Profiles.Cases[1:2]
	p := profile.ProfileOf(r, document.Hints{})
	if p.Drivers[0].Status != stats.NotMeasured || p.Drivers[0].Reason == nil || p.Drivers[1].Status != result.OK || len(p.Flames) != 1 {
		t.Errorf("%+v", p.Drivers)
	}
	if got := profile.ProfileOf(&result.Run{}, document.Hints{}); got != nil {
		t.Errorf("a run with samples: %+v", got)
	}
}

// TestProfilePictures checks that the flame graphs of a run of profiles can be drawn like the
// pictures of other runs.
func TestProfilePictures(t *testing.T) {
	const script = `</svg><script>alert(1)</script>`
	a := stats.Analyze(profiledRun(script), "native")
	for _, name := range []string{"groups", "flame-mattn", "flame-modernc-v1-46-0"} {
		p, _, err := report.PictureNamed(a, name, report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := report.PictureFormats.Write(&b, "svg", p, 0); err != nil || strings.Contains(b.String(), "<script") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
		if strings.HasPrefix(name, "flame") && (!strings.Contains(b.String(), "sqlite3_step") || !strings.Contains(b.String(), "in query of real, 300 samples")) {
			t.Errorf("%s:\n%s", name, b.String())
		}
		b.Reset()
		if err := report.PictureFormats.Write(&b, "png", p, 0); err != nil {
			t.Error(err)
		}
		if _, err := png.Decode(&b); err != nil {
			t.Error(err)
		}
	}
	if p, others, err := report.PictureNamed(a, "", report.Options{}); err != nil || p.Name != "groups" || !slices.Contains(others, "flame-mattn") {
		t.Errorf("without a name: %q, others %q, %v", p.Name, others, err)
	}
	a.Run.Cases, a.Run.Profiles.Cases = a.Run.Cases[:2], a.Run.Profiles.Cases[:2]
	if _, _, err := report.PictureNamed(a, "difference", report.Options{}); err != nil {
		t.Error(err)
	}
}

// TestSoakHostileProfileRun checks that the page of a made-up profile stays small, and that names in
// the profile are shown as text.
func TestSoakHostileProfileRun(t *testing.T) {
	r := profiledRun("x")
	x := &r.Profiles.Cases[0]
	x.CPU, x.Functions = nil, nil
	for i := range 1000 {
		x.Functions = append(x.Functions, result.Function{Name: strings.Repeat(string(rune('a'+i%26)), i%result.MaxFunctionName) + "<b>\x1b[2J"})
	}
	for i := range 1500 {
		s := result.Stack{Samples: 1, Value: 1}
		for j := range result.MaxStackDepth {
			s.Functions = append(s.Functions, (i*31+j)%len(x.Functions))
		}
		x.CPU = append(x.CPU, s)
	}
	for _, format := range []string{"table", "html"} {
		var b bytes.Buffer
		if err := report.Write(&b, format, stats.Analyze(r, ""), report.Options{}); err != nil {
			t.Fatal(err)
		}
		if b.Len() > 20<<20 || strings.Contains(b.String(), "\x1b[2J") || format == "html" && strings.Contains(b.String(), "<b>\uFFFD") {
			t.Errorf("%s: %d bytes", format, b.Len())
		}
	}
}
