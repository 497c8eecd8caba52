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

// hostile is what a stranger may name things.
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

// charts are drawn in golden files.
var charts = map[string]Chart{
	"flame": &Flame{Title: "A & B", Groups: []string{"red", "blue"}, Format: number, Stacks: []Stack{
		{Frames: frames("red", "main", "work"), First: 60},
		{Frames: append(frames("red", "main"), frames("blue", "rest")...), First: 39},
		{Frames: frames("blue", "main", hostile), First: 20},
		{Frames: frames("red", "main", "too small to see"), First: 0.001},
		{Frames: frames("red", "main", "broken"), First: math.NaN()},
	}},
	"flame-difference": &Flame{Title: "Two", First: "a", Second: "b", Format: number, Stacks: []Stack{
		{Frames: frames("", "main", "work"), First: 60},
		{Frames: frames("", "main", "work"), Second: 90},
		{Frames: frames("", "main", "new"), Second: 10},
	}},
	"flame-empty": &Flame{Title: "Nothing", Format: number},

	"bars": &Bars{Title: "Point reads", Axis: Axis{Label: "time per row, lower is better", Format: nanoseconds},
		Lines: []Mark{{1900, "floor: native"}},
		Rows: []Bar{
			{Name: "mattn", Rank: "1=", Value: 2400, Low: 2350, High: 2480, Text: "2.4µs ± 3 %", Tip: "n = 8", Link: "#mattn"},
			{Name: "crawshaw", Rank: "1=", Value: 2500, Low: 2380, High: 2600, Text: "2.5µs ± 4 %", Tip: "n = 8"},
			{Name: "modernc", Rank: "3", Value: 5100, Low: 4800, High: 5500, Text: "5.1µs ± 7 %"},
			{Name: hostile, Value: 3000, Reason: "too short to judge", Text: "3µs"},
			{Name: "a driver with a very long name@v1.14.22:GOGC=400", Reason: "refused: journal_mode is delete, not wal"},
			{Name: "broken", Value: math.NaN()},
		}},
	"bars-log": &Bars{Title: "Point reads, from the fastest library to one that starts a program for each statement, on a phone", Width: Phone,
		Axis:  Axis{Label: "time per row, lower is better", Format: nanoseconds},
		Lines: []Mark{{1900, "floor: native"}, {2000, "base"}, {math.Inf(1), "no floor"}},
		Rows: []Bar{
			{Name: "mattn", Rank: "1", Value: 2400, Low: 2350, High: 2480, Text: "2.4µs ± 3 %"},
			{Name: "modernc", Rank: "2", Value: 51000, Low: 48000, High: 55000, Text: "51µs ± 7 %"},
			{Name: "shell", Rank: "3", Value: 5.1e6, Low: 4.8e6, High: 5.5e6, Text: "5.1ms ± 7 %", Reason: "wrong answers", Link: "javascript:alert(1)"},
		}},
	"bars-empty": &Bars{},
}

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

// wellFormed checks that a picture is XML without a script, and that all is in place.
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
		Title: "Point reads",
		Axis:  Axis{Label: "µs per row", Format: func(v float64) string { return fmt.Sprintf("%g µs", v) }},
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
	f := &Flame{Title: "Where the time goes", Format: func(ms float64) string { return fmt.Sprintf("%g ms", ms) }, Stacks: []Stack{
		{Frames: []Frame{{Name: "main"}, {Name: "query"}}, First: 3},
		{Frames: []Frame{{Name: "main"}, {Name: "insert"}}, First: 1},
	}}
	var picture strings.Builder
	if err := WriteSVG(&picture, f); err != nil {
		fmt.Println(err)
	}
	_, tip, _ := strings.Cut(picture.String(), "<title>query")
	fmt.Println(strings.Split(tip, "<")[0])
	// Output: : 3 ms, 75.0 %
}
