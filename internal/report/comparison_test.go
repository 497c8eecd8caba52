package report_test

import (
	"bytes"
	"encoding/json"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// comparedRun returns a run that compares two drivers. Its cells have the verdicts Slower, Unclear,
// FailsLess and Bad.
func comparedRun() *result.Run {
	run := newRun(16)
	run.Stopped, run.Precision = result.StoppedTime, 0
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02, Looks: true}
	two := []string{"mattn", "modernc"}
	add(run, "simple", nil, rollback, two, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 402_000_000, 1_000_000, 1))
	add(run, "read-write", nil, wal, two, mix("mix", "time/op", false))
	add(run, "analytics", nil, rollback, two, bulk("json", 90_000_000, 110, 1))
	add(run, "group-by", nil, rollback, two, bulk("group", 90_000_000, 110, 1))
	add(run, "many", map[string]int64{"users": 10}, rollback, two, bulk("query", 500_000, 10_000, 1000))
	add(run, "many", map[string]int64{"users": 100}, rollback, two, bulk("query", 5_000_000, 100_000, 1000))
	phase := func(workload, driver string, change func(round int, s *result.Sample)) {
		spoil(run, workload, driver, func(t *result.Trial) {
			for i := range t.Samples {
				change(t.Round, &t.Samples[i])
			}
		})
	}
	phase("many", "modernc", func(round int, s *result.Sample) { s.WallNS = s.WallNS * int64(40+round%5*10) / 100 })
	phase("group-by", "modernc", func(_ int, s *result.Sample) { s.WallNS = 90_000_000 })
	phase("group-by", "mattn", func(round int, s *result.Sample) { s.WallNS = 90_000_000 + int64(round%3)*100_000 })
	phase("read-write", "mattn", func(round int, s *result.Sample) { s.Failed = 3000 })
	spoil(run, "analytics", "modernc", func(t *result.Trial) {
		t.Status, t.Samples = result.Failed, nil
		t.Reason = &protocol.Reason{Code: "sqlite", Phase: "json", Message: "no such function: json_extract"}
	})
	return run
}

func compared(run *result.Run) compare.Compared {
	a := stats.Analyze(run, "native")
	return compare.Compared{Comparison: stats.CompareRun(a), First: a, Second: a}
}

// comparedRuns compares two runs, which have only some cells in common. The second was measured on
// another machine.
func comparedRuns() compare.Compared {
	first, second := newRun(12), newRun(12)
	second.ID, second.Started = 13, start.Add(24*time.Hour)
	second.Machine.Hostname, second.Machine.Cores = "lab2", 8
	for _, run := range []*result.Run{first, second} {
		add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	}
	add(second, "group-by", nil, rollback, []string{"mattn"}, bulk("group", 90_000_000, 110, 1))
	spoil(second, "simple", "mattn", func(t *result.Trial) { t.Samples[0].WallNS += t.Samples[0].WallNS / 10 })
	a, b := stats.Analyze(first, "native"), stats.Analyze(second, "native")
	return compare.Compared{Comparison: stats.CompareRuns([2]string{"run 12", "new.json"}, a, b, 0.02), First: a, Second: b}
}

func writeCompared(t *testing.T, format string, c compare.Compared) string {
	t.Helper()
	var b bytes.Buffer
	if err := compare.Formats.Write(&b, format, c, document.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestComparisonGolden(t *testing.T) {
	fixtures := map[string]func() compare.Compared{
		"compared": func() compare.Compared { return compared(comparedRun()) },
		"runs":     comparedRuns,
		"drivers": func() compare.Compared {
			a := stats.Analyze(fullRun(), "native")
			return compare.Compared{Comparison: stats.CompareDrivers(a, "mattn", "modernc", 0.02), First: a, Second: a}
		},
		"nothing": func() compare.Compared {
			a, b := stats.Analyze(newRun(6), ""), stats.Analyze(noFloorRun(), "")
			return compare.Compared{Comparison: stats.CompareRuns([2]string{"run 12", "new.json"}, a, b, 0.02), First: a, Second: b}
		},
	}
	s := compiled(t, "comparison")
	for _, name := range slices.Sorted(maps.Keys(fixtures)) {
		for _, format := range compare.Formats.Names() {
			t.Run(name+"/"+format, func(t *testing.T) {
				got := writeCompared(t, format, fixtures[name]())
				golden(t, "comparison-"+name+"."+extension[format], got)
				if format == "json" {
					validate(t, s, got)
				}
			})
		}
	}
}

// TestComparisonScreen checks that a terminal shows the verdicts right after the answer, and that the
// comparison is never longer than the terminal.
func TestComparisonScreen(t *testing.T) {
	c := compared(comparedRun())
	hints := document.Hints{Rest: []document.Hint{{Shows: "all of it", Command: "sqlite3perf compare 12 --full"}}}
	for _, size := range [][2]int{{80, 22}, {100, 38}, {100, 16}} {
		var b strings.Builder
		if err := compare.Formats.Write(&b, "table", c, document.Options{Width: size[0], Lines: size[1], Hints: hints}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if n := strings.Count(got, "\n"); n > size[1] {
			t.Errorf("%d lines, want at most %d:\n%s", n, size[1], got)
		}
		if answer, rest, found := strings.Cut(got, "\nverdict "); !found || !strings.Contains(rest, "sqlite3perf compare 12 --full") || strings.Contains(answer, "machine") {
			t.Errorf("%v:\n%s", size, got)
		}
		if size == [2]int{80, 22} {
			golden(t, "comparison-compared-80x24.txt", got)
		}
	}
}

// TestTimeToSettle checks how long further rounds take. The times of cells are added up. If cells
// have the same cases, only the longest of their times counts, because the same trials measure all
// these cells.
func TestTimeToSettle(t *testing.T) {
	cell := func(first, second int, took time.Duration) *stats.Compared {
		side := func(id int) *stats.Cell { return &stats.Cell{Outcome: &stats.Outcome{Case: &result.Case{ID: id}}} }
		return &stats.Compared{First: side(first), Second: side(second), Time: took}
	}
	cells := []*stats.Compared{cell(1, 2, time.Minute), cell(1, 2, 3*time.Minute), cell(3, 4, 2*time.Minute), cell(1, 2, time.Second)}
	if got := report.TimeToSettle(cells); got != 5*time.Minute {
		t.Errorf("%v, want 5m", got)
	}
}

// TestComparisonAnswersFirst checks that a comparison of one cell begins with its answer, in one
// sentence.
func TestComparisonAnswersFirst(t *testing.T) {
	run := newRun(16)
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02}
	add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	first, _, _ := strings.Cut(writeCompared(t, "table", compared(run)), "\n")
	if want := "modernc is 2.30 times as slow as mattn (2.26 to 2.34)."; first != want {
		t.Errorf("%q, want %q", first, want)
	}
}

// TestLookedAt checks the report of a run that was judged while it measured. The report must say
// so. It must also say how the run ended, and which command shows the verdicts.
func TestLookedAt(t *testing.T) {
	for _, tc := range []struct {
		looks         bool
		stopped, want string
	}{
		{true, result.StoppedSettled, "this run ended when its question was answered, so the p-values below are too small"},
		{true, result.StoppedTime, "this run was judged again and again until its time was over, so the p-values below are too small"},
		{true, result.StoppedInterrupted, "this run was judged again and again until it was interrupted, so"},
		{true, "", "this run was to end when its question was answered, so"},
		{false, result.StoppedRounds, "compare 12 shows the verdict on each cell, with its interval\n"},
	} {
		run := comparedRun()
		run.Compares.Looks, run.Stopped = tc.looks, tc.stopped
		for _, format := range []string{"table", "markdown"} {
			out := write(t, format, run, "", document.Options{Width: 400, Hints: document.Hints{Compare: "compare 12"}})
			if !strings.Contains(out, tc.want) {
				t.Errorf("%s, looks %v, stopped %q: no %q in\n%s", format, tc.looks, tc.stopped, tc.want, out)
			}
			if claims := strings.Contains(out, "this run tells any two of them apart"); claims == tc.looks {
				t.Errorf("%s, looks %v: the report says how sure its tables are: %v, want %v", format, tc.looks, claims, !claims)
			}
		}
	}
}

// TestRunOfTwoSides checks the report of a run that compares two sides. Every format must begin with
// the answer of the comparison. The page must have the verdicts, intervals of 99 % (the level of
// comparisons), and the samples.
func TestRunOfTwoSides(t *testing.T) {
	for _, looks := range []bool{true, false} {
		run := comparedRun()
		run.Compares.Looks = looks
		a := stats.Analyze(run, "native")
		answer := compare.Answer(stats.CompareRun(a))
		if got := report.AnswersOf(a, report.Options{}).Text; got != answer {
			t.Errorf("%q, want %q", got, answer)
		}
		page := write(t, "html", run, "native", document.Options{})
		for _, want := range []string{html.EscapeString(answer), "99%", "What differs between the sides", "Samples, and settings as they were proven", `id="case-1"`} {
			if !strings.Contains(page, want) {
				t.Errorf("looks %v: the page has no %q", looks, want)
			}
		}
		for _, not := range []string{"95%", "has the answer", "How sure is that", "too narrow"} {
			if strings.Contains(page, not) {
				t.Errorf("looks %v: the page has %q", looks, not)
			}
		}
		screen := write(t, "table", run, "native", document.Options{Width: 120, Lines: 40})
		for _, want := range []string{"slower        simple insert: 2.30x (", "fewer failed", "at most 1%", "\nprobably      no difference in group-by group: 1.00x ("} {
			if !strings.Contains(screen, want) && !strings.Contains(strings.Join(strings.Fields(screen), " "), want) {
				t.Errorf("looks %v: the screen has no %q:\n%s", looks, want, screen)
			}
		}
		if strings.Contains(screen, "95%") {
			t.Errorf("looks %v: intervals of 95%% are shown, want only those of the comparison:\n%s", looks, screen)
		}
	}
}

// TestAlsoDiffer checks that a comparison of two releases lists what else changed between them.
func TestAlsoDiffer(t *testing.T) {
	run := newRun(12)
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "modernc@v1.46.0", Second: "modernc", Margin: 0.02}
	add(run, "simple", nil, rollback, []string{"modernc@v1.46.0", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	for i, linked := range []map[string]string{
		{"modernc.org/sqlite": "v1.46.0", "modernc.org/libc": "v1.67.6", "modernc.org/memory": "v1.11.0", "golang.org/x/exp": "v0.1.0"},
		{"modernc.org/sqlite": "v1.61.1", "modernc.org/libc": "v1.79.0", "modernc.org/memory": "v1.11.0"},
	} {
		run.Cases[i].Linked = linked
	}
	for i := range run.Trials {
		proof := *run.Trials[i].Proof
		proof.Module, proof.Runtime = "modernc.org/sqlite", []string{"go1.25.0", "go1.26.8"}[run.Trials[i].Case-1]
		proof.CompileOptions = [][]string{{"THREADSAFE=1", "DQS=0"}, {"THREADSAFE=1"}}[run.Trials[i].Case-1]
		run.Trials[i].Proof = &proof
	}
	c := compared(run)
	for format, want := range map[string]string{
		"table":    "\nalso differ   runtime go1.25.0 and go1.26.8; compile options DQS=0 and -; module golang.org/x/exp v0.1.0 and not linked; module modernc.org/libc v1.67.6 and v1.79.0\n",
		"markdown": "module modernc.org/libc v1.67.6 and v1.79.0",
		"html":     `module modernc.org/libc</th><td role="cell" data-title="modernc@v1.46.0">v1.67.6</td>`,
	} {
		var b strings.Builder
		if err := compare.Formats.Write(&b, format, c, document.Options{Width: 400}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "modernc.org/memory") {
			t.Errorf("%s: no %q, or a module that both sides share is listed:\n%s", format, want, b.String())
		}
	}
	// A checkout has no version. Its revision is shown instead of its path.
	run.Compares.Second, run.Cases[1].Driver = "modernc=./fork", "modernc=./fork"
	run.Cases[1].Build = map[string]string{"directory": "/src/fork", "vcs.revision": "0123456789abcdef", "vcs.modified": "true"}
	for i := range run.Trials {
		run.Trials[i].Proof.ModuleVersion = []string{"v1.46.0", "/src/fork"}[run.Trials[i].Case-1]
	}
	if got := compare.SideDifferences(compared(run).Cells)[1]; got.What != "module" || got.First != "modernc.org/sqlite v1.46.0" || got.Second != "modernc.org/sqlite 0123456+changes" {
		t.Errorf("a checkout: %+v", got)
	}
	run.Cases[1].Linked = nil // as in a run of an older version, which did not record the linked modules
	if out := writeCompared(t, "table", compared(run)); strings.Contains(out, "libc") {
		t.Errorf("modules are listed, although only one side recorded them:\n%s", out)
	}
}

// TestCompareWithoutSamples checks a phase without samples, as in an export that somebody has edited.
// Each format must say that the phase has no ratio because it has no samples.
func TestCompareWithoutSamples(t *testing.T) {
	run := comparedRun()
	spoil(run, "simple", "modernc", func(t *result.Trial) { t.Samples = t.Samples[:1] })
	for _, format := range compare.Formats.Names() {
		if got := writeCompared(t, format, compared(run)); !strings.Contains(got, "no trial has a sample") {
			t.Errorf("%s: %s", format, got)
		}
	}
	g := gate.Gated{Gate: stats.NewGate(0.05, stats.CompareRun(stats.Analyze(run, "native"))), Where: "go.mod"}
	for _, format := range gate.Formats.Names() {
		writeGated(t, format, g)
	}
}

// TestComparisonOfMeans compares two drivers, one of which is slow in one trial of ten. The answer
// must not say that there is no difference. It must say how much slower this driver is on average.
func TestComparisonOfMeans(t *testing.T) {
	for every, want := range map[int]string{
		0:  "There is no difference above 2% between modernc and mattn.",
		10: "Typical trials of modernc and mattn differ by less than 2%",
	} {
		run := newRun(50)
		run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02}
		add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
		for i := range run.Trials {
			x := &run.Trials[i]
			x.Samples[0].WallNS = 812_000_000 + int64(i*37%11)*100_000
			if x.Case == 2 && every > 0 && x.Round%every == 0 {
				x.Samples[0].WallNS = x.Samples[0].WallNS * 14 / 10
			}
		}
		got := compare.Answer(stats.CompareRun(stats.Analyze(run, "")))
		if !strings.HasPrefix(got, want) || strings.Contains(got, "; on average modernc is 4% slower (") != (every > 0) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestMeanOfOneCell checks that the mean over all cells is shown only if there are several cells.
func TestMeanOfOneCell(t *testing.T) {
	for cells, want := range map[int]bool{1: false, 2: true} {
		run := newRun(12)
		run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02}
		add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, []measure{bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 402_000_000, 1_000_000, 1)}[:cells]...)
		var b strings.Builder
		if err := compare.Formats.Write(&b, "table", compared(run), document.Options{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "over all") != want {
			t.Errorf("%d cells:\n%s", cells, b.String())
		}
	}
}

// TestToldVerdicts checks the words for an unclear cell. If the p-value that is shown is below 0.05,
// the cell is probably slower or probably faster. If typical trials do not differ, there is probably
// no difference. If [stats.MaxRounds] more rounds are needed to decide, there is no clear difference.
// Otherwise the verdict is not known yet. In JSON, the verdict is "unclear" in all these cases.
func TestToldVerdicts(t *testing.T) {
	cell := func(median, low, high, p float64, rounds int) *stats.Compared {
		return &stats.Compared{Verdict: stats.Unclear, Ratio: stats.Summary{N: 12, Median: median, Interval: &stats.Interval{Low: low, High: high}}, P: p / 20, Adjusted: p, Rounds: rounds}
	}
	inRun := func(p float64) *stats.Compared {
		x := cell(0.6, 0.454, 0.776, 1, 3)
		x.InRun = &stats.InRun{Test: stats.CompareRatios([]float64{0.6, 0.61, 0.59, 0.6, 0.58, 0.62, 0.6, 0.6}), Ratio: x.Ratio}
		x.InRun.Adjusted = p
		return x
	}
	typical := cell(1.001, 0.99, 1.01, 0.5, 3)
	typical.Typical = true
	failing := cell(1.5, 1.4, 1.6, 0.001, 3)
	failing.Why = "it is not known yet whether one side fails more often"
	for _, tc := range []struct {
		want string
		cell *stats.Compared
	}{
		{"probably faster", cell(0.6, 0.454, 0.776, 0.02, 3)},
		{"probably slower", cell(1.2, 0.99, 1.4, 0.04, 3)},
		{"not known yet", cell(0.6, 0.454, 0.776, 1, 3)}, // the interval excludes 1, but is not corrected for the other comparisons
		{"not known yet", cell(1.2, 0.8, 1.6, 0.3, 3)},
		{"no clear difference", cell(1.2, 0.8, 1.6, 0.3, stats.MaxRounds)},
		{"probably no difference", typical},
		{"probably faster", inRun(0.012)},
		{"not known yet", inRun(0.2)},
	} {
		if got := compare.Told(tc.cell); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.cell.Ratio.Interval, got, tc.want)
		}
	}
	if got := compare.Told(failing); got != "not known yet" {
		t.Error(got)
	}
	c := compared(comparedRun())
	out := writeCompared(t, "table", c)
	for _, not := range []string{"cannot tell", "not told", "cannot be told", "not excluded"} {
		if strings.Contains(out, not) {
			t.Errorf("it says %q:\n%s", not, out)
		}
	}
	if !strings.Contains(writeCompared(t, "json", c), `"verdict": "unclear"`) {
		t.Error(`no verdict in JSON is "unclear"`)
	}
}

// TestFurtherRounds checks that the command that measures further rounds is shown after the
// verdicts.
func TestFurtherRounds(t *testing.T) {
	const command = "sqlite3perf run --resume 12 --time 1m10s"
	var b bytes.Buffer
	opts := document.Options{Width: 120, Lines: 22, Hints: document.Hints{Further: command}}
	if err := compare.Formats.Write(&b, "table", compared(comparedRun()), opts); err != nil {
		t.Fatal(err)
	}
	verdicts, after, ok := strings.Cut(b.String(), "\nto be sure ")
	if !ok || !strings.Contains(verdicts, "\nverdict ") || !strings.Contains(after, "28 more rounds (1m20s): "+command+"\n") {
		t.Errorf("%s", b.String())
	}
}

// TestRoundsShown checks which columns a narrow table keeps. If cells have different numbers of
// rounds, the number of rounds is kept rather than p and the medians, because it explains the
// verdicts.
func TestRoundsShown(t *testing.T) {
	for _, differ := range []bool{false, true} {
		run := comparedRun()
		if differ {
			run.Trials = slices.DeleteFunc(run.Trials, func(tr result.Trial) bool { return tr.Round > 10 && run.Cases[tr.Case-1].Workload == "many" })
		}
		var b strings.Builder
		if err := compare.Formats.Write(&b, "table", compared(run), document.Options{Width: 90}); err != nil {
			t.Fatal(err)
		}
		if shown := !strings.Contains(b.String(), "No room in 90 columns for: n,"); shown != differ {
			t.Errorf("rounds differ: %v\n%s", differ, b.String())
		}
	}
}

// TestComparisonOfCounts checks the table of syncs and writes. It must say how many more syncs and
// writes one side has in each round, and which counts are equal. It must show a count of 0, and it
// must be left out if nothing was counted.
func TestComparisonOfCounts(t *testing.T) {
	if text := writeCompared(t, "table", compared(comparedRun())); strings.Contains(text, "Syncs and writes") {
		t.Errorf("nothing was counted:\n%s", text)
	}
	run := comparedRun()
	for _, counts := range []struct {
		driver        string
		syncs, writes int64
	}{{"mattn", 0, 4000}, {"modernc", 500, 4000}} {
		spoil(run, "simple", counts.driver, func(t *result.Trial) {
			t.Samples[0].Syncs, t.Samples[0].Writes, t.Samples[0].WrittenBytes = counts.syncs, counts.writes, int64(4096*(1000+t.Round))
		})
	}
	c := compared(run)
	text := writeCompared(t, "table", c)
	for _, want := range []string{
		`(?m)^modernc has +cell .*mattn +modernc +ratio`,
		`(?m)^more +simple insert \(syncs\) +0/op +<0.01/op +0/op → <0.01/op$`,
		`(?m)^equal +simple insert \(writes\) `,
		`(?m)^it varies +simple insert \(written\) `,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	var got struct{ Counts []compare.JSONCount }
	if err := json.Unmarshal([]byte(writeCompared(t, "json", c)), &got); err != nil || len(got.Counts) != 3 || got.Counts[0].First != 0 || got.Counts[0].Metric != "syncs" {
		t.Errorf("%+v, %v", got, err)
	}
}
