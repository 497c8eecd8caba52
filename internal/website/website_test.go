package website

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// measured returns a run of drivers with the given versions of their libraries. The first driver takes
// 20 ms, the second 40 ms, and so on.
func measured(day int, drivers ...[2]string) *result.Run {
	r := &result.Run{Version: "test", Command: []string{"run"}, Scale: "quick", Started: time.Date(2026, 11, day, 3, 0, 0, 0, time.UTC), Stopped: result.StoppedRounds,
		Machine: result.Machine{Hostname: "m"}}
	for i, d := range drivers {
		r.Cases = append(r.Cases, result.Case{ID: i + 1, Workload: "w", Driver: d[0], Scale: "quick", Phases: []string{"p"}})
		for round := 1; round <= 12; round++ {
			r.Trials = append(r.Trials, result.Trial{Case: i + 1, Round: round, Order: len(r.Trials) + 1, Status: result.OK,
				Proof:   &protocol.Proof{SQLiteVersion: "3.50.0", Module: "m", ModuleVersion: d[1]},
				Samples: []result.Sample{{Phase: "p", Metric: result.MetricTime, WallNS: int64(i+1)*20_000_000 + int64(round), Operations: 10}}})
		}
	}
	return r
}

// unmeasured returns a run without trials, like a run that has only an answer.
func unmeasured(i int, drivers ...[2]string) *result.Run {
	r := measured(i, drivers...)
	r.Trials = nil
	return r
}

// stored returns a store with the given runs.
func stored(t *testing.T, runs ...*result.Run) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "results.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, r := range runs {
		if err := s.Begin(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func write(t *testing.T, s *store.Store, dir string) Written {
	t.Helper()
	w, err := Write(t.Context(), s, dir, Options{Floor: "native", Builder: "test",
		Describe: func(*stats.Analysis) report.Options { return report.Options{} },
		Answer:   noAnswer})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func noAnswer(context.Context, io.Writer, *stats.Analysis, document.Options) (string, error) {
	return "", nil
}

func text(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReleases(t *testing.T) {
	dir := t.TempDir()
	s := stored(t,
		measured(1, [2]string{"mattn", "v1.9.0"}, [2]string{"native", ""}),
		measured(2, [2]string{"mattn@v1.9.0", "v1.9.0"}, [2]string{"mattn@v1.10.0", "v1.10.0"}),
		measured(3, [2]string{"mattn", "v1.10.0"}), // this run does not compare anything
		unmeasured(4, [2]string{"mattn", "v1.10.0"}))
	write(t, s, dir)
	if index := text(t, dir, "index.html"); !strings.Contains(index, "The answer of run 3 · 2026-11-03 03:00 UTC · m · sqlite3perf test. The site has 4 runs of 2 drivers.") {
		t.Error(index)
	}
	page := text(t, dir, "drivers", "mattn.html")
	newer, older := strings.Index(page, ">v1.10.0<"), strings.Index(page, ">v1.9.0<")
	if newer < 0 || older < newer {
		t.Errorf("v1.10.0 at %d, v1.9.0 at %d", newer, older)
	}
	for _, want := range []string{"mattn v1.10.0: slower than v1.9.0 in 1 of 1 cell", `href="../runs/2.html"`, "2.0 times as slow as v1.9.0 (2 to 2); run 2",
		"In run 1, mattn was 50% faster than plain C", "v1.10.0: 2.0 times as slow as v1.9.0 (run 2)", "2 releases, measured from 2026-11-01 to 2026-11-03. The newest: run 3 · 2026-11-03 03:00 UTC · m · sqlite3perf test<"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	validate(t, dir, 4)
	if badge := text(t, dir, "badges", "mattn.svg"); !strings.Contains(badge, "mattn v1.10.0: slower than v1.9.0 in 1 of 1 cell, run 2, 2026-11-02<") {
		t.Error(badge)
	}
}

// TestFastest checks that the index says which driver is fastest in a cell, according to the
// newest run that compared several drivers there. It must also say which release changed the time.
func TestFastest(t *testing.T) {
	dir := t.TempDir()
	compared := measured(4, [2]string{"modernc", "v1.0.0"}, [2]string{"mattn", "v1.10.0"}) // this run only compares two sides
	compared.Compares = &result.Compares{Factor: result.FactorDriver, First: "modernc", Second: "mattn"}
	s := stored(t,
		measured(1, [2]string{"modernc", "v1.0.0"}, [2]string{"mattn", "v1.9.0"}),
		measured(2, [2]string{"mattn", "v1.10.0"}, [2]string{"modernc", "v1.0.0"}, [2]string{"native", ""}),
		measured(3, [2]string{"mattn@v1.9.0", "v1.9.0"}, [2]string{"mattn@v1.10.0", "v1.10.0"}),
		compared)
	write(t, s, dir)
	index := text(t, dir, "index.html")
	for _, want := range []string{`<a href="runs/2.html">w p</a>`, `>mattn v1.10.0 20.0 ms<`, `>modernc v1.0.0, 2.0 times as slow (2.0 to 2.0)<`, ">mattn v1.10.0: 2.0 times as slow as v1.9.0 (run 3)<",
		`>slower than v1.9.0 in 1 of 1 cell (run 3)<`, " Changed: releases of the fastest ", "The answer of run 2 · 2026-11-02 "} {
		if !strings.Contains(index, want) {
			t.Errorf("no %q in %s", want, index)
		}
	}
	if at, then := strings.Index(index, "Which driver is fastest"), strings.Index(index, "<h2 id=\"runs\""); at < 0 || then < at {
		t.Errorf("the fastest driver is at %d, the runs at %d", at, then)
	}
}

// TestTied checks that the index names all drivers that are tied with the fastest, as the page of the run
// does. It must mark drivers with a harmful defect, explain the mark once, and shorten versions.
func TestTied(t *testing.T) {
	dir := t.TempDir()
	r := measured(1, [2]string{"bvinc", "v0.6.1"}, [2]string{"crawshaw", "v0.3.2"}, [2]string{"eatonphil", "v0.10.0"}, [2]string{"mattn", "v1.14.53"},
		[2]string{"tailscale", "v0.0.0-20240816174256-9328d0478def"}, [2]string{"modernc", "v1.62.0"})
	for i := range r.Trials {
		x := &r.Trials[i]
		wal := driver.Settings{"journal_mode": "wal"}
		x.Proof.Connections, x.Proof.SQLiteVersion = []driver.Settings{wal, wal}, "3.54.1"
		if x.Case == 2 || x.Case == 5 {
			x.Proof.SQLiteVersion = "3.46.1" // has a harmful defect in WAL mode
		}
		if x.Case < 6 { // these drivers are equally fast
			x.Samples[0].WallNS = 20_000_000 + int64((x.Round*5+x.Case*2)%11)*100_000
		}
	}
	// In another workload, tailscale has other settings.
	r.Cases = append(r.Cases, result.Case{ID: 7, Workload: "v", Driver: "tailscale", Scale: "quick", Phases: []string{"p"}, Settings: driver.Settings{"journal_mode": "delete"}})
	for _, x := range slices.Clone(r.Trials) {
		if x.Case == 5 {
			x.Case, x.Order = 7, len(r.Trials)+1
			r.Trials = append(r.Trials, x)
		}
	}
	write(t, stored(t, r), dir)
	if cells := between(t, text(t, dir, "drivers", "tailscale.html"), "which-release-changed-what", "releases"); !strings.Contains(cells, ">v p<") || strings.Contains(cells, "journal_mode") {
		t.Errorf("cells whose names differ have settings: %s", cells)
	}
	index := text(t, dir, "index.html")
	fastest, drivers := between(t, index, "which-driver-is-fastest", "drivers"), between(t, index, "drivers", "runs")
	for _, name := range []string{"bvinc v0.6.1", "crawshaw v0.3.2!", "eatonphil v0.10.0", "mattn v1.14.53", "tailscale 9328d04!"} {
		if strings.Count(fastest, name) != 1 || strings.Contains(fastest, name+"!") {
			t.Errorf("want %q exactly once: %s", name, fastest)
		}
	}
	for _, want := range []string{">crawshaw!<", ">tailscale!<", ">mattn<", ">9328d04<"} {
		if !strings.Contains(drivers, want) {
			t.Errorf("no %q in %s", want, drivers)
		}
	}
	if !strings.Contains(fastest, ">modernc v1.62.0, 5.") || !strings.Contains(fastest, " times as slow (") || !strings.Contains(fastest, report.HarmMeans) || strings.Count(index, report.HarmMeans) != 1 {
		t.Error(index)
	}
	if strings.Contains(fastest, "Changed") || strings.Contains(fastest, "scale quick") {
		t.Errorf("the table explains a column that it lacks, or repeats what all cells have in common: %s", fastest)
	}
	for _, page := range []string{"index.html", filepath.Join("drivers", "tailscale.html")} {
		if p := text(t, dir, page); strings.Count(p, "v0.0.0-20240816174256-9328d0478def") != strings.Count(page, "drivers") { // only the list of releases has the long version
			t.Error(p)
		}
	}
}

// between returns the part of a page from one section to the next.
func between(t *testing.T, page, from, to string) string {
	t.Helper()
	_, part, ok1 := strings.Cut(page, `<h2 id="`+from+`"`)
	part, _, ok2 := strings.Cut(part, `<h2 id="`+to+`"`)
	if !ok1 || !ok2 {
		t.Fatalf("no part from %s to %s: %s", from, to, page)
	}
	return part
}

func TestToldApart(t *testing.T) {
	got := toldApart([]named{{"w p", []string{"scale quick", "n=1", "cache_size=5"}}, {"w p", []string{"scale quick", "n=2", "cache_size=5"}}, {"w q", []string{"scale full"}}})
	if want := []string{"w p · n=1", "w p · n=2", "w q"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestEveryPageSaysWhen checks that the page of each kind of run names the run, its date, its machine
// and the version of sqlite3perf, and that the index has its answer.
func TestEveryPageSaysWhen(t *testing.T) {
	dir := t.TempDir()
	compared := measured(2, [2]string{"mattn", "v1.9.0"}, [2]string{"modernc", "v1.0.0"})
	compared.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc"}
	profiled := unmeasured(3, [2]string{"mattn", "v1.9.0"})
	profiled.Profiles = &result.Profiles{Phase: "p"}
	gated := measured(4, [2]string{"mattn", "v1.9.0"})
	gated.Answer = &result.Answer{Question: result.QuestionGate, Version: 1, Value: []byte("{}")}
	s := stored(t, measured(1, [2]string{"mattn", "v1.9.0"}), compared, profiled, gated)
	write := Options{Describe: func(*stats.Analysis) report.Options { return report.Options{} },
		Answer: func(_ context.Context, w io.Writer, a *stats.Analysis, o document.Options) (string, error) {
			if a.Run.Answer == nil {
				return "", nil
			}
			return "Failed: it is <slow>", document.RenderHTML(w, document.Document{document.Heading{Level: 1, Text: "Failed"}}, "Gate", o)
		}}
	if _, err := Write(t.Context(), s, dir, write); err != nil {
		t.Fatal(err)
	}
	for id := 1; id <= 4; id++ {
		page, want := text(t, dir, "runs", fmt.Sprintf("%d.html", id)), fmt.Sprintf(">run %d · 2026-11-0%[1]d 03:00 UTC · m · sqlite3perf test<", id)
		if strings.Count(page, want) != 1 {
			t.Errorf("run %d: want %q exactly once: %s", id, want, page)
		}
	}
	if index := text(t, dir, "index.html"); !strings.Contains(index, ">gate<") || !strings.Contains(index, ">Failed: it is &lt;slow&gt;<") {
		t.Error(index)
	}
	validate(t, dir, 4)
}

// validate checks that the figures of all runs are as the schema says.
func validate(t *testing.T, dir string, runs int) {
	t.Helper()
	schema, err := validator.NewCompiler().Compile("../../docs/schemas/figures.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for id := range runs {
		figures, err := validator.UnmarshalJSON(strings.NewReader(text(t, dir, "runs", fmt.Sprintf("%d.json", id+1))))
		if err == nil {
			err = schema.Validate(figures)
		}
		if err != nil {
			t.Errorf("run %d: %v", id+1, err)
		}
	}
}

// TestOneRunMore checks that a new run changes only the files that say something about it.
func TestOneRunMore(t *testing.T) {
	dir := t.TempDir()
	s := stored(t, measured(1, [2]string{"mattn", "v1.9.0"}), measured(2, [2]string{"modernc", "v1.0.0"}))
	first := write(t, s, dir)
	if again := write(t, s, dir); again.Changed != 0 || again.Files != first.Files || again.Bytes != first.Bytes {
		t.Errorf("first %+v, then %+v", first, again)
	}
	if err := s.Begin(t.Context(), measured(3, [2]string{"mattn", "v1.10.0"})); err != nil {
		t.Fatal(err)
	}
	// Five files change: the run's page and figures, the index, and the driver's page and badge.
	if w := write(t, s, dir); w.Changed != 5 || w.Removed != 0 {
		t.Errorf("%+v", w)
	}
}

// TestKilled checks that a directory whose site was not completed can be completed.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	f, err := openFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.close()
	if err := os.WriteFile(filepath.Join(dir, temporary), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, stored(t, measured(1, [2]string{"mattn", "v1.9.0"})), dir)
	if _, err := os.Stat(filepath.Join(dir, temporary)); err == nil {
		t.Errorf("%s was not removed", temporary)
	}
}

// TestLinksInDirectory checks that nothing is written through a link that leads out of the directory.
func TestLinksInDirectory(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s := stored(t, measured(1, [2]string{"mattn", "v1.9.0"}))
	write(t, s, dir)
	if err := os.RemoveAll(filepath.Join(dir, "runs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "runs")); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), s, dir, Options{Describe: func(*stats.Analysis) report.Options { return report.Options{} },
		Answer: noAnswer}); err == nil {
		t.Error("no error")
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("%v %v", list, err)
	}
}

// TestFacts checks that figures are read as they were written.
func TestFacts(t *testing.T) {
	dir := t.TempDir()
	s := stored(t, measured(1, [2]string{"mattn@v1.9.0", "v1.9.0"}, [2]string{"mattn@v1.10.0", "v1.10.0"}))
	write(t, s, dir)
	run, err := s.Load(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	a := stats.Analyze(run, "native")
	want := factsOf(a, report.AnswersOf(a, report.Options{}).Text)
	if got := readFacts([]byte(text(t, dir, "runs", "1.json"))); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for _, bad := range []string{"", "{}", `{"version": 1, "figures": []}`} {
		if readFacts([]byte(bad)) != nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestFileName(t *testing.T) {
	for driver, want := range map[string]string{"mattn": "mattn", "./good": "good-", "../good": "good-", "<svg>": "svg-", "..": "part-", "Mattn": "mattn-"} {
		if got := fileName(driver); !strings.HasPrefix(got, want) || strings.HasSuffix(want, "-") != (got != driver) || !ours.MatchString("drivers/"+got+".html") {
			t.Errorf("%s: %s", driver, got)
		}
	}
	if fileName("./good") == fileName("../good") {
		t.Error("two drivers have the same file")
	}
}

// TestInterruptedSite checks that a call completes the site if the call before was interrupted.
func TestInterruptedSite(t *testing.T) {
	var runs []*result.Run
	for range 104 {
		runs = append(runs, measured(1, [2]string{"mattn", "v1.9.0"}))
	}
	s, dir := stored(t, runs...), t.TempDir()
	var rendered atomic.Int32 // runs are rendered concurrently
	call := func(most int32) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rendered.Store(0)
		_, err := Write(ctx, s, dir, Options{
			Describe: func(*stats.Analysis) report.Options {
				if rendered.Add(1) == most {
					cancel()
				}
				return report.Options{}
			},
			Answer: noAnswer})
		return err
	}
	if err := call(102); err == nil {
		t.Error("no error")
	}
	if err := call(0); err != nil || rendered.Load() != 4 {
		t.Errorf("%d runs were rendered, %v", rendered.Load(), err)
	}
}
