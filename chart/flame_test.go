package chart

import "testing"

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
