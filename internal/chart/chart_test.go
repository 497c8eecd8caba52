package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// hostile is a name that an attacker might choose.
var hostile = `</text></svg><script>alert("x")</script> & ]]>` + "\x1b[31m\x00\u202e"

func number(v float64) string { return fmt.Sprint(v) }

func nanoseconds(v float64) string {
	return time.Duration(v).String()
}

func frames(group string, names ...string) (list []Frame) {
	for _, n := range names {
		list = append(list, Frame{Name: n, Group: group})
	}
	return list
}

// charts are the charts in golden files, by name.
var charts = map[string]Chart{
	"flame": &Flame{Groups: []string{"red", "blue"}, Format: number, Stacks: []Stack{
		{Frames: frames("red", "main", "work"), First: 60},
		{Frames: append(frames("red", "main"), frames("blue", "rest")...), First: 39},
		{Frames: frames("blue", "main", hostile), First: 20},
		{Frames: frames("red", "main", "too small to see"), First: 0.001},
		{Frames: frames("red", "main", "broken"), First: math.NaN()},
	}},
	"flame-difference": &Flame{First: "a", Second: "b", Format: number, Stacks: []Stack{
		{Frames: frames("", "main", "work"), First: 60},
		{Frames: frames("", "main", "work"), Second: 90},
		{Frames: frames("", "main", "new"), Second: 10},
	}},
	"flame-empty": &Flame{Format: number},

	"bars": &Bars{Axis: Axis{Label: "time per row, lower is better", Format: nanoseconds},
		Lines: []Mark{{1900, "floor: native"}},
		Rows: []Bar{
			{Name: "mattn", Look: Look{Color: 2}, Rank: "1", Tied: "tied with 2", Value: 2400, Low: 2350, High: 2480, Text: "2.4µs ± 3 %", Tip: "n = 8", Link: "#mattn"},
			{Name: "crawshaw", Rank: "2", Tied: "tied with 1", Value: 2500, Low: 2380, High: 2600, Text: "2.5µs ± 4 %", Tip: "n = 8"},
			{Name: "modernc", Rank: "3", Value: 5100, Low: 4800, High: 5500, Text: "5.1µs ± 7 %"},
			{Name: hostile, Value: 3000, Reason: "too short to judge", Text: "3µs"},
			{Name: "a driver with a very long name@v1.14.22:GOGC=400", Reason: "refused: journal_mode is delete, not wal"},
			{Name: "broken", Value: math.NaN()},
		}},
	"bars-log": &Bars{
		Axis:  Axis{Label: "time per row, lower is better", Format: nanoseconds},
		Lines: []Mark{{1900, "floor: native"}, {2000, "base"}, {math.Inf(1), "no floor"}},
		Rows: []Bar{
			{Name: "mattn", Rank: "1", Tied: "tied with 2", Value: 2400, Low: 2350, High: 2480, Text: "2.4µs ± 3 %"},
			{Name: "modernc", Rank: "2", Value: 51000, Low: 48000, High: 55000, Text: "51µs ± 7 %"},
			{Name: "shell", Rank: "3", Value: 5.1e6, Low: 4.8e6, High: 5.5e6, Text: "5.1ms ± 7 %", Reason: "wrong answers", Link: "javascript:alert(1)"},
		}},
	"bars-empty": &Bars{},

	"heat": &Heat{Below: "faster than mattn", Above: "slower than mattn", Format: ratio,
		Columns: []string{"mattn", "modernc", "crawshaw", "shell", hostile, "ncruces"},
		Rows:    []string{"point reads", "range scan of 1,000 rows", "insert in one transaction", "http"},
		Cells: [][]Cell{
			{{Value: 1, Link: "#1"}, {Value: 2.31, Tip: "2.1 to 2.5"}, {Value: 0.92}, {Value: 18.5}, {Value: 1.01}, {Value: 1.5}},
			{{Value: 1}, {Value: 4.2}, {Value: 0.55}, {Reason: "refused: page_size is 4096, not 8192"}, {Value: 1.2}, {Value: 1.6}},
			{{Value: 1}, {Value: 1.9}, {Value: 0.71, Reason: "too short to judge"}, {Value: math.NaN()}, {Value: -3}, {Value: 3}},
			{{Value: 1}},
		}},
	"heat-phone": &Heat{Format: ratio,
		Columns: []string{"mattn", "modernc", "crawshaw", "shell", "zombiezen@v1.14.22:GOGC=400", "ncruces", "eatonphil", "sqinn", "native", "tailscale"},
		Rows:    []string{"point reads", "range scan of 1,000 rows"},
		Cells: [][]Cell{
			{{Value: 1}, {Value: 2.31}, {Value: 0.92}, {Value: 18.5}, {Value: 1.01}, {Value: 1.5}, {Value: 1.3}, {Value: 7.5}, {Value: 0.8}, {Value: 0.95}},
			{{Value: 1}, {Value: 1.31}, {Value: 0.72}, {Value: 11.5}, {Value: 1.21}, {Value: 1.7}, {Value: 1.2}, {Value: 3.5}, {Value: 0.6}, {Value: 0.99}},
		}},
}

func init() {
	quantiles := func(scale float64) (list []Percentile) {
		for _, p := range []float64{0, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99} {
			list = append(list, Percentile{p, scale * (1 + math.Pow(math.Log10(100/(100-p)), 3)) * 1000, ""})
		}
		return append(list, Percentile{100, scale * 100_000, "of 12 samples"})
	}
	charts["percentiles"] = &Percentiles{Axis: Axis{Label: "latency, lower is better", Format: nanoseconds},
		Series: []Distribution{
			{Name: "mattn", Points: quantiles(1), Link: "#mattn"},
			{Name: "modernc", Points: quantiles(1.6)},
			{Name: "ncruces", Points: quantiles(1.4)},
			{Name: hostile, Points: append(quantiles(2.5)[:7], Percentile{101, 4, ""}, Percentile{math.NaN(), 4, ""}, Percentile{99, math.NaN(), hostile})},
		}}
	charts["percentiles-phone"] = &Percentiles{Axis: Axis{Label: "latency", Format: nanoseconds},
		Series: []Distribution{{Name: "mattn", Points: quantiles(1)[:11]}, {Name: "modernc", Points: quantiles(1.6)[:11]}}}

	clients := []float64{1, 2, 4, 8, 16, 32}
	usl := func(a, contention, coherency float64) (points, fit []Point, peak *Point) {
		at := func(n float64) float64 { return a * n / (1 + contention*(n-1) + coherency*n*(n-1)) }
		for i, n := range clients {
			noise := 1 + 0.04*math.Sin(float64(i)*7)
			points = append(points, Point{X: n, Y: at(n) * noise, Low: at(n) * (noise - 0.06), High: at(n) * (noise + 0.06), Tip: "n = 8"})
		}
		for n := 1.0; n <= 40; n++ {
			fit = append(fit, Point{X: n, Y: at(n)})
		}
		best := math.Sqrt((1 - contention) / coherency)
		return points, fit, &Point{X: best, Y: at(best), Tip: fmt.Sprintf("peak at %.1f clients", best)}
	}
	scaling := &Lines{X: Axis{Label: "clients", Format: number},
		Y: Axis{Label: "operations per second, higher is better", Format: func(v float64) string { return fmt.Sprintf("%.0f", v) }}}
	for i, name := range []string{"mattn", "modernc"} {
		s := Series{Name: name}
		s.Points, s.Fit, s.Peak = usl(10_000-3000*float64(i), 0.05+0.1*float64(i), 0.004)
		scaling.Series = append(scaling.Series, s)
	}
	scaling.Tail = &Tail{Y: Axis{Label: "p99, lower is better", Format: nanoseconds}, Series: []Series{
		{Name: "mattn", Points: []Point{{X: 1, Y: 1000}, {X: 2, Y: 1500}, {X: 4, Y: 2000}, {X: 8, Y: 9000}, {X: 16, Y: 30_000}, {X: 32, Y: 90_000}}},
		{Name: "modernc", Points: []Point{{X: 1, Y: 1600}, {X: 2, Y: 1700}, {X: 4, Y: 2900}, {X: 8, Y: 9900}, {X: 16, Y: 40_000}, {X: 32, Y: 95_000}, {X: 0, Y: 1}, {X: 3, Y: -1}}},
	}}
	charts["lines"] = scaling
	phoneScaling := *scaling
	phoneScaling.Tail = nil
	charts["lines-phone"] = &phoneScaling
	trend := &Lines{X: Axis{Label: "run", Format: number}, Y: Axis{Label: "time per row", Format: nanoseconds}}
	s := Series{Name: "mattn"}
	for i := range 60 {
		y := 2400 + 60*math.Sin(float64(i)*1.7)
		if i > 30 {
			y += 200
		}
		s.Points = append(s.Points, Point{X: float64(i + 1), Y: y, Low: y - 70, High: y + 80})
	}
	trend.Series = []Series{s}
	charts["trend"] = trend

	order := &Order{X: Axis{Label: "round", Format: number}, Y: Axis{Label: "time per row", Format: nanoseconds}}
	many := &Order{X: Axis{Label: "sample", Format: number}, Y: Axis{Label: "time per row", Format: nanoseconds}}
	for i, name := range []string{"mattn", "modernc"} {
		few, more := Samples{Name: name}, Samples{Name: name}
		for j := range 50_000 {
			y := (2400+float64(j%7)*20)*(1+float64(i)) + 200*math.Sin(float64(j)/12_000)
			if j%9973 == 9972 {
				y *= 1.8
			}
			if j < 40 {
				few.Points = append(few.Points, Sample{X: float64(j + 1), Y: y + 10*float64(j), Tip: fmt.Sprintf("trial %d", j), Link: "#trial"})
			}
			more.Points = append(more.Points, Sample{X: float64(j + 1), Y: y})
		}
		few.Points = append(few.Points, Sample{X: 41, Y: math.Inf(1)})
		order.Series, many.Series = append(order.Series, few), append(many.Series, more)
	}
	charts["order"], charts["order-many"] = order, many

	charts["stacks"] = &Stacks{Axis: Axis{Label: "errors, fewer is better", Format: number},
		Parts: []string{"busy", "locked", "busy snapshot", hostile},
		Rows: []Sum{
			{Name: "mattn", Look: Look{Color: 2}, Values: []float64{12, 3, 7}, Link: "#mattn"},
			{Name: "modernc", Look: Look{Color: 11}, Values: []float64{2, 1, 30, 5}, Text: "38 of 1,000"},
			{Name: "ncruces", Values: []float64{0, 0, 0}},
			{Name: "shell", Reason: "failed: no such file"},
			{Name: "broken", Values: []float64{-4, math.NaN(), 8, 1, 1}},
		}}
	charts["stacks-phone"] = charts["stacks"]

	wide := *charts["bars-log"].(*Bars)
	wide.Axis.Tick = func(v float64) string { return fmt.Sprintf("%g µs", v/1000) }
	charts["bars-log-wide"] = &wide

	published := &Grouped{Axis: Axis{Label: "relative to mattn, lower is better", Format: ratio},
		Groups: []Group{
			{Name: "modernc, insert", Bars: []Bar{{Name: "published", Value: 2.3}, {Name: "measured", Value: 2.1, Low: 1.9, High: 2.4, Text: "2.10× ± 12 %"}}},
			{Name: "modernc, concurrent readers with a long name that does not fit", Bars: []Bar{{Name: "published", Value: 4}, {Name: "measured", Value: 1.1, Low: 1, High: 1.2, Reason: "claim does not hold"}}},
			{Name: "crawshaw, insert", Bars: []Bar{{Name: "published", Value: 0.8}, {Name: "measured", Reason: "refused: journal_mode is delete"}}},
			{Name: "empty"},
		}}
	charts["grouped"] = published
	charts["grouped-phone"] = published
}

func init() {
	forest := &Forest{Axis: Axis{Label: "time of b, × that of a", Format: ratio}, Low: 1 / 1.02, High: 1.02, Band: "same: within ±2%",
		Less: "b is faster", More: "b is slower", Kinds: []string{"faster", "slower", "same", "cannot tell yet"},
		Rows: []Bar{
			{Name: "simple · insert", Reason: "wrong: 3 rows are missing"},
			{Name: "analytics · " + hostile, Reason: "failed: " + hostile},
			{Name: "simple · select", Value: 1.31, Low: 1.28, High: 1.35, Kind: 1, Text: "1.31× [1.28, 1.35] slower", Tip: "n = 12", Link: "#order"},
			{Name: "complex · select, a cell with a name that has no room in a line", Value: 1.05, Low: 0.9, High: 1.4, Kind: 3},
			{Name: "complex · insert", Value: 1.1, Kind: 3, Tip: "too few rounds"},
			{Name: "concurrent · select", Value: 0.7, Low: 0.66, High: 0.75},
			{Name: "real · select", Value: 1.001, Low: 0.99, High: 1.01, Kind: 2},
			{Name: "broken", Value: math.NaN()},
		}}
	charts["forest"], charts["forest-phone"] = forest, forest
}

// titles has the titles and widths of charts in golden files, by name.
var titles = map[string]Titled{
	"bars":              {Title: "Point reads"},
	"bars-log":          {Title: "Point reads, from the fastest library to one that starts a program for each statement, on a phone", Width: Phone},
	"bars-log-wide":     {Title: "Point reads, from the fastest library to one that starts a program for each statement, on a phone", Width: Print},
	"flame":             {Title: "A & B"},
	"flame-difference":  {Title: "Two"},
	"flame-empty":       {Title: "Nothing"},
	"forest":            {Title: "Cells"},
	"forest-phone":      {Title: "Cells", Width: Phone},
	"grouped":           {Title: "Published beside measured"},
	"grouped-phone":     {Title: "Published beside measured", Width: Phone},
	"heat":              {Title: "Times relative to mattn"},
	"heat-phone":        {Title: "Times relative to mattn", Width: Phone},
	"lines":             {Title: "Throughput against the number of clients"},
	"lines-phone":       {Title: "Throughput against the number of clients", Width: Phone},
	"order":             {Title: "Samples in the order measured"},
	"order-many":        {Title: "Many samples", Width: Phone},
	"percentiles":       {Title: "Latency of point reads while another connection writes"},
	"percentiles-phone": {Title: "Latency", Width: Phone},
	"stacks":            {Title: "Errors by kind"},
	"stacks-phone":      {Title: "Errors by kind", Width: Phone},
	"trend":             {Title: "Point reads on mattn, all runs"},
}

func init() {
	for name, t := range titles {
		t.Chart = charts[name]
		charts[name] = t
	}
}

// TestPhone checks that no text of a row is shortened in a picture for phones.
func TestPhone(t *testing.T) {
	const cell = "read-write-ad-hoc journal_mode=wal synchronous=normal rows=12000 mix"
	for name, c := range map[string]Chart{
		"forest": &Forest{Axis: Axis{Label: "time of mattn@v1.14.52, × that of mattn@v1.14.22", Format: ratio},
			Less: "mattn@v1.14.52:GOGC=400 is faster", More: "mattn@v1.14.52:GOGC=400 is slower", Kinds: []string{"slower"},
			Rows: []Bar{{Name: cell, Value: 1.31, Low: 1.28, High: 1.35, Text: "1.31× [1.28, 1.35] slower, too short"}, {Name: "simple insert", Value: 9}}},
		"bars":   &Bars{Rows: []Bar{{Name: cell, Rank: "1", Tied: "tied with 2", Value: 3, Text: "12.3 ms/op [-40%, +120%]"}, {Name: "b", Rank: "2", Value: 4}}},
		"stacks": &Stacks{Parts: []string{"busy"}, Rows: []Sum{{Name: cell, Values: []float64{3}, Text: "12,345,678, 99.98 % ok"}}},
	} {
		drawn := c.draw("", Phone)
		said := 0
		var look func(shapes []any)
		look = func(shapes []any) {
			for _, shape := range shapes {
				switch s := shape.(type) {
				case markShape:
					look(s.shapes)
				case textShape:
					said++
					wide := measure(s.text, s.size, s.heavy)
					left := s.x - map[anchor]float64{atMiddle: wide / 2, atEnd: wide}[s.anchor]
					if strings.HasSuffix(s.text, "…") || left < 0 || left+wide > drawn.width {
						t.Errorf("%s: %q is cut", name, s.text)
					}
				}
			}
		}
		if look(drawn.shapes); said < 5 {
			t.Errorf("%s has only %d texts", name, said)
		}
	}
}

func ratio(v float64) string { return fmt.Sprintf("%.2f×", v) }

func TestGolden(t *testing.T) {
	for name, c := range charts {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := WriteSVG(&b, c); err != nil {
				t.Fatal(err)
			}
			wellFormed(t, b.Bytes())
			golden := "testdata/" + name + ".svg"
			if *update {
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// wellFormed checks that a picture is XML without scripts, and that all shapes are inside it.
func wellFormed(t *testing.T, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !strings.Contains(" svg g a rect path text title desc style ", " "+e.Name.Local+" ") {
			t.Errorf("element %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			name := a.Name.Local
			if strings.HasPrefix(name, "on") || strings.Contains(a.Value, "javascript") {
				t.Errorf("attribute %s=%q", name, a.Value)
			}
			if name != "aria-label" && name != "data-tip" && (strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || strings.Contains(a.Value, "alert")) {
				t.Errorf("attribute %s=%q", name, a.Value)
			}
		}
	}
}

func ExampleTable() {
	bars := &Bars{
		Axis: Axis{Label: "µs per row", Format: func(v float64) string { return fmt.Sprintf("%g µs", v) }},
		Rows: []Bar{
			{Name: "mattn", Rank: "1", Value: 2.4, Low: 2.3, High: 2.5},
			{Name: "modernc", Reason: "refused: page_size is 4096, not 8192"},
		},
	}
	columns, rows := Table(bars)
	fmt.Println(strings.Join(columns, " | "))
	for _, r := range rows {
		fmt.Println(strings.Join(r, " | ") + ".")
	}
	// Output:
	// rank | name | value | low | high | note
	// 1 | mattn | 2.4 µs | 2.3 µs | 2.5 µs | .
	//  | modernc |  |  |  | refused: page_size is 4096, not 8192.
}

func ExampleWriteSVG() {
	f := &Flame{Format: func(ms float64) string { return fmt.Sprintf("%g ms", ms) }, Stacks: []Stack{
		{Frames: []Frame{{Name: "main"}, {Name: "query"}}, First: 3},
		{Frames: []Frame{{Name: "main"}, {Name: "insert"}}, First: 1},
	}}
	var picture strings.Builder
	if err := WriteSVG(&picture, f); err != nil {
		fmt.Println(err)
	}
	_, tip, _ := strings.Cut(picture.String(), "<title>query")
	fmt.Println(strings.Split(tip, "<")[0])
	// Output: : 3 ms, 75.0%
}
