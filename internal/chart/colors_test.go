package chart

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// luminance returns the relative luminance of a color as
// https://www.w3.org/TR/WCAG22/#dfn-relative-luminance defines it.
func luminance(hex string) float64 {
	r, g, b := linear(hex)
	return 0.2126*r + 0.7152*g + 0.0722*b
}

func linear(hex string) (r, g, b float64) {
	f := func(v uint8) float64 {
		c := float64(v) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	c := rgb(hex)
	return f(c.R), f(c.G), f(c.B)
}

func contrast(a, b string) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func TestContrast(t *testing.T) {
	for _, theme := range []struct {
		name string
		of   func(role) string
	}{
		{"light", func(r role) string { return colors[r].light }},
		{"dark", func(r role) string { return colors[r].dark }},
	} {
		check := func(a, b role, least float64) {
			if c := contrast(theme.of(a), theme.of(b)); c < least {
				t.Errorf("%s: %s on %s has contrast %.2f, want %g", theme.name, colors[a].name, colors[b].name, c, least)
			}
		}
		check(ink, background, 4.5)
		check(faint, background, 4.5)
		check(rule, background, 3)
		for _, r := range []role{less, more, grid} {
			check(ink, r, 4.5)
		}
		for i := range Colors {
			check(line+role(i), background, 3)
		}
		for i := range areas {
			check(ink, area+role(i), 4.5)
		}
	}
}

// TestLooks checks that the looks of many series differ. Two series with the same color must have
// different markers and different dashes.
func TestLooks(t *testing.T) {
	for i := range 2 * Colors {
		for j := range i {
			a, b := Look{}.or(i), Look{}.or(j)
			if a.role() == b.role() && ((a.Mark-b.Mark)%len(markers) == 0 || (a.Mark-b.Mark)%len(dashes) == 0) {
				t.Errorf("series %d and %d have the same color, and also the same marker or dashes", i, j)
			}
		}
	}
	if got, want := (Look{Color: 3, Mark: 2}).or(7), (Look{3, 2}); got != want {
		t.Errorf("an explicit look becomes %v, want %v", got, want)
	}
}

// TestOwnLook checks that a series with an explicit Look is drawn with that look in every kind of
// chart.
func TestOwnLook(t *testing.T) {
	third := Look{Color: 3}
	for name, c := range map[string]Chart{
		"percentiles": &Percentiles{Series: []Distribution{{Name: "a", Look: third, Points: []Percentile{{50, 1, ""}, {90, 2, ""}}}}},
		"order":       &Order{Series: []Samples{{Name: "a", Look: third, Points: []Sample{{X: 1, Y: 1}, {X: 2, Y: 2}}}}},
		"lines": &Lines{Series: []Series{{Name: "a", Look: third, Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 2}}}},
			Tail: &Tail{Series: []Series{{Name: "a", Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 2}}}}}},
		"bars":   &Bars{Rows: []Bar{{Name: "a", Look: third, Reason: "refused"}}},
		"stacks": &Stacks{Parts: []string{"p"}, Rows: []Sum{{Name: "a", Look: third, Values: []float64{1}}}},
	} {
		var b bytes.Buffer
		if err := WriteInline(&b, c, name); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "var(--chart-3)") || strings.Contains(b.String(), "var(--chart-1)") {
			t.Errorf("%s: want the color 3, and not the color 1:\n%s", name, &b)
		}
	}
}

// TestColorBlind checks that people with protanopia or deuteranopia can distinguish the colors. The
// distance of two colors in CIELAB (1976) must be at least 15. The test simulates how these people see
// colors, with the matrices of Viénot, Brettel and Mollon (1999) for linear colors.
func TestColorBlind(t *testing.T) {
	matrices := map[string][3][3]float64{
		"protanopia":   {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
		"deuteranopia": {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}},
	}
	lab := func(r, g, b float64) [3]float64 {
		f := func(v float64) float64 {
			if v > 216.0/24389 {
				return math.Cbrt(v)
			}
			return (24389.0/27*v + 16) / 116
		}
		x, y, z := f((0.4124*r+0.3576*g+0.1805*b)/0.9505), f(0.2126*r+0.7152*g+0.0722*b), f((0.0193*r+0.1192*g+0.9505*b)/1.089)
		return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
	}
	see := func(m [3][3]float64, hex string) [3]float64 {
		r, g, b := linear(hex)
		return lab(m[0][0]*r+m[0][1]*g+m[0][2]*b, m[1][0]*r+m[1][1]*g+m[1][2]*b, m[2][0]*r+m[2][1]*g+m[2][2]*b)
	}
	for name, m := range matrices {
		for theme := range 2 {
			of := func(r role) string { return []string{colors[r].light, colors[r].dark}[theme] }
			pairs := [][2]role{{less, more}}
			for i := range Colors {
				for j := range i {
					pairs = append(pairs, [2]role{line + role(i), line + role(j)})
				}
			}
			for _, p := range pairs {
				a, b := see(m, of(p[0])), see(m, of(p[1]))
				if d := math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]); d < 15 {
					t.Errorf("%s sees %s and %s (theme %d) %.1f apart, want 15", name, colors[p[0]].name, colors[p[1]].name, theme, d)
				}
			}
		}
	}
}
