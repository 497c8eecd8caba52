package chart

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
)

// all returns a chart of each kind with the given text and numbers in every field.
func all(text string, numbers []float64, width int) (list []Titled) {
	at := func(i int) float64 {
		if len(numbers) == 0 {
			return 0
		}
		return numbers[i%len(numbers)]
	}
	axis := Axis{Label: text, Binary: len(text)%2 == 1}
	if len(text)%3 == 0 {
		axis.Format = func(v float64) string { return text }
	}
	marks := []Mark{{at(0), text}, {at(1), text}}
	bars := &Bars{Axis: axis, Lines: marks}
	grouped := &Grouped{Axis: axis}
	heat := &Heat{Below: text, Columns: []string{text, "b", text}}
	percentiles := &Percentiles{Axis: axis, Series: []Distribution{{}}}
	lines := &Lines{X: axis, Y: axis}
	order := &Order{X: axis, Y: axis}
	stacks := &Stacks{Axis: axis, Parts: []string{"a", text}}
	forest := &Forest{Axis: axis, Low: at(0), High: at(1), Band: text, Less: text, More: text, Kinds: []string{text, "b"}}
	flame := &Flame{Groups: []string{text}}
	difference := &Flame{First: text, Second: text + "x", Format: axis.Format}
	for i := range numbers {
		reason := ""
		if i%3 == 1 {
			reason = text
		}
		b := Bar{Name: text, Rank: text[:min(i%3, len(text))], Value: at(i), Low: at(i + 1), High: at(i + 2), Reason: reason, Tip: text, Link: text}
		bars.Rows = append(bars.Rows, b)
		grouped.Groups = append(grouped.Groups, Group{Name: text, Bars: []Bar{b, {Name: "other", Value: at(i + 3)}}})
		forest.Rows = append(forest.Rows, Bar{Name: text, Value: at(i), Low: at(i + 1), High: at(i + 2), Kind: i%4 - 1, Reason: reason, Tip: text, Link: text})
		heat.Rows = append(heat.Rows, text)
		heat.Cells = append(heat.Cells, []Cell{{Value: at(i), Reason: reason, Tip: text, Link: text}, {Value: at(i + 1)}})
		percentiles.Series[0].Points = append(percentiles.Series[0].Points, Percentile{at(i), at(i + 1), text})
		peak := &Point{X: at(i + 2), Y: at(i), Tip: text}
		p := Point{X: at(i), Y: at(i + 1), Low: at(i + 2), High: at(i + 3), Tip: text, Link: text}
		lines.Series = append(lines.Series, Series{Name: text, Points: []Point{p, *peak}, Fit: []Point{*peak, p, {X: at(i + 5), Y: at(i + 6)}}, Peak: peak})
		order.Series = append(order.Series, Samples{Name: text, Points: []Sample{{X: at(i), Y: at(i + 1), Tip: text}, {X: at(i + 2), Y: at(i)}}})
		stacks.Rows = append(stacks.Rows, Sum{Name: text, Values: []float64{at(i), at(i + 1), at(i + 2)}, Reason: reason})
		s := Stack{Frames: []Frame{{Name: text, Group: text}, {Name: "b", Short: []string{text}}}, First: at(i), Second: at(i + 1)}
		flame.Stacks, difference.Stacks = append(flame.Stacks, s), append(difference.Stacks, s)
	}
	lines.Tail = &Tail{Y: axis, Series: lines.Series}
	for _, c := range []Chart{bars, grouped, heat, percentiles, lines, order, stacks, forest, flame, difference} {
		list = append(list, Titled{Chart: c, Title: text, Width: width})
	}
	return list
}

func drawAll(t *testing.T, list []Titled) {
	t.Helper()
	for _, c := range list {
		var b bytes.Buffer
		if err := WriteSVG(&b, c); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, b.Bytes())
		if b.Len() > 2_000_000 {
			t.Errorf("%T: %d bytes", c.Chart, b.Len())
		}
		b.Reset()
		if err := WriteInline(&b, c, "x"); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, b.Bytes())
		if err := WritePNG(io.Discard, c, 0.1); err != nil {
			t.Errorf("%T: %v", c.Chart, err)
		}
		columns, rows := Table(c)
		for _, r := range rows {
			if len(r) != len(columns) {
				t.Errorf("%T: a row of %d cells below %d columns", c.Chart, len(r), len(columns))
			}
		}
	}
}

// TestCommandsOfCI checks that the SVG of a picture contains no text that a CI service would take
// for a command when it prints the SVG.
func TestCommandsOfCI(t *testing.T) {
	for _, text := range []string{"##[error]x", "a ##vso[task.setvariable]x", "###teamcity[x]", "##\n[error]"} {
		for _, c := range all(text, []float64{1, 2, 3, 4, 5, 6, 7}, Page) {
			var b bytes.Buffer
			if err := errors.Join(WriteSVG(&b, c), WriteInline(&b, c, "x")); err != nil {
				t.Fatal(err)
			}
			if found := regexp.MustCompile(`##[a-z]*\[`).FindString(b.String()); found != "" {
				t.Errorf("%T of %q: %s", c.Chart, text, found)
			}
		}
	}
}

func FuzzCharts(f *testing.F) {
	pack := func(numbers ...float64) []byte {
		var b []byte
		for _, v := range numbers {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	f.Add(hostile, pack(math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, 99.9, 100), 360)
	f.Add("", pack(), 0)
	f.Add("a", pack(1, 1, 1), 720)
	f.Add("ab", pack(math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64), 1)
	f.Add("abc", pack(1e149, 1e-149, 1, -1e149), 720)
	f.Add("abcd", pack(1e15, 1e15+1, 1e15+2), 100_000)
	f.Add(strings.Repeat("\x00\xff<&\u202e", 1000), pack(3, 1, 2), -5)
	f.Fuzz(func(t *testing.T, text string, data []byte, width int) {
		var numbers []float64
		for ; len(data) >= 8 && len(numbers) < 20; data = data[8:] {
			numbers = append(numbers, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		drawAll(t, all(text, numbers, width))
	})
}

// TestLongText draws every kind of chart with texts of 10 MB.
func TestLongText(t *testing.T) {
	drawAll(t, all(strings.Repeat("long ", 2_000_000), []float64{1, 2, 3}, 0))
}

// TestLeftOut checks that each picture says how many values could not be drawn.
func TestLeftOut(t *testing.T) {
	bad := math.NaN()
	for want, list := range map[string][]Chart{
		"1 value left out": {
			&Bars{Rows: []Bar{{Value: 1}, {Value: bad}}},
			&Bars{Rows: []Bar{{Value: 1, Low: 0.5, High: math.Inf(1)}}},
			&Forest{Rows: []Bar{{Value: 1}, {Value: -1}}},
			&Bars{Rows: []Bar{{Value: 1}}, Lines: []Mark{{Value: bad}}},
			&Grouped{Groups: []Group{{Bars: []Bar{{Value: 1}, {Value: bad}}}}},
			&Heat{Rows: []string{"a"}, Columns: []string{"b", "c"}, Cells: [][]Cell{{{Value: 1}, {Value: 0}}}},
			&Percentiles{Series: []Distribution{{Points: []Percentile{{50, 1, ""}, {101, 2, ""}}}}},
			&Lines{Series: []Series{{Points: []Point{{X: 1, Y: 1}, {X: 2, Y: bad}}}}},
			&Lines{Series: []Series{{Points: []Point{{X: 1, Y: 1}}, Peak: &Point{X: bad, Y: 1}}}},
			&Order{Series: []Samples{{Points: []Sample{{X: 1, Y: 1}, {X: 2, Y: bad}}}}},
			&Stacks{Parts: []string{"a", "b"}, Rows: []Sum{{Values: []float64{1, -1}}}},
			&Flame{Stacks: []Stack{{First: 1}, {First: bad}}},
		},
		"": {
			&Bars{Rows: []Bar{{Value: 1}, {Reason: "failed"}, {Value: bad, Reason: "failed"}, {Value: 1, Low: bad, High: bad}}},
			&Heat{Rows: []string{"a"}, Columns: []string{"b", "c"}, Cells: [][]Cell{{{Value: 1}, {Reason: "failed"}}}},
		},
	} {
		for _, c := range list {
			got := c.draw("", 0).desc
			if want == "" && strings.Contains(got, "left out") || !strings.Contains(got, want) {
				t.Errorf("%+v: %q, want %q", c, got, want)
			}
		}
	}
}
