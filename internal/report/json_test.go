package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// compiled compiles the schema with the given name in docs/schemas. The parameter "others" has the
// names of the schemas to which it refers.
func compiled(t *testing.T, name string, others ...string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	var id string
	for _, name := range append(others, name) {
		text, err := os.ReadFile("../../docs/schemas/" + name + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		id = doc.(map[string]any)["$id"].(string)
		if err := c.AddResource(id, doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%#v", err)
	}
}

func TestJSONFulfilsSchema(t *testing.T) {
	s := compiled(t, "report")
	for _, name := range slices.Sorted(maps.Keys(fixtures)) {
		t.Run(name, func(t *testing.T) {
			validate(t, s, write(t, "json", fixtures[name](), "native", document.Options{}))
		})
	}
}

// TestJSONKeepsTheRun checks that the report contains the run itself, unchanged: samples,
// proofs, checksums.
func TestJSONKeepsTheRun(t *testing.T) {
	run := fullRun()
	var got report.JSON
	if err := json.Unmarshal([]byte(write(t, "json", run, "native", document.Options{})), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(run, got.Run); d != "" {
		t.Error(d)
	}
	if got.Version != report.JSONVersion {
		t.Errorf("version %d, want %d", got.Version, report.JSONVersion)
	}
}

func TestJSONFigures(t *testing.T) {
	var got report.JSON
	if err := json.Unmarshal([]byte(write(t, "json", fullRun(), "native", document.Options{})), &got); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(got.Cells, func(c report.JSONCell) bool {
		return c.Workload == "simple" && c.Phase == "insert" && c.Driver == "native"
	})
	c := got.Cells[i]
	// In rounds 1 to 6, case 1 takes 812 ms multiplied by wobble[3], [5], [7], [0], [2] and [4].
	if want := 0.812 * (1.000 + 1.006) / 2; !close(c.Median, want) {
		t.Errorf("median %v, want %v", c.Median, want)
	}
	if c.Interval == nil || !close(c.Interval.Low, 0.812*0.985) || !close(c.Interval.High, 0.812*1.024) {
		t.Errorf("interval %+v, want the least and greatest of 6", c.Interval)
	}
	if c.Rank != 0 || c.Tied == nil || len(c.Tied) != 0 || c.Unit != "s" || c.Ratio.To != "native" || c.Ratio.Median != 1 {
		t.Errorf("the floor's cell is %+v", c)
	}
	if d := got.Summary[0].Drivers; d[0].Driver != "native" || d[0].Rank != 0 || d[0].Tied == nil || d[1].Rank != 1 {
		t.Errorf("the summary begins with %+v and %+v", d[0], d[1])
	}
}

// TestRanksAgree checks that a row has the same rank in a table, a picture, the first screen and
// JSON. It checks runs with and without the floor (plain C), and a table of settings in which the
// floor has several rows.
func TestRanksAgree(t *testing.T) {
	crossed := newRun(9)
	for i, sync := range []string{"off", "full"} {
		add(crossed, "mine", nil, driver.Settings{"synchronous": sync}, []string{"native", "mattn", "modernc"}, bulk("insert", int64(10_000_000*(1+i)), 10, 10))
	}
	for name, tc := range map[string]struct {
		run  *result.Run
		want []string // rows in their order
	}{
		"floor":      {insertRun(9, "native", "mattn", "modernc"), []string{" native", "1 mattn", "2 modernc"}},
		"no floor":   {insertRun(9, "mattn", "modernc"), []string{"1 mattn", "2 modernc"}},
		"floor only": {insertRun(9, "native"), []string{"1 native"}},
		"settings": {crossed, []string{" native synchronous=off", "1 mattn synchronous=off", " native synchronous=full",
			"2 mattn synchronous=full", "3 modernc synchronous=off", "4 modernc synchronous=full"}},
	} {
		a := stats.Analyze(tc.run, "native")
		ranks := func(of string, list []string) {
			if d := cmp.Diff(tc.want, list); d != "" {
				t.Errorf("%s: ranks of %s:\n%s", name, of, d)
			}
		}
		words := func(rank int, name string) string { return strings.TrimPrefix(fmt.Sprint(rank), "0") + " " + name }
		var answers, cells, bars, table, first []string
		r := report.AnswersOf(a, report.Options{}).Tables[0]
		for _, row := range r.Rows {
			answers = append(answers, words(row.Rank, row.Name))
		}
		ranks("the answers", answers)

		var j report.JSON
		if err := json.Unmarshal([]byte(write(t, "json", tc.run, "native", document.Options{})), &j); err != nil {
			t.Fatal(err)
		}
		byCase := map[int]string{}
		for _, row := range r.Rows {
			byCase[row.Case] = row.Name
		}
		if j.Factorials != nil {
			for _, c := range j.Factorials[0].Cells {
				cells = append(cells, words(c.Rank, byCase[c.Case]))
			}
		} else {
			for _, c := range j.Cells {
				cells = append(cells, words(c.Rank, byCase[c.Case]))
			}
		}
		ranks("JSON", cells)

		p, _, err := report.PictureNamed(a, "mine-insert", report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, rows := chart.Table(p.Chart(0))
		for _, row := range rows {
			if !strings.HasPrefix(row[1], "plain C:") { // plain C is drawn as a line, not as a bar
				bars = append(bars, row[0]+" "+strings.Split(row[1], " v")[0])
			}
		}
		ranks("the picture", bars)

		row := regexp.MustCompile(`(?m)^ ?([-–\d]?) +((native|mattn|modernc)(?: synchronous=\w+)?) `)
		text := write(t, "table", tc.run, "native", document.Options{Width: 300})
		_, text, _ = strings.Cut(text, "\ninsert: ")
		text, _, _ = strings.Cut(text, "\n\n")
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			table = append(table, strings.Trim(m[1], "-–")+" "+m[2])
		}
		ranks("the table", table)

		if len(a.Groups) == 1 && len(tc.want) > 1 {
			bar := regexp.MustCompile(row.String() + `.*\dx`) // the figure at the end excludes wrapped lines of text
			for _, m := range bar.FindAllStringSubmatch(screen(t, tc.run, document.Options{Width: 120, Lines: 40}), -1) {
				first = append(first, strings.Trim(m[1], "-–")+" "+m[2])
			}
			ranks("the first screen", first)
		}
	}
}

func close(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// TestNotOKHasNoFigure checks that no format has a figure for a case that is not OK.
func TestNotOKHasNoFigure(t *testing.T) {
	run := fullRun()
	var got report.JSON
	if err := json.Unmarshal([]byte(write(t, "json", run, "native", document.Options{})), &got); err != nil {
		t.Fatal(err)
	}
	status := map[string]result.Status{}
	for _, c := range got.Cells {
		status[c.Workload+" "+c.Driver] = c.Status
		if c.Status != result.OK && (c.Summary != nil || c.Ratio != nil || c.Rate != nil || c.Rank != 0 || c.Reason == nil) {
			t.Errorf("%s %s is %s and has figures, or no reason: %+v", c.Driver, c.Phase, c.Status, c)
		}
	}
	for cell, want := range map[string]result.Status{
		"simple crawshaw": result.Refused, "simple bvinc": result.Failed, "simple eatonphil": result.Wrong,
		"simple python": result.Unavailable, "read-write ncruces": result.Failed, "read-write bvinc": result.OK,
	} {
		if status[cell] != want {
			t.Errorf("%s is %s, want %s", cell, status[cell], want)
		}
	}
	for _, format := range []string{"table", "markdown"} {
		text := write(t, format, run, "native", document.Options{})
		simple := text[strings.Index(text, "insert: time for"):]
		simple, _, _ = strings.Cut(simple, "refused")
		for _, d := range []string{"crawshaw", "bvinc", "eatonphil", "python"} {
			if strings.Contains(simple, d) {
				t.Errorf("%s has %s among the figures:\n%s", format, d, simple)
			}
		}
	}
	bench := write(t, "benchfmt", run, "native", document.Options{})
	for _, line := range strings.Split(bench, "\n") {
		if strings.HasPrefix(line, "BenchmarkSimple") && strings.Contains(line, "driver=bvinc") {
			t.Errorf("benchfmt has a figure: %s", line)
		}
	}
}

// TestRateIsOfTheMedian checks that a rate never contradicts the median next to it.
func TestRateIsOfTheMedian(t *testing.T) {
	var r report.JSON
	if err := json.Unmarshal([]byte(write(t, "json", fullRun(), "native", document.Options{})), &r); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, c := range r.Cells {
		if c.Rate == nil {
			continue
		}
		work := 1.0
		if c.Metric == "time" {
			work = 1_000_000
		}
		seen[c.Rate.Unit]++
		if got := c.Rate.Median * c.Median; math.Abs(got-work) > 1e-6*work {
			t.Errorf("%s %s of %s: %v %s × %v %s = %v, want %v", c.Workload, c.Phase, c.Driver, c.Rate.Median, c.Rate.Unit, c.Median, c.Unit, got, work)
		}
	}
	if seen["rows/s"] == 0 || seen["op/s"] == 0 {
		t.Errorf("cells by unit: %v", seen)
	}
}

// TestReadJSON checks that a run can be read back from its JSON report.
func TestReadJSON(t *testing.T) {
	run, err := report.ReadJSON(strings.NewReader(write(t, "json", fullRun(), "native", document.Options{})))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(fullRun())
	if got, _ := json.Marshal(run); !bytes.Equal(got, want) {
		t.Error("the run has changed")
	}
	for text, want := range map[string]string{
		"x":                                      "is not a JSON report of a run",
		`{"version": 1`:                          "is not a JSON report of a run",
		"{}":                                     "not a report of a run",
		"[]":                                     "is not a JSON report of a run",
		`{"version":99,"run":{}}`:                "newer sqlite3perf: its version is 99",
		`{"version":2,"run":{"trials":3}}`:       "is not a JSON report of a run",
		writeCompared(t, "json", comparedRuns()): "not a report of a run",
	} {
		if _, err := report.ReadJSON(strings.NewReader(text)); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}
