package study_test

import (
	"math"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/study"
)

const (
	holds   = report.Holds
	fails   = report.DoesNotHold
	unknown = report.CannotBeTold
)

func TestDecide(t *testing.T) {
	any := math.NaN()
	for _, test := range []struct {
		name            string
		atLeast, atMost float64 // NaN means no bound
		low, high       float64 // ends of the interval; low is NaN if there are too few rounds
		p               float64 // adjusted p-value
		unit            string
		want            report.Verdict
	}{
		{"within a range that leaves out 1", 1.5, 2.5, 1.9, 2.1, 0.01, "", holds},
		{"within, to the bounds", 1.5, 2.5, 1.5, 2.5, 0.01, "", holds},
		{"within, but not told apart", 1.5, 2.5, 1.9, 2.1, 0.05, "", unknown},
		{"above", 1.5, 2.5, 2.51, 3, 0.01, "", fails},
		{"above, though not told apart", 1.5, 2.5, 2.51, 3, 0.9, "", fails},
		{"below", 1.5, 2.5, 0.9, 1.49, 0.2, "", fails},
		{"across the lower bound", 1.5, 2.5, 1.4, 2, 0.01, "", unknown},
		{"across the upper bound", 1.5, 2.5, 2, 2.6, 0.01, "", unknown},
		{"across both", 1.5, 2.5, 1, 3, 0.01, "", unknown},
		{"faster", 1, any, 1.1, 1.2, 0.01, "", holds},
		{"faster, by an interval that leaves out 1, but not told apart", 1, any, 1.1, 1.2, 0.06, "", unknown},
		{"not faster", 1, any, 0.8, 0.9, 0.01, "", fails},
		{"not faster, by an interval that leaves out 1, but not told apart", 1, any, 0.8, 0.9, 0.06, "", unknown},
		{"not slower, likewise", any, 1, 1.1, 1.2, 0.06, "", unknown},
		{"not faster for certain", 1, any, 0.9, 1.1, 0.5, "", unknown},
		{"alike, so not faster", 1, any, 0.97, 1.04, 0.5, "", fails},
		{"alike, so not slower", any, 1, 0.96, 1.02, 0.5, "", fails},
		{"alike by an interval that leaves out 1, but not told apart", 1, any, 1.01, 1.04, 0.06, "", fails},
		{"alike, but told apart as faster", 1, any, 1.01, 1.04, 0.01, "", holds},
		{"nearly alike", 1, any, 0.97, 1.06, 0.5, "", unknown},
		{"alike, where no difference is claimed", any, 1.01, 0.97, 1.04, 0.5, "", unknown},
		{"alike, not up to twice", 1, 2, 0.97, 1.04, 0.5, "", fails},
		{"slower", any, 1, 0.5, 0.9, 0.01, "", holds},
		{"not slower", any, 1, 1.1, 1.2, 0.01, "", fails},
		{"at most twice: 1 is in the range, so no difference is claimed", any, 2, 1.2, 1.9, 0.9, "", holds},
		{"equal within a margin", 0.9, 1.1, 0.95, 1.05, 0.9, "", holds},
		{"equal within a margin, and yet told apart", 0.9, 1.1, 1.01, 1.05, 0.001, "", holds},
		{"not equal", 0.9, 1.1, 1.2, 1.3, 0.001, "", fails},
		{"too few rounds", 1.5, 2.5, any, any, 1, "", unknown},
		{"a rate in its range", 70_000, 100_000, 80_000, 90_000, 1, "op/s", holds},
		{"a rate out of its range", 70_000, 100_000, 10_000, 20_000, 1, "op/s", fails},
		{"a rate across a bound", 70_000, 100_000, 60_000, 80_000, 1, "op/s", unknown},
	} {
		c := &report.Comparison{Unit: test.unit, Verdict: unknown, Summary: &stats.Summary{N: 6}}
		if !math.IsNaN(test.atLeast) {
			c.AtLeast = &test.atLeast
		}
		if !math.IsNaN(test.atMost) {
			c.AtMost = &test.atMost
		}
		if !math.IsNaN(test.low) {
			c.Interval = &stats.Interval{Low: test.low, High: test.high}
		}
		if test.unit == "" {
			c.Test = &stats.Test{P: test.p / 2, Adjusted: test.p}
		}
		study.Decide(c, false)
		if c.Verdict != test.want || (c.Verdict == unknown) != (c.Why != "") {
			t.Errorf("%s: %s (%s), want %s", test.name, c.Verdict, c.Why, test.want)
		}
	}
}

func TestDecideCounts(t *testing.T) {
	for _, test := range []struct {
		atLeast, atMost, total float64
		want                   report.Verdict
	}{
		{0, 0, 0, holds},
		{0, 0, 1, fails},
		{1, math.Inf(1), 0, fails},
		{1, math.Inf(1), 1, holds},
	} {
		c := &report.Comparison{Unit: "errors", AtLeast: &test.atLeast, AtMost: &test.atMost, Summary: &stats.Summary{N: 6, Median: test.total}}
		study.Decide(c, true)
		if c.Verdict != test.want {
			t.Errorf("%v in [%v, %v]: %s, want %s", test.total, test.atLeast, test.atMost, c.Verdict, test.want)
		}
	}
}

func TestDecideNotMeasured(t *testing.T) {
	c := &report.Comparison{Verdict: unknown, Why: "sqinn is not among the drivers of this run"}
	study.Decide(c, false)
	if c.Verdict != unknown || c.Why != "sqinn is not among the drivers of this run" {
		t.Errorf("%+v", c)
	}
}

func TestCombine(t *testing.T) {
	for _, test := range []struct {
		verdicts   []report.Verdict
		all, anyOf report.Verdict
	}{
		{nil, unknown, unknown},
		{[]report.Verdict{holds}, holds, holds},
		{[]report.Verdict{fails}, fails, fails},
		{[]report.Verdict{unknown}, unknown, unknown},
		{[]report.Verdict{holds, holds}, holds, holds},
		{[]report.Verdict{holds, fails}, fails, holds},
		{[]report.Verdict{holds, unknown}, unknown, holds},
		{[]report.Verdict{unknown, fails}, fails, unknown},
		{[]report.Verdict{unknown, fails, holds}, fails, holds},
	} {
		if got := study.Combine(test.verdicts, false); got != test.all {
			t.Errorf("all of %v: %s, want %s", test.verdicts, got, test.all)
		}
		if got := study.Combine(test.verdicts, true); got != test.anyOf {
			t.Errorf("any of %v: %s, want %s", test.verdicts, got, test.anyOf)
		}
	}
}

func TestWanted(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	for _, test := range []struct {
		c    report.Comparison
		want string
	}{
		{report.Comparison{AtLeast: n(1.5), AtMost: n(2.5)}, "1.5x to 2.5x"},
		{report.Comparison{AtLeast: n(2.0 / 3), AtMost: n(1.5)}, "0.667x to 1.5x"},
		{report.Comparison{AtLeast: n(1)}, "at least 1x"},
		{report.Comparison{AtMost: n(0.5)}, "at most 0.5x"},
		{report.Comparison{Unit: "errors", AtMost: n(0)}, "at most 0"},
		{report.Comparison{Unit: "op/s", AtLeast: n(70_000), AtMost: n(100_000)}, "70000 to 100000"},
	} {
		if got := test.c.Wanted(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
