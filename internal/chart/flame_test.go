package chart

import (
	"strings"
	"testing"
)

func TestLabel(t *testing.T) {
	step := Frame{Name: "modernc.org/sqlite/lib._sqlite3Step", Short: []string{"lib._sqlite3Step", "_sqlite3Step"}}
	room := func(s string) float64 { return measure(s, small, false) + 1 }
	for _, c := range []struct {
		frame Frame
		wide  float64
		want  string
	}{
		{step, room(step.Name), step.Name},
		{step, room("lib._sqlite3Step"), "lib._sqlite3Step"},
		{step, room("_sqlite3Step"), "_sqlite3Step"},
		{step, room("_sqlit…"), "_sqlit…"},
		{step, room("_s…"), ""},
		{step, 3, ""},
		{Frame{Name: "sqlité"}, room("sqlité"), "sqlité"},
	} {
		if got := c.frame.label(c.wide); got != c.want {
			t.Errorf("%s in %g pixels: %q, want %q", c.frame.Name, c.wide, got, c.want)
		}
	}
}

// TestFlameMost checks that the narrowest boxes are left out if there would be more boxes than
// Most.
func TestFlameMost(t *testing.T) {
	f := &Flame{Stacks: []Stack{
		{Frames: []Frame{{Name: "main"}, {Name: "wide"}}, First: 60},
		{Frames: []Frame{{Name: "main"}, {Name: "narrow"}}, First: 30},
		{Frames: []Frame{{Name: "main"}, {Name: "narrower"}}, First: 10},
	}}
	for most, want := range map[int]int{0: 4, 4: 4, 3: 3, 2: 2, 1: 1} {
		f.Most = most
		var b strings.Builder
		if err := WriteSVG(&b, f); err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, name := range []string{"main: 100,", "wide: 60,", "narrow: 30,", "narrower: 10,"} {
			got += strings.Count(b.String(), name)
		}
		if got != want {
			t.Errorf("at most %d: %d boxes, want %d", most, got, want)
		}
	}
}
