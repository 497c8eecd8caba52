package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// gatedRun returns the result of a gate (a check for regressions), with cells in most states. The
// second measurement confirms all regressions except one.
func gatedRun() gate.Gated {
	first := stats.Analyze(comparedRun(), "native")
	second := comparedRun()
	second.ID = 13
	for i := range second.Trials {
		t := &second.Trials[i]
		if c := second.Cases[t.Case-1]; c.Workload == "simple" && c.Driver == "modernc" {
			t.Samples[1].WallNS = t.Samples[1].WallNS * 10 / 23
		}
	}
	g := stats.NewGate(0.05, stats.CompareRun(first), stats.CompareRunBy(first, "memory"))
	again := stats.Analyze(second, "native")
	g.Confirm(stats.CompareRun(again), stats.CompareRunBy(again, "memory"))
	return gate.Gated{Gate: g, Asked: gate.Asked{Metrics: []stats.Metric{stats.Time, "memory"}}, Runs: []*stats.Analysis{first, again}, Where: "go.mod"}
}

// TestGateStored checks that the stored result of a gate (a check for regressions) is shown as before
// it was stored. If the store does not have the gate's first run, only the answer must be shown.
func TestGateStored(t *testing.T) {
	g := gatedRun()
	own := g.Runs[1].Run
	answer, err := g.Keep()
	if err != nil {
		t.Fatal(err)
	}
	own.Answer = answer
	stored, err := gate.Stored(stats.Analyze(own, "native"), func(id int64) (*stats.Analysis, error) {
		if id != g.Runs[0].Run.ID {
			t.Errorf("run %d is loaded", id)
		}
		return g.Runs[0], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"table", "markdown", "html", "json"} {
		if was, is := writeGated(t, format, g), writeGated(t, format, stored); was != is {
			t.Errorf("%s: it was\n%s\nand is\n%s", format, was, is)
		}
	}
	gone, err := gate.Stored(stats.Analyze(own, "native"), func(int64) (*stats.Analysis, error) { return nil, errors.New("gone") })
	if err != nil || gone.Answer() != g.Answer() {
		t.Errorf("%v: %s, want %s", err, gone.Answer(), g.Answer())
	}
	if page := writeGated(t, "html", gone); !strings.Contains(page, "does not have all runs of this gate") {
		t.Error(page)
	}
	for _, bad := range []string{`"decision":"x"`, `"answer":""`, `"max_regression":-1`, `"metrics":["x"]`, `"metrics":[]`, `"stored":true`} {
		field, _, _ := strings.Cut(bad, ":")
		value := regexp.MustCompile(field+`:("[^"]*"|\[[^]]*\]|[^,}]*),`).ReplaceAllString(string(answer.Value), "")
		own.Answer = &result.Answer{Question: answer.Question, Version: 1, Value: json.RawMessage("{" + bad + "," + value[1:])}
		if _, err := gate.Stored(stats.Analyze(own, "native"), nil); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func writeGated(t *testing.T, format string, g gate.Gated) string {
	t.Helper()
	var b bytes.Buffer
	if err := gate.Formats.Write(&b, format, g, document.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGateGolden(t *testing.T) {
	extensions := map[string]string{"table": "txt", "markdown": "md", "html": "html", "junit": "xml"}
	for _, format := range gate.Formats.Names() {
		ext := extensions[format]
		if ext == "" {
			ext = format
		}
		golden(t, "gate."+ext, writeGated(t, format, gatedRun()))
	}
}

// TestGateIsNeverGreenWhenEmpty checks that no format shows a pass if the gate (a check for
// regressions) compared nothing.
func TestGateIsNeverGreenWhenEmpty(t *testing.T) {
	g := gate.Gated{Gate: stats.NewGate(0.05), Where: "go.mod"}
	for format, want := range map[string]string{
		"table": "Not passed: nothing", "markdown": "# Not passed: nothing", "json": `"passed": false`,
		"junit": `errors="1"`, "github": "::error ", "azure": "type=error]", "gitlab": `"critical"`,
	} {
		if got := writeGated(t, format, g); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}

// TestGateThatCouldNotRun checks that each format says why nothing was measured, and that none
// shows a pass.
func TestGateThatCouldNotRun(t *testing.T) {
	g := gate.Gated{Gate: stats.NewGate(0.05), Why: "it is of another machine", Where: "go.mod"}
	for format, passed := range map[string]string{
		"table": "", "markdown": "", "json": `"passed": true`, "junit": `errors="0"`, "github": "::notice", "azure": "type=warning", "gitlab": "[]",
	} {
		got := writeGated(t, format, g)
		if !strings.Contains(got, "Not passed: it is of another machine.") || passed != "" && strings.Contains(got, passed) {
			t.Errorf("%s: %s", format, got)
		}
	}
	measured := gatedRun()
	measured.Interrupted, measured.Why = true, "the disk is full"
	if got := writeGated(t, "junit", measured); !strings.Contains(got, `name="measured to the end"`) || !strings.Contains(got, "; the disk is full.") {
		t.Errorf("a measurement that failed: %s", got)
	}
}

// TestGateSaysHowSure checks the text in parentheses in the answer. For several cells, it has the range
// of their ratios, or one number if the rounded ratios are equal. For the only cell of a gate, it has
// the ratio with its interval. For a cell without a figure, it has the name of the cell.
func TestGateSaysHowSure(t *testing.T) {
	for _, c := range []struct {
		most float64
		want string
	}{
		{0.5, "worse by more than 50% in 2 cells (2.3 times as slow), measured twice; no figure in 1 cell (analytics json); a regression of more than 50% is possible in 3 cells, of 7 cells."},
		{2, "Not passed: modernc against mattn: no figure in 1 cell (analytics json), of 7 cells."},
	} {
		comparison := stats.CompareRun(stats.Analyze(comparedRun(), "native"))
		g := gate.Gated{Gate: stats.NewGate(c.most, comparison)}
		g.Confirm(comparison)
		if got := g.Answer(); !strings.Contains(got, c.want) {
			t.Errorf("%g: %s\nwant %s", c.most, got, c.want)
		}
	}
	run := newRun(16)
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.05}
	add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	g := gate.Gated{Gate: stats.NewGate(1.4, stats.CompareRun(stats.Analyze(run, "native")))}
	if got, want := g.Answer(), "Passed: modernc against mattn: simple insert is not more than 140% slower in typical trials: 2.30 times as slow (2.26 to 2.34, 99% interval)."; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	// A cell that passed shows no p-value. The p-value is of a test for a regression, but a cell passes
	// because of its interval.
	if table := writeGated(t, "table", g); strings.Contains(table, " p ") || strings.Contains(table, "p:") || !strings.Contains(table, "ratio") {
		t.Errorf("a p-value is shown, or no ratio:\n%s", table)
	}
	// If there are several cells, the worst is named.
	add(run, "other", nil, rollback, []string{"mattn", "modernc"}, bulk("query", 81_000_000, 1_000_000, 1_000_000))
	spoil(run, "simple", "modernc", func(t *result.Trial) { t.Samples[0].WallNS /= 2 })
	g = gate.Gated{Gate: stats.NewGate(1.4, stats.CompareRun(stats.Analyze(run, "native")))}
	if got, want := g.Answer(), "Passed: modernc against mattn: none of 2 cells is more than 140% slower in typical trials: the worst is other query, 2.31 times as slow ("; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestGateSaysWhatWasMeasured checks that the tables show the machine, the versions, the rounds,
// the warnings and the commands that show more, also if the candidate is compared with a stored
// run. In Markdown these facts are hidden until the reader opens them.
func TestGateSaysWhatWasMeasured(t *testing.T) {
	g := gatedRun()
	warning := result.Warning{Code: result.WarningLoad, Message: "the load average was 9"}
	for _, a := range g.Runs {
		a.Warnings = append(a.Warnings, warning)
	}
	stored := g
	stored.Runs, stored.Base = g.Runs[1:], g.Runs[0]
	for name, x := range map[string]gate.Gated{"interleaved": g, "stored": stored} {
		var b bytes.Buffer
		err := gate.Formats.Write(&b, "table", x, document.Options{Hints: document.Hints{More: []string{"sqlite3perf show 12"}}, Width: 400})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"\nsides         mattn v1.14.52, SQLite 3.53.4 and modernc v1.61.1, SQLite 3.54.1\n", "run 12, ", "run 13, ", "rounds: 16 complete",
			"\nmachine       lab1", "\nnoise         other processes ran: trust ratios more than times\n", "\nmore          sqlite3perf show 12\n",
		} {
			if strings.Count(b.String(), want) != 1 && !strings.HasPrefix(want, "rounds") {
				t.Errorf("%s: want %q exactly once in\n%s", name, want, b.String())
			}
		}
	}
	if got := writeGated(t, "markdown", g); !strings.Contains(got, "\n<details><summary>How it was measured, with 1 warning</summary>\n\n- **sides** ") || !strings.Contains(got, "\n</details>\n") {
		t.Error(got)
	}
}

func TestGateFulfilsSchema(t *testing.T) {
	s := compiled(t, "gate")
	empty := gate.Gated{Gate: stats.NewGate(0.05)}
	for _, g := range []gate.Gated{gatedRun(), empty} {
		validate(t, s, writeGated(t, "json", g))
	}
}

// TestGateIsEscaped checks that names and messages from others cannot add elements, annotations or
// lines.
func TestGateIsEscaped(t *testing.T) {
	run := comparedRun()
	spoil(run, "analytics", "modernc", func(t *result.Trial) { t.Reason.Message = "a\n::error::b %0A <x> \x1b[31m" })
	a := stats.Analyze(run, "native")
	g := gate.Gated{Gate: stats.NewGate(0.05, stats.CompareRun(a)), Where: "go.mod"}
	text := writeGated(t, "junit", g)
	var v struct{ XMLName xml.Name }
	if err := xml.Unmarshal([]byte(text), &v); err != nil || strings.Contains(text, "<x>") || strings.Contains(text, "\x1b") {
		t.Errorf("%v: %s", err, text)
	}
	for line := range strings.Lines(writeGated(t, "github", g)) {
		if !strings.HasPrefix(line, "::") || strings.HasPrefix(line, "::error::b") || strings.Contains(line, "%0A") {
			t.Errorf("%q", line)
		}
	}
	var issues []map[string]any
	if err := json.Unmarshal([]byte(writeGated(t, "gitlab", g)), &issues); err != nil || len(issues) == 0 {
		t.Errorf("%d issues: %v", len(issues), err)
	}
}

// TestGateWithTooFewRounds checks that no format shows a pass if there were too few rounds.
func TestGateWithTooFewRounds(t *testing.T) {
	run := newRun(6)
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.05}
	add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	g := gate.Gated{Gate: stats.NewGate(0.05, stats.CompareRun(stats.Analyze(run, "native"))), Where: "go.mod"}
	for format, want := range map[string]string{
		"table": "Not passed: modernc against mattn: too few rounds in 1 cell, of 1 cell.", "markdown": "# Not passed: ", "json": `"passed": false`,
		"junit": `errors="1"`, "github": "::error ", "azure": "type=error]", "gitlab": `"critical"`,
	} {
		if got := writeGated(t, format, g); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}

// TestGateSaysWhatSeemsWorse checks a cell that has no verdict yet although its whole interval is
// beyond the limit. The report must not say that a regression is merely possible.
func TestGateSaysWhatSeemsWorse(t *testing.T) {
	g := gatedRun()
	for _, c := range g.Cells {
		if c.State == stats.GatePossible {
			c.Ratio.Interval.Low, c.Ratio.Interval.High, c.P = 1.18, 2.13, 0.011
		}
	}
	got := strings.Join(strings.Fields(writeGated(t, "table", g)), " ")
	want := "slower (18% to 113%), but p is 0.011, corrected for 11 comparisons, and must be below 0.01: "
	if !strings.Contains(got, want) || strings.Contains(got, "so it may be more than") {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestGateThatExcludesNothing checks that no format shows a pass if a regression is possible. A
// gate that is not strict reports that as a warning instead of an error.
func TestGateThatExcludesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	run := newRun(16)
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.05}
	add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	for i := range run.Trials {
		run.Trials[i].Samples[0].WallNS = int64(812e6 * math.Exp(0.3*r.NormFloat64()))
	}
	g := gate.Gated{Gate: stats.NewGate(0.05, stats.CompareRun(stats.Analyze(run, "native"))), Where: "go.mod"}
	for _, strict := range []bool{true, false} {
		g.Strict = strict
		want := map[string]string{
			"table": "Not known yet: modernc against mattn: a regression of more than 5% is possible in 1 cell (", "markdown": "# Not known yet: ", "json": `"passed": false`,
			"junit": `errors="1"`, "github": "::error ", "azure": "type=error]", "gitlab": `"critical"`,
		}
		if !strict {
			want["junit"], want["github"], want["azure"], want["gitlab"] = `errors="0" skipped="1"`, "::warning ", "type=warning]", `"minor"`
		}
		for format, want := range want {
			if got := writeGated(t, format, g); !strings.Contains(got, want) {
				t.Errorf("strict %v, %s: %s, want %s", strict, format, got, want)
			}
		}
	}
	for _, want := range []string{"5% slower, 28% faster to 34% slower; ", " more rounds)"} {
		if got := g.Answer(); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestGateNamesDefaults checks that a gate (a check for regressions) names a setting that nobody set and
// whose defaults differ, because the different defaults may explain the regression that the gate found.
func TestGateNamesDefaults(t *testing.T) {
	for _, unset := range []bool{true, false} {
		run := newRun(16)
		run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.05}
		settings := driver.Settings{"journal_mode": "delete", "synchronous": "full", "cache_size": "-2000", "busy_timeout": "5000", "foreign_keys": "on"}
		if unset {
			delete(settings, "synchronous")
		}
		add(run, "simple", nil, settings, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
		if unset {
			for name, value := range map[string]string{"mattn": "normal", "modernc": "full"} {
				spoil(run, "simple", name, func(t *result.Trial) { t.Proof.Connections[0]["synchronous"] = value })
			}
		}
		text := writeGated(t, "table", gate.Gated{Gate: stats.NewGate(1.4, stats.CompareRun(stats.Analyze(run, "native")))})
		if got := strings.Contains(text, "synchronous") && strings.Contains(text, "may explain the whole difference"); got != unset {
			t.Errorf("unset: %v:\n%s", unset, text)
		}
	}
}

// TestGateExpectations checks that each format shows what the workloads expect of the candidate.
func TestGateExpectations(t *testing.T) {
	run := newRun(16)
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.05}
	add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	run.Cases[1].Expects = []result.Expectation{{Phase: "insert", Figure: "time", Bound: 1}, {Phase: "insert", Figure: "time", Bound: 1e-9}, {Phase: "insert", Figure: "syncs", Bound: 1}}
	a := stats.Analyze(run, "native")
	g := gate.Gated{Gate: stats.NewGate(1.4, stats.CompareRun(a)), Runs: []*stats.Analysis{a}, Where: "go.mod"}
	g.Expected = a.ExpectationsOfSecond()
	for format, wants := range map[string][]string{
		"table":    {"Failed: modernc against mattn: simple insert is not more than 140% slower in typical trials: 2.30 times as slow", "Of 3 expectations of the workloads, 1 is not met, and 1 not decided.", "not met simple insert modernc: time < 1ns, measured ", "syncs < 1, which is counted only with count_syncs=on"},
		"markdown": {"## What the workloads expect", "| simple | insert | modernc | time &lt; 1s |"},
		"html":     {"What the workloads expect"},
		"json":     {`"decision": "Failed"`, `"figure": "time"`, `"verdict": "not met"`},
		"junit":    {`tests="4" failures="1" errors="1" skipped="0"`, `name="insert expects time &lt; 1s"`, `<failure message="not met: time &lt; 1ns, measured `, `<error message="not decided: syncs &lt; 1, which`},
		"github":   {"::error title=sqlite3perf::not met: simple insert modernc: time < 1ns", "::error title=sqlite3perf::not decided: "},
		"azure":    {"##vso[task.logissue type=error]not met: simple insert modernc: time < 1ns"},
		"gitlab":   {`"description": "not met: simple insert modernc: time < 1ns`, `"severity": "critical"`},
	} {
		got := strings.Join(strings.Fields(writeGated(t, format, g)), " ")
		for _, want := range wants {
			if !strings.Contains(strings.ReplaceAll(got, `\`, ""), want) && !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", format, want, got)
			}
		}
	}
	validate(t, compiled(t, "gate"), writeGated(t, "json", g))
	if g.Expected = g.Expected[:1]; g.Decision() != stats.Passed || !strings.Contains(g.Answer(), "What the workloads expect is met (1 expectation).") {
		t.Error(g.Answer())
	}
}
