package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// bisection returns the result of a search among three releases. The parameter "phase" names the
// cell in which the search found a change. The parameter "between" lists releases that were not
// judged. So one of them may be the release that made the change.
func bisection(phase string, between ...string) bisect.Bisection {
	run := comparedRun()
	a := stats.Analyze(run, "native")
	var x *stats.Compared
	for _, c := range stats.CompareRun(a).Cells {
		if c.String() == phase {
			x = c
		}
	}
	c := &bisect.Change{TableName: x.TableName, Verdict: x.Verdict, Status: x.Second.Status}
	step := &bisect.Step{First: "v1.0.0", Second: "v1.2.0", Judgment: bisect.Changed, Cell: x, Analysis: a}
	f := &bisect.Finding{Releases: []string{"v1.0.0", "v1.1.0", "v1.2.0"}, Margin: 0.05, Change: c, Good: "v1.0.0", Bad: "v1.2.0", Pair: step, Between: between,
		Steps: []*bisect.Step{{First: "v1.0.0", Second: "v1.1.0", Judgment: bisect.PassedOver, Why: "cannot be built: \x1b[31mundefined"}, step}}
	return bisect.Bisection{Finding: f, Driver: "mattn", Also: []bisect.Difference{
		{What: "SQLite", Before: "3.45.0", After: "3.46.0"}, {What: "compile option", After: "DQS=0"}, {What: "example.com/m", Before: "v1.0.0"}}}
}

func TestBisection(t *testing.T) {
	unclear := bisection("simple insert")
	unclear.Change, unclear.Pair, unclear.Bad, unclear.Good = nil, nil, "", "v1.0.0"
	unclear.Steps[1].Judgment, unclear.Steps[1].Cell.Rounds = bisect.Unclear, 17
	none := bisection("simple insert")
	none.Change, none.Pair, none.Bad, none.Good = nil, nil, "", "v1.2.0"
	passed := none
	passed.Finding = &bisect.Finding{Releases: none.Releases, Good: "v1.1.0"}
	gradual := bisection("simple insert")
	gradual.Pair = &bisect.Step{First: "v1.1.0", Second: "v1.2.0", Judgment: bisect.Unchanged, Cell: gradual.Pair.Cell}
	fixed := bisection("analytics json")
	fixed.Change.Fixed, fixed.Pair.Cell.First = true, fixed.Pair.Cell.Second
	for _, c := range []struct {
		b    bisect.Bisection
		want string
	}{
		{bisection("simple insert"), "mattn v1.2.0 is the first release in which simple insert is 2.3 times as slow as in v1.0.0 (2.2 to 2.4)."},
		{bisection("simple insert", "v1.1.0"), "One of mattn v1.1.0, v1.2.0 is the first release in which simple insert is 2.3 times as slow as in v1.0.0"},
		{bisection("analytics json"), "mattn v1.2.0 is the first release in which analytics json is failing."},
		{bisection("read-write mix"), "mattn v1.2.0 is the first release in which fewer operations of read-write mix failed than in v1.0.0: 0% against 5.5%."},
		{fixed, "mattn v1.2.0 is the first release in which analytics json is no longer failing, as it was in v1.0.0."},
		{none, "None of the measured releases of mattn from v1.0.0 to v1.2.0 made a cell slower, faster, wrong or failed. (A difference of up to 5% counts as none.)"},
		{unclear, "It is not known yet whether a release of mattn from v1.0.0 to v1.2.0 made a cell slower, faster, wrong or failed: simple insert of v1.2.0 needs 17 more rounds (0s)."},
		{passed, "Up to v1.1.0 no release of mattn made a cell slower, faster, wrong or failed; those after it were not measured."},
		{gradual, "but v1.0.0 and v1.2.0 don't differ clearly"},
	} {
		if got := c.b.Answer(); !strings.Contains(got, c.want) {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// TestBisectionReason checks that the reason of a failure is shown below the answer.
func TestBisectionReason(t *testing.T) {
	for format, want := range map[string]string{
		"table": "failed v1.2.0: json: no such function: json_extract [sqlite]", "json": `"why": "v1.2.0: json: no such function: json_extract [sqlite]"`,
	} {
		var buf bytes.Buffer
		if err := bisect.Formats.Write(&buf, format, bisection("analytics json"), document.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(buf.String()), " "); !strings.Contains(got, want) {
			t.Errorf("%s: no %q:\n%s", format, want, got)
		}
	}
}

// TestBisectionFailuresOpen checks a step that is unclear because of failed operations. Its
// description must say that, and not that the times are alike.
func TestBisectionFailuresOpen(t *testing.T) {
	b := bisection("read-write mix")
	s := b.Steps[1]
	s.Judgment, s.Cell.Verdict, s.Cell.Why = bisect.Unclear, stats.Unclear, "it is not known yet whether one side fails more often"
	if got, want := bisect.StepWords(s), "v1.2.0: not known yet: read-write mix: it is not known yet whether one side fails more often"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestBisectionFormats(t *testing.T) {
	b := bisection("simple insert", "v1.1.0")
	for format, want := range map[string][]string{
		"table":    {"SQLite         3.45.0 → 3.46.0", "compile option  added: DQS=0", "example.com/m   removed: v1.0.0", "not judged", "skipped", "3 releases of mattn, v1.0.0 to v1.2.0, in 2 steps"},
		"markdown": {"| v1.2.0 | v1.0.0 | changed | simple insert | 2.30x"},
		"json":     {`"certain": false`, `"what": "SQLite"`, `"judgment": "passed over"`, `"ratio": {`},
	} {
		var buf bytes.Buffer
		if err := bisect.Formats.Write(&buf, format, b, document.Options{}); err != nil {
			t.Fatal(err)
		}
		got := buf.String()
		for _, w := range want {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(w), " ")) {
				t.Errorf("%s: no %q:\n%s", format, w, got)
			}
		}
		if strings.Contains(got, "\x1b") || format == "json" && !json.Valid(buf.Bytes()) {
			t.Errorf("%s: not printable or not valid:\n%q", format, got)
		}
	}
	if err := bisect.Formats.Write(&bytes.Buffer{}, "csv", b, document.Options{}); err == nil {
		t.Error("csv: no error")
	}
}

func TestBisectionFulfilsSchema(t *testing.T) {
	s := compiled(t, "bisection")
	for _, b := range []bisect.Bisection{bisection("simple insert", "v1.1.0"), bisection("analytics json"), bisection("read-write mix")} {
		var buf bytes.Buffer
		if err := bisect.Formats.Write(&buf, "json", b, document.Options{}); err != nil {
			t.Fatal(err)
		}
		validate(t, s, buf.String())
	}
}
