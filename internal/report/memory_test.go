package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// TestMemoryOverview checks that text and picture have the peak memory of each driver, and mark the
// drivers with known defects that can lose data.
func TestMemoryOverview(t *testing.T) {
	out := write(t, "table", fullRun(), "native", report.Options{})
	_, out, ok := strings.Cut(out, "\nTime and memory\n")
	if !ok {
		t.Fatal("there is no overview of memory")
	}
	lines := strings.Split(out, "\n")
	for i, want := range []string{"Least memory: mattn with 31.3 MiB (no clear difference: tailscale!).", "driver × native peak memory in known defects that can lose data in these workloads", "native 1.00x 28.0 MiB ±0% simple insert -", "mattn 1.84x 31.3 MiB ±0% simple insert none", "tailscale 1.84x 31.3 MiB ±0% simple insert wal-reset, count-of-view"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
	a := stats.Analyze(fullRun(), "native")
	p, _, err := report.PictureNamed(a, "memory", report.Options{})
	if err != nil || p.Kind != document.KindTradeoff {
		t.Fatalf("%+v, %v", p, err)
	}
	kinds := map[string]string{}
	_, rows := chart.Table(p.Chart(0))
	for _, row := range rows {
		kinds[row[0]] = row[3]
	}
	if kinds["mattn"] == kinds["tailscale"] || kinds["tailscale"] != kinds["zombiezen"] || kinds["native"] == kinds["mattn"] {
		t.Errorf("%v", kinds)
	}
	for _, width := range []int{chart.Page, chart.Phone} {
		var file strings.Builder
		if err := chart.WriteSVG(&file, p.File(width)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(file.String(), "! known defect that can lose data<") || strings.Contains(file.String(), "…") {
			t.Errorf("%d pixels: a text is cut, or the mark is not explained", width)
		}
	}
	if !strings.Contains(p.Source, "run ") || !strings.Contains(p.Source, "2026-") || !strings.Contains(p.Source, a.Run.Machine.CPU) {
		t.Errorf("the source of a picture is %q", p.Source)
	}
}

// TestLeastMemory checks the sentence about the least memory. The sentence names the driver with
// the least memory, the drivers whose intervals overlap its interval, and the driver with the
// least memory among those without a known defect.
func TestLeastMemory(t *testing.T) {
	for _, tc := range []struct {
		name string
		peak map[string]int64 // MiB by driver
		vary map[string]bool  // drivers whose peak varies by 2 MiB
		want string
	}{
		{"apart", map[string]int64{"mattn": 20, "modernc": 21, "zombiezen": 22}, nil, "Least memory: mattn with 20.0 MiB."},
		{"tied", map[string]int64{"mattn": 20, "modernc": 21, "zombiezen": 30}, map[string]bool{"mattn": true}, "Least memory: mattn with 21.0 MiB (no clear difference: modernc)."},
		{"a defect", map[string]int64{"mattn": 20, "modernc": 21, "zombiezen": 17}, nil, "Least memory: zombiezen! with 17.0 MiB; without a known defect that can lose data, mattn with 20.0 MiB."},
	} {
		run := newRun(12)
		for _, w := range []string{"simple", "real"} {
			add(run, w, nil, wal, []string{"native", "mattn", "modernc", "zombiezen"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
			for d, mib := range tc.peak {
				spoil(run, w, d, func(tr *result.Trial) {
					tr.Samples[0].PeakRSSBytes = mib << 20
					if tc.vary[d] {
						tr.Samples[0].PeakRSSBytes += int64(tr.Round%3) << 20
					}
				})
			}
		}
		a := stats.Analyze(run, "native")
		if got := report.LeastMemory(a); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		for _, format := range []string{"table", "html"} {
			if text := write(t, format, run, "native", document.Options{Width: 300}); !strings.Contains(text, tc.want) {
				t.Errorf("%s: %s lacks %q", tc.name, format, tc.want)
			}
		}
	}
	if got := report.LeastMemory(stats.Analyze(insertRun(9, "mattn"), "native")); got != "" {
		t.Errorf("of one driver: %q", got)
	}
}

func TestHeadline(t *testing.T) {
	long := strings.Repeat("word ", 20)
	for _, tc := range []struct{ text, head, rest string }{
		{"Take mattn: it is fast.", "Take mattn: it is fast", ""},
		{"Take mattn. " + long + "end.", "Take mattn", "Word " + strings.TrimPrefix(long, "word ") + "end."},
		{"Take mattn: " + long + "; modernc is next.", "Take mattn", "Word " + strings.TrimPrefix(long, "word ") + "; modernc is next."},
		{"Take mattn; modernc " + long, "Take mattn", "modernc " + long},
	} {
		if head, rest := report.Headline(tc.text, []string{"mattn", "modernc"}); head != tc.head || rest != tc.rest {
			t.Errorf("%s: %q, %q", tc.text, head, rest)
		}
	}
}

func TestKindOfP99(t *testing.T) {
	cell := func(latencies ...latency.Summary) []*stats.Cell {
		run := insertRun(9, "mattn")
		a := stats.Analyze(run, "")
		c := a.Groups[0].Tables[0].Measured()[0]
		for i := range c.Samples {
			c.Samples[i].Latency = latencies
		}
		return []*stats.Cell{c}
	}
	read, write := latency.Summary{Operation: "read", P99NS: 48_500}, latency.Summary{Operation: "write", P99NS: 3_510_000}
	for want, cells := range map[string][]*stats.Cell{"read": cell(read), "the slowest kind (write)": cell(read, write)} {
		if got := report.KindOfP99(cells); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
