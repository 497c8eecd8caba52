package chart

import (
	"fmt"
	"image/color"
	"strings"
)

type role int

const (
	background role = iota
	ink             // text
	faint           // less important text
	rule            // axes, and lines at values with which other values are compared
	grid
	less // in heat maps: ratios below 1
	more
	line                 // first color of series
	area = line + Colors // first color of areas that have text on them
)

// Colors is the number of different colors of series. Further series use the colors again.
const Colors = 8

const areas = 11

// colors has the name of each role, and its color on light and on dark backgrounds. The colors of
// lines are from Okabe and Ito, https://jfly.uni-koeln.de/color/, and from Paul Tol,
// https://personal.sron.nl/~pault/: they are the colors that have enough contrast and differ the
// most for people with color blindness. The colors of areas are Paul Tol's light scheme and, on
// dark backgrounds, darker versions of it.
var colors = [area + areas]struct{ name, light, dark string }{
	background: {"background", "#ffffff", "#16191d"},
	ink:        {"text", "#1c1f23", "#e9ecef"},
	faint:      {"faint", "#5c636b", "#a3abb4"},
	rule:       {"rule", "#6d747c", "#8d959e"},
	grid:       {"grid", "#e3e6e9", "#2c3138"},
	less:       {"less", "#5aa5dc", "#17679f"},
	more:       {"more", "#ee8f5a", "#a3501c"},

	line + 0: {"1", "#0072b2", "#56b4e9"},
	line + 1: {"2", "#d55e00", "#ee7733"},
	line + 2: {"3", "#009e73", "#009988"},
	line + 3: {"4", "#aa3377", "#ee3377"},
	line + 4: {"5", "#333333", "#dddddd"},
	line + 5: {"6", "#332288", "#0072b2"},
	line + 6: {"7", "#cc79a7", "#ddcc77"},
	line + 7: {"8", "#117733", "#f0e442"},

	area + 0:  {"area-1", "#77aadd", "#2c5f92"},
	area + 1:  {"area-2", "#ee8866", "#9c4a2c"},
	area + 2:  {"area-3", "#44bb99", "#1f6e58"},
	area + 3:  {"area-4", "#ffaabb", "#8f4a60"},
	area + 4:  {"area-5", "#bbcc33", "#5f6a10"},
	area + 5:  {"area-6", "#99ddff", "#27647f"},
	area + 6:  {"area-7", "#eedd88", "#75661c"},
	area + 7:  {"area-8", "#c8b8e0", "#5d4a80"},
	area + 8:  {"area-9", "#aaaa00", "#6b6b00"},
	area + 9:  {"area-10", "#c9ad93", "#6b523b"},
	area + 10: {"area-11", "#dddddd", "#555b62"},
}

// Properties returns the custom properties of CSS that color charts in a page, light or dark,
// as declarations to put between braces: --chart-background, --chart-text, --chart-faint (less
// important text), --chart-rule, --chart-grid, --chart-less and --chart-more (ratios below and
// above 1 in heat maps), --chart-1 to --chart-8 (series), and --chart-area-1 to
// --chart-area-11 (areas with text on them).
func Properties(dark bool) string {
	var b strings.Builder
	for _, c := range colors {
		value := c.light
		if dark {
			value = c.dark
		}
		fmt.Fprintf(&b, "--chart-%s: %s; ", c.name, value)
	}
	return strings.TrimSuffix(b.String(), " ")
}

// Look is the appearance of a series: its color and, for people who don't see color, its
// marker and dashes. By default the first series of a chart has look 1, the second look 2, and
// so on. A series with an explicit Look looks the same in several charts.
type Look struct {
	Color int // from 1; above [Colors], colors repeat with other markers and dashes
	Mark  int // number of the marker and dashes, from 1; 0: the default of the color
}

// The method "or" returns the look. Fields that are not set get the default for the series with the
// index "place".
func (l Look) or(place int) Look {
	if l.Color < 1 {
		l.Color = place + 1
	}
	if l.Mark < 1 {
		l.Mark = l.Color + (l.Color-1)/Colors
	}
	return l
}

func (l Look) role() role { return line + role((l.Color-1)%Colors) }

func (l Look) stroke() stroke {
	dash := dashes[(l.Mark-1)%len(dashes)]
	return stroke{paint: solid(l.role()), width: 2, dash: dash, round: dash == nil}
}

func areaColor(i int) role { return area + role(i%areas) }

func rgb(hex string) color.NRGBA {
	c := color.NRGBA{A: 255}
	_, _ = fmt.Sscanf(hex, "#%02x%02x%02x", &c.R, &c.G, &c.B) // cannot fail: all colors are constants of this package
	return c
}
