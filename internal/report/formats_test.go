package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/perf/benchfmt"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestBenchfmtIsRead checks that a parser of benchstat's format reads the measured figures.
func TestBenchfmtIsRead(t *testing.T) {
	run := matrixRun()
	run.Cases[1].Driver = "my-driver-9" // the 9 must not be taken for the number of cores
	r := benchfmt.NewReader(strings.NewReader(write(t, "benchfmt", run, "", document.Options{})), "run")
	counts := map[string]int{}
	sum, config := map[string]float64{}, map[string]string{}
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			name := rec.Name.String()
			counts[name]++
			v, _ := rec.Value("sec/op")
			sum[name] += v
			config[name] = rec.GetConfig("goos") + " " + rec.GetConfig("cpu")
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	name := "Many/query/users=10/driver=my-driver-9-2"
	if counts[name] != 9 {
		t.Fatalf("%s has %d lines, want 9; all: %v", name, counts[name], slices.Sorted(maps.Keys(counts)))
	}
	var want float64
	for _, trial := range run.Trials {
		if run.Cases[trial.Case-1].Driver == "my-driver-9" && run.Cases[trial.Case-1].Parameters["users"] == 10 {
			want += float64(trial.Samples[0].WallNS) / 1000 / 1e9
		}
	}
	if got := sum[name]; math.Abs(got-want) > 1e-12 {
		t.Errorf("sec/op adds up to %v, want %v", got, want)
	}
	if got, want := config["Many/query/users=100/driver=mattn@v1.14.22-2"], "linux AMD EPYC 7763"; got != want {
		t.Errorf("configuration %q, want %q", got, want)
	}
	if n := "PointRead/read/journal_mode=wal/synchronous=full/driver=native-2"; counts[n] != 9 {
		t.Errorf("%s has %d lines, want 9", n, counts[n])
	}
}

// TestBenchfmtOfVersions exports two versions of a driver. Names and configuration must be equal,
// so that benchstat puts both into one table.
func TestBenchfmtOfVersions(t *testing.T) {
	keys := func(change func(*protocol.Proof)) (list []string) {
		run := singleRun()
		for i := range run.Trials {
			change(run.Trials[i].Proof)
		}
		r := benchfmt.NewReader(strings.NewReader(write(t, "benchfmt", run, "", document.Options{})), "run")
		for r.Scan() {
			if rec, ok := r.Result().(*benchfmt.Result); ok {
				key := rec.Name.String()
				for _, c := range rec.Config {
					key += fmt.Sprintf(" %s=%s", c.Key, c.Value)
				}
				list = append(list, key)
			}
		}
		return list
	}
	old := keys(func(p *protocol.Proof) { p.ModuleVersion, p.SQLiteVersion, p.Runtime = "v1.0.0", "3.40.0", "go1.24" })
	if d := cmp.Diff(old, keys(func(*protocol.Proof) {})); d != "" || old == nil {
		t.Error(d)
	}
}

// TestCSVHasEverySample checks that there is one line for each phase of a trial, one more for each
// operation with a latency, and one for a trial that measured nothing.
func TestCSVHasEverySample(t *testing.T) {
	run := fullRun()
	want := 0
	for _, trial := range run.Trials {
		if len(trial.Samples) == 0 {
			want++
		}
		for _, s := range trial.Samples {
			want += 1 + len(s.Latency)
		}
	}
	lines, err := csv.NewReader(strings.NewReader(write(t, "csv", run, "", document.Options{}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := len(lines) - 1; got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
	column := func(name string) int {
		i := slices.Index(lines[0], name)
		if i < 0 {
			t.Fatalf("no column %s in %v", name, lines[0])
		}
		return i
	}
	var wall, wantWall int64
	for _, l := range lines[1:] {
		if l[column("wall_ns")] != "" {
			n, err := strconv.ParseInt(l[column("wall_ns")], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			wall += n
		}
		if l[column("driver")] == "crawshaw" && l[column("workload")] == "simple" &&
			(l[column("trial_status")] != "refused" || l[column("reason_code")] != "setting" || l[column("value_s")] != "") {
			t.Errorf("a refused trial is %v", l)
		}
		if l[column("round")] == "4" && !strings.Contains(l[column("warnings")], "calibration") {
			t.Errorf("round 4 lacks its warning: %v", l)
		}
	}
	for _, trial := range run.Trials {
		for _, s := range trial.Samples {
			wantWall += s.WallNS
		}
	}
	if wall != wantWall {
		t.Errorf("wall_ns adds up to %d, want %d", wall, wantWall)
	}
}

// TestTableFits checks that a table is never wider than the terminal, and contains no control
// sequences.
func TestTableFits(t *testing.T) {
	for name, make := range fixtures {
		for _, width := range []int{40, 60, 80, 100, 120, 200} {
			for i, line := range strings.Split(write(t, "table", make(), "native", document.Options{Width: width}), "\n") {
				if w := text.StringWidth(line); w > width {
					t.Errorf("%s at %d: line %d is %d wide: %s", name, width, i+1, w, line)
				}
				if strings.ContainsRune(line, '\x1b') {
					t.Errorf("%s at %d: line %d has an escape: %q", name, width, i+1, line)
				}
			}
		}
	}
}

func TestTies(t *testing.T) {
	table := write(t, "table", fullRun(), "native", document.Options{})
	insert := table[strings.Index(table, "\ninsert:"):strings.Index(table, "\nquery:")]
	var ranks []string
	_, rows, _ := strings.Cut(insert, "\n#")
	for _, line := range strings.Split(rows, "\n")[1:] {
		if f := strings.Fields(line); len(f) > 3 && (f[0] == "-" || len(f[0]) == 1) {
			ranks = append(ranks, strings.Join([]string{f[0], f[1], f[3]}, " "))
		}
	}
	want := []string{"- native -", "1 tailscale 2", "2 mattn 1", "3 zombiezen -", "4 ncruces -", "5 modernc -"}
	if !slices.Equal(ranks, want) {
		t.Errorf("ranks and ties %q, want %q", ranks, want)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteError(t *testing.T) {
	for _, format := range report.Formats() {
		if err := report.Write(&bytes.Buffer{}, format, nil, report.Options{}); err == nil {
			t.Errorf("%s: no error without a run", format)
		}
		err := report.Write(full{}, format, stats.Analyze(fullRun(), ""), report.Options{})
		if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), format) {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

// FuzzWrite checks that no run makes a report panic. Runs may be damaged, or come from other
// versions.
func FuzzWrite(f *testing.F) {
	for _, make := range fixtures {
		run := make()
		run.Trials = run.Trials[:min(len(run.Trials), 12)]
		data, err := json.Marshal(run)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "native", 80)
	}
	f.Add([]byte(`{"cases":[{"id":1,"driver":"x","phases":["a","a",""]},{"id":1,"driver":"x","phases":["a"]}],"trials":[{"case":1,"status":"ok","samples":[{"phase":"a","wall_ns":-5}]},{"case":7,"status":"?"}]}`), "x", 0)
	f.Fuzz(func(t *testing.T, data []byte, floor string, width int) {
		var run result.Run
		if json.Unmarshal(data, &run) != nil {
			t.Skip()
		}
		for _, format := range report.Formats() {
			var b bytes.Buffer
			if err := report.Write(&b, format, stats.Analyze(&run, floor), report.Options{Options: document.Options{Width: width % 300, Color: width%2 == 0}}); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		}
		var b bytes.Buffer
		const lines = 24
		if err := report.Write(&b, "table", stats.Analyze(&run, floor), report.Options{Options: document.Options{Width: width % 300, Lines: lines, ASCII: width%2 == 0}}); err != nil {
			t.Error(err)
		}
		if n := strings.Count(b.String(), "\n"); n > lines {
			t.Errorf("%d lines on a screen of %d:\n%s", n, lines, b.String())
		}
	})
}

// TestFormatsAreDocumented checks that docs/report-formats.md mentions every column of the CSV, every
// field at the top of the JSON report, and every report format except the first two.
func TestFormatsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/report-formats.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	header, _, _ := strings.Cut(write(t, "csv", emptyRun(), "", document.Options{}), "\n")
	words := strings.Split(header, ",")
	for f := range reflect.TypeFor[report.JSON]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		words = append(words, name)
	}
	for _, w := range append(words, report.Formats()[2:]...) {
		if !strings.Contains(doc, "`"+w+"`") {
			t.Errorf("docs/report-formats.md lacks `%s`", w)
		}
	}
}

// TestPValuesStay checks that the column of p-values is kept if there is no room for all columns,
// because readers need it to judge differences.
func TestPValuesStay(t *testing.T) {
	table := write(t, "table", fullRun(), "native", document.Options{Width: 80})
	for _, heading := range []string{"insert: ", "mix: ", "Summary: "} {
		_, after, ok := strings.Cut(table, "\n"+heading)
		_, after, found := strings.Cut(after, "\n#")
		titles, _, _ := strings.Cut(after, "\n")
		if !ok || !found || !slices.Contains(strings.Fields(titles), "p") {
			t.Errorf("%s has no column p at 80: %q", heading, titles)
		}
	}
	_, dropped, _ := strings.Cut(table, "No room in 80 columns for: ")
	for _, w := range []string{"RSS MiB", "CPU", "interface"} {
		if !strings.Contains(dropped, w) {
			t.Errorf("%s is not among what was dropped: %s", w, dropped)
		}
	}
}
