package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// profiledDriver returns a driver whose trials took the given milliseconds of CPU time. There is
// one sample for each millisecond. Three quarters of them are in SQLite.
func profiledDriver(id int, name string, trials ...int64) profile.ProfiledDriver {
	s := &stacks.Summary{Trials: len(trials)}
	for _, ms := range trials {
		s.Samples += ms
		s.TrialNS = append(s.TrialNS, ms*1e6)
	}
	s.CPUNS = s.Samples * 1e6
	s.WallNS = 2 * s.CPUNS
	part := func(g stacks.Group, function string, samples int64) stacks.Part {
		return stacks.Part{Group: g, Function: function, Samples: samples, Share: float64(samples) / float64(s.Samples),
			Interval: stats.Proportion(samples, s.Samples), PerTrial: float64(samples) * 1e6 / float64(len(trials))}
	}
	most := s.Samples * 3 / 4
	s.Groups = []stacks.Part{part(stacks.SQLite, "", most), part(stacks.CLibrary, "", s.Samples-most)}
	s.Functions = []stacks.Part{part(stacks.SQLite, "sqlite3VdbeExec", most), part(stacks.CLibrary, "modernc.org/libc.Xmemcpy\x1b[2J", s.Samples-most)}
	s.Allocations = []stacks.Part{}
	return profile.ProfiledDriver{Name: name, Case: id, Status: result.OK, Perf: true, Summary: s}
}

func profiledPair(first, second profile.ProfiledDriver) *profile.Profiled {
	return &profile.Profiled{Run: 4, Workload: "real", Phase: "query", Scale: "quick", Seed: 7, Settings: "journal_mode=wal", Machine: busyCheckup().Machine,
		Rounds: 6, More: "more trials", Into: "out", Files: []string{"a.cpu.pprof"}, Drivers: []profile.ProfiledDriver{first, second},
		Warnings: []result.Warning{
			{Code: result.WarningLoad, Message: "the load average was 9.00 on 2 cores before the run: other processes took time from the trials"},
			{Code: result.WarningStopped, Message: "it was stopped", Case: 2, Round: 3},
			{Code: result.WarningCalibration, Round: 4, Deviation: 0.25},
		}}
}

func TestProfile(t *testing.T) {
	p := profiledPair(profiledDriver(1, "mattn", 20, 22, 24, 25, 26, 27), profiledDriver(2, "modernc", 30, 34, 33, 36, 31, 32))
	for _, format := range profile.Formats.Names() {
		t.Run(format, func(t *testing.T) {
			var b bytes.Buffer
			if err := profile.Formats.Write(&b, format, p, document.Options{}); err != nil {
				t.Fatal(err)
			}
			golden(t, "profile."+extension[format], b.String())
		})
	}
}

// TestProfilePage checks that the page of a profile has the flame graphs. Names from others must be
// shown as text, and boxes that are too narrow to be seen must be left out.
func TestProfilePage(t *testing.T) {
	p := profiledPair(profiledDriver(1, "mattn", 20, 22, 24, 25, 26, 27), profiledDriver(2, "modernc", 30, 34, 33, 36, 31, 32))
	const script = `</svg><script>alert(1)</script><img src=x onerror=alert(1)>`
	for _, d := range p.Drivers {
		side := profile.FlameSide{Name: d.Name, Case: d.Case, Trials: 1}
		for i, f := range []string{"sqlite3VdbeExec", script, "tooNarrow"} {
			side.Stacks = append(side.Stacks, stacks.Stack{Value: []int64{1e9, 1e9, 1e4}[i], Frames: []stacks.Frame{{Function: f}, {Function: "main.main"}}})
		}
		p.Flames = append(p.Flames, side)
	}
	var b bytes.Buffer
	if err := profile.Formats.Write(&b, "html", p, document.Options{}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	checkPage(t, page)
	pictures := strings.Join(svgElement.FindAllString(page, -1), "")
	for _, want := range []string{"sqlite3VdbeExec", "img src=x", "more in modernc"} {
		if !strings.Contains(pictures, want) {
			t.Errorf("the pictures lack %q", want)
		}
	}
	for _, bad := range []string{"<img", "<script>alert"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if strings.Contains(pictures, "tooNarrow") {
		t.Error("a picture has a box that is too narrow to be seen")
	}
	for _, id := range []string{"picture-groups", "picture-difference", "picture-flame-mattn", "picture-flame-modernc"} {
		if !strings.Contains(page, `id="`+id+`"`) {
			t.Errorf("the page lacks %s", id)
		}
	}
}

// TestFlameGraphPerTrial checks that flame graphs show times per trial, as tables do.
func TestFlameGraphPerTrial(t *testing.T) {
	side := profile.FlameSide{Name: "mattn", Trials: 14, Stacks: []stacks.Stack{
		{Frames: []stacks.Frame{{Function: "sqlite3VdbeExec"}, {Function: "main.main"}}, Samples: 490, Value: 490e6}}}
	var b bytes.Buffer
	if err := chart.WriteSVG(&b, chart.Titled{Chart: profile.FlameOf(side), Title: "CPU time per trial"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "35 ms") || strings.Contains(b.String(), "490 ms") {
		t.Errorf("want 35 ms:\n%s", b.String())
	}
}

// TestProfileAnswer checks that the answer says how certain it is, and does not call a driver
// slower if the difference is not significant.
func TestProfileAnswer(t *testing.T) {
	failed := profile.ProfiledDriver{Name: "b", Status: result.Failed, Reason: &protocol.Reason{Code: protocol.CodeCrash, Message: "it crashed"}}
	for _, c := range []struct {
		name          string
		first, second profile.ProfiledDriver
		want          string
	}{
		{"more", profiledDriver(1, "a", 33, 34, 33), profiledDriver(2, "b", 100, 99, 101), "In query of real, b takes 3.0 times as much CPU time as a (2.4 to 3.8 times as much: 100 ms and 33.3 ms). a spends"},
		{"nearly a second", profiledDriver(1, "a", 999, 1000, 1000, 1000, 999), profiledDriver(2, "b", 999, 1000, 1000, 1000, 999), "more: 1000 ms and 1000 ms). a spends"},
		{"one trial", profiledDriver(1, "a", 100), profiledDriver(2, "b", 300), "In query of real, it is not known yet whether b takes more CPU time than a: one trial is too few (300 ms and 100 ms). a spends"},
		{"three that differ", profiledDriver(1, "a", 1000, 1200, 900), profiledDriver(2, "b", 1300, 1500, 1100), "it is not known yet whether b takes more CPU time than a (26% less to 2.1 times as much: "},
		{"where", profiledDriver(1, "a", 20, 20, 20, 20, 20, 20), profiledDriver(2, "b", 50, 50, 50, 50, 50, 50), "; they differ in SQLite +22.5 ms ±"},
		{"equal", profiledDriver(1, "a", 20, 20, 20, 20, 20, 20), profiledDriver(2, "b", 22, 23, 23, 22, 23, 24), "it is not known yet whether b takes more CPU time than a (11% less to 46% more: 22.8 ms and 20 ms). a spends"},
		{"less", profiledDriver(1, "a", 100, 99, 101), profiledDriver(2, "b", 33, 34, 33), "b takes 67% less CPU time than a (58% to 73% less: 33.3 ms and 100 ms)"},
		{"few samples", profiledDriver(1, "a", 30, 30), profiledDriver(2, "b", 35, 35), "it is not known yet whether b takes more CPU time than a (17% less to 65% more: 35 ms and 30 ms). a spends"},
		{"trials that differ", profiledDriver(1, "a", 100, 300, 50, 400, 90, 80), profiledDriver(2, "b", 300, 200, 400, 90, 350, 300), "it is not known yet"},
		{"one", profiledDriver(1, "a", 100), failed, "a spends 75% ±8 in SQLite, 25% ±8 in C library. b has no profile: it is failed."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := profile.ProfileAnswer(profiledPair(c.first, c.second)); !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestProfileFulfilsSchema(t *testing.T) {
	s := compiled(t, "profile")
	empty := profile.ProfiledDriver{Name: "mattn", Status: result.OK, Summary: stacks.Summarize(&result.Profile{}, stacks.Grouper{})}
	failed := profile.ProfiledDriver{Name: "modernc", Status: result.Failed, Reason: &protocol.Reason{Code: protocol.CodeCrash, Message: "it crashed"}}
	for _, p := range []*profile.Profiled{profiledPair(profiledDriver(1, "mattn", 100), profiledDriver(2, "modernc", 300)), profiledPair(empty, failed)} {
		var b bytes.Buffer
		if err := profile.Formats.Write(&b, "json", p, document.Options{}); err != nil {
			t.Fatal(err)
		}
		validate(t, s, b.String())
	}
}
