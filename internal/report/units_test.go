package report_test

import (
	"strings"
	"testing"

	"golang.org/x/perf/benchunit"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestProbability checks that rounding never contradicts a verdict: a p-value below a level must
// not be shown as equal to the level.
func TestProbability(t *testing.T) {
	for p, want := range map[float64]string{
		0: "<0.001", 0.00099999: "<0.001", 0.001: "0.001", 0.0094: "0.009", 0.0096: "<0.010", 0.00999999: "<0.010", 0.01: "0.010", 0.0104: "0.010",
		0.0494: "0.049", 0.0496: "<0.050", 0.04999999: "<0.050", 0.05: "0.050", 0.0504: "0.050", 0.9999: "1.000", 1: "1.000",
	} {
		if got := report.Probability(p); got != want {
			t.Errorf("%v: %s, want %s", p, got, want)
		}
	}
}

// TestInterval checks that an end of an interval is shown as 1 only if it is exactly 1.
func TestInterval(t *testing.T) {
	for want, i := range map[string]*stats.Interval{
		"(1 to 1.02)": {Low: 1, High: 1.0204}, "(1.002 to 1.02)": {Low: 1.0021, High: 1.0204}, "(0.9996 to 1.00001)": {Low: 0.9996, High: 1.00001},
		"(0.98 to 1014)": {Low: 0.98, High: 1014.3}, "(too few rounds)": nil,
	} {
		if got := report.Interval(i); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestTimes checks that a ratio has enough digits, however small it is.
func TestTimes(t *testing.T) {
	for want, v := range map[string]float64{"0.0004x": 0.0004, "0.08x": 0.0801, "0.099x": 0.0994, "0.10x": 0.0996, "1.07x": 1.071, "12.5x": 12.46, "1468x": 1468} {
		if got := report.Times(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

// TestRounded checks that figures are rounded to three significant digits.
func TestRounded(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "7": 7, "62.5": 62.5, "6.99": 6.994, "920k": 920_120, "1.00k": 999.6, "1.23M": 1_228_000, "0.42": 0.42} {
		if got := report.Human(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
	for want, v := range map[string]float64{"0": 0, "<0.01": 0.00042, "0.01": 0.0052, "7.00": 6.996, "50.0k": 50_004, "200k": 199_800} {
		if got := report.Each(3, v); got != want {
			t.Errorf("%g each: %s, want %s", v, got, want)
		}
	}
	for _, tc := range []struct {
		values []float64
		want   string
	}{
		{[]float64{0.008962, 0.0415031}, "8.96 41.50 ms"}, {[]float64{0.80794, 1.27646}, "808 1276 ms"}, {[]float64{0, 0}, "0 0 s"}, {[]float64{0, 0.5}, "0 500 ms"},
	} {
		words, unit := report.Scaled(tc.values, benchunit.Decimal, "s")
		if got := strings.Join(words, " ") + " " + unit; got != tc.want {
			t.Errorf("%v: %s, want %s", tc.values, got, tc.want)
		}
	}
}

// TestSaid checks the part of a worker's standard error that is shown: the beginning of a panic,
// or otherwise the last lines. It must be one short, printable line.
func TestSaid(t *testing.T) {
	for _, c := range []struct{ message, detail, want string }{
		{"it crashed", "", ""},
		{"it crashed", " \n", ""},
		{"it crashed: no space", "no space\n", ""},
		{"it crashed", "begin\nopen\nwrite\n\nno space left\n", " | open | write | no space left"},
		{"it crashed", "again\nagain\n\x1b[31mno\tspace", " | again | \ufffd[31mno space"},
		{"it crashed", "log\npanic: oh no\n\ngoroutine 1 [running]:\nmain.main()\n", " | panic: oh no"},
		{"it crashed", "SIGQUIT: quit\nPC=0x7f m=0\n\ngoroutine 9 gp=0x29 [syscall]:\nruntime.cgocall(0x51)\n\t/go/cgocall.go:167\ngithub.com/x/sqlite3._Cfunc_step(0x26)\n\t_cgo.go:460\nmain.main()\n\nrax    0x0\nrip 0x7f\n", " | SIGQUIT: quit | in github.com/x/sqlite3._Cfunc_step(0x26)"},
		{"it crashed", strings.Repeat("x", 1000) + "end", " | …" + strings.Repeat("x", 297) + "end"},
	} {
		if got := conditions.Said(&protocol.Reason{Message: c.message, Detail: c.detail}); got != c.want {
			t.Errorf("%.80q: %q, want %q", c.detail, got, c.want)
		}
	}
}
