package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func frames(group string, names ...string) (list []Frame) {
	for _, n := range names {
		list = append(list, Frame{Name: n, Group: group})
	}
	return list
}

func number(v float64) string { return fmt.Sprint(v) }

var hostile = `</text><script>alert("x")</script> & ]]>` + "\x1b[31m\x00"

var flames = map[string]*Flame{
	"flame": {Title: "A & B", Groups: []string{"red", "blue"}, Format: number, Stacks: []Stack{
		{Frames: frames("red", "main", "work"), First: 60},
		{Frames: append(frames("red", "main"), frames("blue", "rest")...), First: 39},
		{Frames: frames("blue", "main", hostile), First: 20},
		{Frames: frames("red", "main", "too small to see"), First: 0.001},
	}},
	"difference": {Title: "Two", First: "a", Second: "b", Format: number, Stacks: []Stack{
		{Frames: frames("", "main", "work"), First: 60},
		{Frames: frames("", "main", "work"), Second: 90},
		{Frames: frames("", "main", "new"), Second: 10},
	}},
	"empty": {Title: "Nothing", Format: number},
}

func TestGolden(t *testing.T) {
	for name, f := range flames {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := f.WriteSVG(&b); err != nil {
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

// wellFormed checks that a picture is XML without a script.
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
		if e, ok := token.(xml.StartElement); ok {
			if !strings.Contains(" svg g rect text title ", " "+e.Name.Local+" ") {
				t.Errorf("element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "alert") {
					t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		}
	}
}

func ExampleFlame_WriteSVG() {
	f := &Flame{Title: "Where the time goes", Format: func(ms float64) string { return fmt.Sprintf("%g ms", ms) }, Stacks: []Stack{
		{Frames: []Frame{{Name: "main"}, {Name: "query"}}, First: 3},
		{Frames: []Frame{{Name: "main"}, {Name: "insert"}}, First: 1},
	}}
	var picture strings.Builder
	if err := f.WriteSVG(&picture); err != nil {
		fmt.Println(err)
	}
	_, tooltip, _ := strings.Cut(picture.String(), "<title>query")
	fmt.Println(strings.Split(tooltip, "<")[0])
	// Output: : 3 ms, 75.0 %
}

func TestLabel(t *testing.T) {
	step := Frame{Name: "modernc.org/sqlite/lib._sqlite3Step", Short: []string{"lib._sqlite3Step", "_sqlite3Step"}}
	for _, c := range []struct {
		frame Frame
		most  int
		want  string
	}{
		{step, 40, step.Name},
		{step, 16, "lib._sqlite3Step"},
		{step, 12, "_sqlite3Step"},
		{step, 7, "_sqlit…"},
		{step, 3, ""},
		{Frame{Name: "sqlité"}, 6, "sqlité"},
		{Frame{Name: "sqlité"}, 5, "sqli…"},
	} {
		if got := c.frame.label(c.most); got != c.want {
			t.Errorf("%s in %d letters: %q, want %q", c.frame.Name, c.most, got, c.want)
		}
	}
}
