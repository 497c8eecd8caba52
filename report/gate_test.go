package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

// gatedRun returns a gate with every state. In the second measurement only one of two
// regressions is there again.
func gatedRun() report.Gated {
	first := stats.Analyze(comparedRun(), "native")
	second := comparedRun()
	for i := range second.Trials {
		t := &second.Trials[i]
		if c := second.Cases[t.Case-1]; c.Workload == "simple" && c.Driver == "modernc" {
			t.Samples[1].WallNS = t.Samples[1].WallNS * 10 / 23
		}
	}
	g := stats.NewGate(0.05, stats.CompareRun(first), stats.CompareRunBy(first, stats.Memory))
	again := stats.Analyze(second, "native")
	g.Confirm(stats.CompareRun(again), stats.CompareRunBy(again, stats.Memory))
	return report.Gated{Gate: g, Runs: []*result.Run{{ID: 12}, {ID: 13}}, Interleaved: true, Where: "go.mod"}
}

func writeGated(t *testing.T, format string, g report.Gated) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteGate(&b, format, g, report.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGateGolden(t *testing.T) {
	extensions := map[string]string{"table": "txt", "markdown": "md", "junit": "xml"}
	for _, format := range report.GateFormats() {
		ext := extensions[format]
		if ext == "" {
			ext = format
		}
		golden(t, "gate."+ext, writeGated(t, format, gatedRun()))
	}
}

// TestGateIsNeverGreenWhenEmpty checks each format of a gate that compared nothing.
func TestGateIsNeverGreenWhenEmpty(t *testing.T) {
	g := report.Gated{Gate: stats.NewGate(0.05), Where: "go.mod"}
	for format, want := range map[string]string{
		"table": "Not passed: nothing", "markdown": "# Not passed: nothing", "json": `"passed": false`,
		"junit": `errors="1"`, "github": "::error ", "azure": "type=error]", "gitlab": `"critical"`,
	} {
		if got := writeGated(t, format, g); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}

// TestGateIsEscaped checks that names and messages of others cannot add elements,
// annotations or lines.
func TestGateIsEscaped(t *testing.T) {
	run := comparedRun()
	spoil(run, "analytics", "modernc", func(t *result.Trial) { t.Reason.Message = "a\n::error::b %0A <x> \x1b[31m" })
	a := stats.Analyze(run, "native")
	g := report.Gated{Gate: stats.NewGate(0.05, stats.CompareRun(a)), Where: "go.mod"}
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

// TestGateWithTooFewRounds checks that no format is green if there were too few rounds.
func TestGateWithTooFewRounds(t *testing.T) {
	run := newRun(6)
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.05}
	add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	g := report.Gated{Gate: stats.NewGate(0.05, stats.CompareRun(stats.Analyze(run, "native"))), Where: "go.mod"}
	for format, want := range map[string]string{
		"table": "Not passed: modernc against mattn: too few rounds in 1 cell, of 1 cell.", "markdown": "# Not passed: ", "json": `"passed": false`,
		"junit": `errors="1"`, "github": "::error ", "azure": "type=error]", "gitlab": `"critical"`,
	} {
		if got := writeGated(t, format, g); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}
