package report_test

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// advised returns the advice from a run of the fixtures, with footprints (sizes, build times,
// licenses) of some of its drivers.
func advised(run *result.Run) advise.Advised {
	analysis := stats.Analyze(run, "native")
	facts := recommend.FactsOf(analysis, map[string]*result.Footprint{
		"mattn": {SizeBytes: 9_400_000, WarmNS: 1_900_000_000, ColdNS: 82_000_000_000, License: "MIT", Released: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC),
			Targets: []result.TargetBuild{{Target: "linux/arm64", Message: "needs a C compiler for linux/arm64"}}},
		"modernc": {SizeBytes: 12_100_000, WarmNS: 2_400_000_000, License: "BSD-3-Clause", Released: time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC),
			Targets: []result.TargetBuild{{Target: "linux/arm64", OK: true}}},
	})
	return advise.Advised{Recommendation: &recommend.Recommendation{Advice: recommend.Decide(facts), Facts: facts}, Of: analysis, NotIn: []string{"what nobody asked for"}}
}

func TestAdviceGolden(t *testing.T) {
	for _, name := range []string{"full", "matrix", "nofloor", "server", "single", "empty"} {
		for _, format := range advise.Formats.Names() {
			if format == "json" && name != "server" {
				continue
			}
			t.Run(name+"/"+format, func(t *testing.T) {
				var b bytes.Buffer
				if err := advise.Formats.Write(&b, format, advised(fixtures[name]()), document.Options{Width: 80}); err != nil {
					t.Fatal(err)
				}
				golden(t, "advice-"+name+"."+extension[format], b.String())
			})
		}
	}
}

// TestAdvicePage checks the page of advice for each kind of run, and how many pictures it has. The
// pictures show the times by which speed is judged.
func TestAdvicePage(t *testing.T) {
	oneCell := func() *result.Run { return insertRun(9, "mattn", "modernc") }
	for name, c := range map[string]struct {
		run      func() *result.Run
		pictures int
	}{
		"several cells":       {fixtures["full"], 2},
		"one cell":            {oneCell, 1},
		"no cell to judge by": {fixtures["server"], 0},
		"one candidate":       {fixtures["single"], 0},
		"empty":               {fixtures["empty"], 0},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := advise.Formats.Write(&b, "html", advised(c.run()), document.Options{}); err != nil {
				t.Fatal(err)
			}
			checkPage(t, b.String())
			if n := strings.Count(b.String(), "<figure "); n != c.pictures {
				t.Errorf("%d pictures, want %d", n, c.pictures)
			}
			for _, part := range []string{"What was measured", "What else a choice costs", "Where the figures are from", "what nobody asked for"} {
				if !strings.Contains(b.String(), part) {
					t.Errorf("no %q", part)
				}
			}
		})
	}
}

// TestAdviceTooFew checks advice that makes no decision. It must say how many more rounds would
// lead to one.
func TestAdviceTooFew(t *testing.T) {
	for _, c := range []struct {
		advice recommend.Advice
		rounds int
		want   string
	}{
		{recommend.Advice{Hidden: 0.3, Further: 12}, 8, "no clear difference yet, one of them may be up to 30% slower; about 12 more rounds would tell."},
		{recommend.Advice{Untold: true, Further: 5}, 1, "their times are not known well enough yet; about 5 more rounds would tell."},
		{recommend.Advice{Hidden: 0.3, Further: stats.MaxRounds}, 8, "no clear difference yet, one of them may be up to 30% slower; more than 10,000 more rounds would tell."},
		{recommend.Advice{Untold: true}, 8, "they have no rounds in common to compare."},
		{recommend.Advice{}, 8, "they are equally fast (within 5%), and each is better in something."},
	} {
		a := c.advice
		a.Verdict, a.Among = recommend.Undecided, []string{"mattn", "modernc"}
		told := advise.Advised{Recommendation: &recommend.Recommendation{Advice: &a, Facts: &recommend.Facts{Rounds: c.rounds}}, Of: stats.Analyze(fixtures["server"](), "native")}
		if got := told.Answer(); got != "Take mattn or modernc: "+c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// TestAdviceOfOtherWork checks advice from a replay in which events did not end as recorded. The
// advice must say so next to the recommendation, and contain the warning of the run.
func TestAdviceOfOtherWork(t *testing.T) {
	run := insertRun(9, "mattn", "modernc")
	for i := range run.Trials {
		s := &run.Trials[i].Samples[0]
		s.Operations, s.Different = 100, int64(10+64*(2-run.Trials[i].Case))
	}
	said := "1037 of 1399 events did not end as recorded: record with Values to find the rows"
	run.Warnings = append(run.Warnings, result.Warning{Code: result.WarningDifferent, Phase: "insert", Case: 1, Round: 1, Message: said})
	var b bytes.Buffer
	if err := advise.Formats.Write(&b, "table", advised(run), document.Options{Width: 1000}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mine insert: 74% of the events did not end as recorded with mattn, so the times are of other work", said} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("want %q exactly once in\n%s", want, b.String())
		}
	}
}

// TestAdviceUnasked checks that advice names the phases that were left out when the results of the
// drivers' statements were compared.
func TestAdviceUnasked(t *testing.T) {
	a := advised(insertRun(9, "mattn", "modernc"))
	a.Answers = &diff.Diffed{Skipped: []string{"bookshop: shop: replay"}}
	var b bytes.Buffer
	if err := advise.Formats.Write(&b, "table", a, document.Options{Width: 1000}); err != nil || !strings.Contains(b.String(), "Not looked at: what nobody asked for; how the candidates answer bookshop: shop: replay, since") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestAdviceLeftOut checks advice that left out a driver that is as fast as the recommended driver.
// The advice must not call the recommended driver the fastest of all. It must say when the driver
// that was left out is an option.
func TestAdviceLeftOut(t *testing.T) {
	run := fixtures["full"]()
	for i := range run.Trials {
		for j := range run.Trials[i].Samples {
			run.Trials[i].Samples[j].Failed = 0
		}
	}
	var b bytes.Buffer
	if err := advise.Formats.Write(&b, "table", advised(run), document.Options{Width: 1000}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Take mattn, the fastest without a known defect that can lose data in these workloads: modernc, the next that can be taken, is 2.30 times as slow (2.27 to 2.33).\n",
		"as fast       tailscale, but can lose or falsify data: wal-reset, count-of-view\n",
		"tailscale, if your program never does what its known defects need (listed below)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestAdviceBegins checks that every format of advice begins with the sentences that say which
// driver to take.
func TestAdviceBegins(t *testing.T) {
	a := advised(fixtures["server"]())
	for _, format := range advise.Formats.Names() {
		var b bytes.Buffer
		if err := advise.Formats.Write(&b, format, a, document.Options{Width: 1000}); err != nil {
			t.Fatal(err)
		}
		if format == "json" {
			var got struct{ Answer, Verdict string }
			if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Answer != a.Answer() || got.Verdict != string(a.Verdict) {
				t.Errorf("json: %+v, %v", got, err)
			}
			continue
		}
		if format == "html" {
			if !strings.Contains(b.String(), ">"+html.EscapeString(a.Answer())+"</h1>") {
				t.Error("the heading of the page is not the answer")
			}
			continue
		}
		if first, _, _ := strings.Cut(b.String(), "\n"); !strings.Contains(strings.ReplaceAll(first, `\`, ""), a.Answer()) {
			t.Errorf("%s begins with %q, want %q", format, first, a.Answer())
		}
	}
}

// TestAdviceRisksOnOneScreen checks that a terminal that is too small for all of the advice shows
// the risks of each candidate, and every reason to choose another candidate.
func TestAdviceRisksOnOneScreen(t *testing.T) {
	run := insertRun(9, "mattn", "modernc")
	for i := range run.Trials {
		run.Trials[i].Proof = &protocol.Proof{SQLiteVersion: []string{"3.50.1", "3.54.1"}[run.Trials[i].Case-1], ModuleVersion: []string{"v1.14.52", "v1.61.1"}[run.Trials[i].Case-1]}
	}
	a := advised(run)
	a.Answers = diffed(noted("mattn", "3.50.1", "a\x00b", "same"), noted("modernc", "3.54.1", "a", []byte("same")))
	var b bytes.Buffer
	if err := advise.Formats.Write(&b, "table", a, document.Options{Lines: 44, Width: 100}); err != nil {
		t.Fatal(err)
	}
	first, rest, cut := strings.Cut(b.String(), "\nnot shown")
	if !cut || !strings.Contains(rest, "Where the figures are from") {
		t.Fatalf("want the origin of the figures listed as not shown:\n%s", b.String())
	}
	words := strings.Join(strings.Fields(first), " ")
	for _, want := range []string{
		"Known defects of these versions CVE-2026-11822 mattn: security: a crafted database", "none known modernc",
		"modernc modernc answers 2 of 2 statements differently than mattn", "likely modernc cuts texts at their first NUL", "likely modernc returns texts as []byte",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(first, "…") {
		t.Errorf("a line is truncated:\n%s", b.String())
	}
}
