package chart_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
)

// inline draws a chart for a page.
func inline(t *testing.T, c chart.Chart) string {
	t.Helper()
	var b bytes.Buffer
	if err := chart.WriteInline(&b, c, "x"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestScatter(t *testing.T) {
	s := &chart.Scatter{X: chart.Axis{Label: "time"}, Y: chart.Axis{Label: "memory", Binary: true},
		Kinds: []chart.ItemKind{{Name: "sound"}, {Name: "defect"}, {Name: "unused"}},
		Items: []chart.Item{{Name: "first", X: 1, Y: 20}, {Name: "second", Kind: 1, X: 1.001, Y: 20.001, Tip: "why"}, {Name: "lost", X: math.NaN(), Y: 3}}}
	out := inline(t, s)
	for _, want := range []string{">first<", ">second<", ">sound<", ">defect<", "1 value left out", "why"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if strings.Contains(out, "unused") {
		t.Error("the legend has a kind without items")
	}
	if columns, rows := chart.Table(s); len(columns) != 4 || len(rows) != 2 || rows[1][3] != "defect" {
		t.Errorf("%q %q", columns, rows)
	}
}

// TestOneTabStop checks that the Tab key reaches a picture once, however many marks it has.
func TestOneTabStop(t *testing.T) {
	b := &chart.Bars{Rows: []chart.Bar{{Name: "a", Value: 1}, {Name: "b", Value: 2, Link: "#b"}, {Name: "c", Value: 3}}}
	out := inline(t, b)
	if n, others := strings.Count(out, `tabindex="0"`), strings.Count(out, `tabindex="-1"`); n != 1 || others != 2 {
		t.Errorf("%d tab stops, %d other marks:\n%s", n, others, out)
	}
}

func TestSigned(t *testing.T) {
	b := &chart.Bars{Rows: []chart.Bar{{Name: "a", Value: 1}}}
	plain, signed := inline(t, b), inline(t, chart.Titled{Chart: b, Source: "run 3 · 2026-11-26"})
	if strings.Contains(plain, "run 3") || !strings.Contains(signed, "run 3 · 2026-11-26") {
		t.Errorf("%s\n%s", plain, signed)
	}
}

// TestLegendOfIntervals checks that a chart has its legend below it. It also checks that the function
// Intervals returns the name of the shape with which the chart shows intervals, such as "error bars".
func TestLegendOfIntervals(t *testing.T) {
	points := make([]chart.Point, 100)
	for i := range points {
		points[i] = chart.Point{X: float64(i), Y: 2, Low: 1, High: 3}
	}
	for want, c := range map[string]chart.Chart{
		"":           &chart.Bars{Rows: []chart.Bar{{Name: "a", Value: 1}}},
		"error bars": &chart.Bars{Rows: []chart.Bar{{Name: "a", Value: 2, Low: 1, High: 3}}},
		"bands":      &chart.Lines{Series: []chart.Series{{Name: "s", Points: points}}},
	} {
		if got := chart.Intervals(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := chart.Intervals(&chart.Forest{Rows: []chart.Bar{{Name: "a", Value: 2, Low: 1, High: 3}}}); got != "error bars" {
		t.Errorf("of ratios: %q", got)
	}
	signed := inline(t, chart.Titled{Chart: &chart.Bars{Rows: []chart.Bar{{Name: "a", Value: 1}}}, Legend: []string{"! marks one", "Error bars show two"}, Source: "run 3"})
	for _, words := range []string{">! marks one<", ">Error bars show two<", ">run 3<"} {
		if !strings.Contains(signed, words) {
			t.Errorf("without %s: %s", words, signed)
		}
	}
}

// TestFewPointsAreNoCurve checks that a line joins three points of a series, but not two.
func TestFewPointsAreNoCurve(t *testing.T) {
	dashed := chart.Look{Color: 1, Mark: 2} // so that the test can count lines: only lines have dashes
	points := []chart.Point{{X: 1, Y: 1}, {X: 2, Y: 3}, {X: 3, Y: 4}}
	percentiles := []chart.Percentile{{Percentile: 50, Value: 1}, {Percentile: 90, Value: 2}, {Percentile: 99, Value: 4}}
	for name, of := range map[string]func(n int) chart.Chart{
		"lines": func(n int) chart.Chart {
			return &chart.Lines{Series: []chart.Series{{Name: "s", Look: dashed, Points: points[:n]}}}
		},
		"percentiles": func(n int) chart.Chart {
			return &chart.Percentiles{Series: []chart.Distribution{{Name: "s", Look: dashed, Points: percentiles[:n]}}}
		},
	} {
		lines := func(n int) int { return strings.Count(inline(t, of(n)), `stroke-dasharray="7 3"`) }
		if lines(3) != lines(2)+1 {
			t.Errorf("%s: %d lines of 2 points, %d of 3", name, lines(2), lines(3))
		}
	}
}
