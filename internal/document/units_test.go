package document

import (
	"math"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func TestSlower(t *testing.T) {
	for _, c := range []struct {
		median, low, high float64
		want, short       string
	}{
		{1.33, 1.3, 1.36, "33% slower (30% to 36%)", "30% to 36% slower"},
		{0.75, 0.7, 0.8, "25% faster (20% to 30%)", "20% to 30% faster"},
		{0.6, 0.454, 0.776, "40% faster (22% to 55%)", "22% to 55% faster"},
		{1.07, 1.05, 1.1, "7% slower (5% to 10%)", "5% to 10% slower"},
		{1.024, 1.019, 1.028, "2.4% slower (1.9% to 2.8%)", "1.9% to 2.8% slower"},
		{1.33, 1.326, 1.334, "33.0% slower (32.6% to 33.4%)", "32.6% to 33.4% slower"},
		{1.33, 0.95, 1.8, "33% slower (5% faster to 80% slower)", "5% faster to 80% slower"},
		{1, 0.97, 1.04, "equally fast (3% faster to 4% slower)", "3% faster to 4% slower"},
		{1.001, 0.9992, 1.0041, "0.1% slower (0.1% faster to 0.4% slower)", "0.1% faster to 0.4% slower"},
		{1.02, 1.0003, 1.05, "2% slower (0.03% to 5%)", "0.03% to 5% slower"},
		{0.98, 0.9, 0.9997, "2% faster (0.03% to 10%)", "0.03% to 10% faster"},
		{1.02, 1, 1.05, "2% slower (0% to 5%)", "0% to 5% slower"},
		{1.02, 1, 1, "2.0% slower (0.0% to 0.0%)", "0.0% to 0.0% slower"},
		{1.994, 1.9, 2.1, "99% slower (90% to 110%)", ""},
		{1.996, 1.9, 2.1, "2.0 times as slow (1.9 to 2.1)", ""},
		{2.1, 1.85, 2.34, "2.1 times as slow (1.9 to 2.3)", "1.9 to 2.3 times as slow"},
		{2.112, 2.109, 2.118, "2.11 times as slow (2.11 to 2.12)", "2.11 to 2.12 times as slow"},
		{2.1, 2.1, 2.1, "2.1 times as slow (2.1 to 2.1)", ""},
		{2.1, 0.9, 5, "2.1 times as slow (10% faster to 5.0 times as slow)", ""},
		{0.4, 0.2, 0.5, "2.5 times as fast (2.0 to 5.0)", ""},
		{12.4, 11.6, 1520, "12 times as slow (12 to 1,520)", ""},
		{0.51, 0.0000001, 0.9, "49% faster (10% to 99.99999%)", ""},
		{1.5, 1.2, 15, "50% slower (20% to 1,400%)", ""},
	} {
		s := stats.Summary{N: 20, Median: c.median, Interval: &stats.Interval{Low: c.low, High: c.high}}
		if got := Slower(s); got != c.want {
			t.Errorf("%v: %s, want %s", s.Interval, got, c.want)
		}
		if by, _, _ := strings.Cut(c.want, " ("); SlowerBy(s) != by {
			t.Errorf("%v: %s, want %s", s.Interval, SlowerBy(s), by)
		}
		if got := SlowerRange(s.Interval); c.short != "" && got != c.short {
			t.Errorf("%v: %s, want %s", s.Interval, got, c.short)
		}
	}
	few := stats.Summary{N: 3, Median: 1.333}
	if got, want := Slower(few), "33% slower (too few rounds for an interval)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := SlowerRange(nil); got != "too few rounds for an interval" {
		t.Error(got)
	}
	for want, v := range map[string]float64{"7.1% slower": 1.071, "0.04% slower": 1.0004, "33% slower": 1.333, "25% faster": 0.75, "equally fast": 1, "2.0 times as fast": 0.5} {
		if got := SlowerBy(stats.Summary{Median: v}); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

func TestMore(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{MoreBy(stats.Summary{Median: 1.3}), "30% more"},
		{MoreBy(stats.Summary{Median: 0.3}), "70% less"},
		{MoreBy(stats.Summary{Median: 2.5}), "2.5 times as much"},
		{MoreRange(&stats.Interval{Low: 1.2, High: 1.3}), "20% to 30% more"},
		{MoreRange(&stats.Interval{Low: 0.1, High: 0.3}), "70% to 90% less"},
		{Than(MoreBy(stats.Summary{Median: 1.3}), "mattn"), "30% more than mattn"},
		{Than(MoreBy(stats.Summary{Median: 1}), "mattn"), "the same as mattn"},
		{Than(SlowerBy(stats.Summary{Median: 1}), "mattn"), "as fast as mattn"},
		{Than(SlowerBy(stats.Summary{Median: 2.1}), "mattn"), "2.1 times as slow as mattn"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// TestSlowerNeverZero checks that SlowerRange never shows an end of the interval as 0% or 100%
// unless it is exactly that.
func TestSlowerNeverZero(t *testing.T) {
	for e := -0.5; e > -12; e -= 0.25 {
		for _, v := range []float64{1 + math.Pow(10, e), 1 - math.Pow(10, e), math.Pow(10, e)} {
			for _, other := range []float64{0.3, 0.9, 1.1, 3} {
				i := stats.Interval{Low: min(v, other), High: max(v, other)}
				for _, word := range strings.Fields(strings.Trim(SlowerRange(&i), "()")) {
					if strings.Trim(word, "0.%") == "" || strings.TrimRight(word, "0") == "1." || word == "100%" && v < 1 && v > 0 {
						t.Errorf("%v: %s", i, SlowerRange(&i))
					}
				}
			}
		}
	}
}

func TestUpper(t *testing.T) {
	for s, want := range map[string]string{"": "", "time per row": "Time per row", "été": "Été"} {
		if got := Upper(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
