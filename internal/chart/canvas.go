package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// point is a position in pixels from the upper left corner of the picture.
type point struct{ x, y float64 }

// paint is a color with an opacity between 0 and 1. The zero paint is invisible.
type paint struct {
	role    role
	opacity float64
}

func solid(r role) paint { return paint{r, 1} }

type stroke struct {
	paint
	width float64
	dash  []float64 // lengths of dashes and gaps in pixels; nil: a solid line
	round bool      // line ends are round, and a line of length 0 is a dot
}

// markStroke is how the line of a [Mark] is drawn.
var markStroke = stroke{paint: solid(rule), width: 1.5, dash: []float64{5, 3}}

func thin(r role) stroke { return stroke{paint: solid(r), width: 1} }

// Shapes are the parts of a picture.
type (
	rectShape struct {
		x, y, w, h float64
		fill       paint
	}
	// pathShape is several lines. If fill is visible, it is several closed polygons.
	pathShape struct {
		lines  [][]point
		fill   paint
		stroke stroke
	}
	textShape struct {
		x, y   float64 // position of the anchor, on the base line
		anchor anchor
		size   float64
		heavy  bool
		up     bool // the text is rotated, so that it is read from bottom to top
		paint  paint
		text   string
	}
	// markShape is a group of shapes that together show one datum.
	markShape struct {
		tip, link string
		shapes    []any
	}
)

// anchor is the part of a text that is at the text's position.
type anchor int

const (
	atStart anchor = iota
	atMiddle
	atEnd
)

type canvas struct {
	width, height float64
	title, desc   string
	shapes        []any
	into          *[]any // receives new shapes: c.shapes, or the shapes of a mark
	left          int    // number of values that could not be drawn
	whiskers      bool   // intervals are shown as lines with ends
	bands         bool   // intervals are shown as areas
	notes         []string
}

// newCanvas returns a canvas with its title, and the y below the title. The parameter "width" is the
// canvas's width in pixels; a width outside the limits of charts is replaced by the nearest limit. If it is
// 0 or less, the canvas is [Page] pixels wide.
func newCanvas(title string, width int) (*canvas, float64) {
	if width <= 0 {
		width = Page
	}
	c := &canvas{width: float64(min(max(width, 280), 4000)), title: clean(title)}
	c.into = &c.shapes
	y := float64(padding)
	for _, s := range wrap(c.title, large, true, c.width-2*padding, 3) {
		y += 20
		c.label(textShape{x: padding, y: y - 4, size: large, heavy: true, paint: solid(ink), text: s}, 0)
	}
	if y > padding {
		y += 6
	}
	return c, y
}

func (c *canvas) add(shape any) { *c.into = append(*c.into, shape) }

func (c *canvas) rect(x, y, w, h float64, fill paint) {
	if w < 0 {
		x, w = x+w, -w
	}
	c.add(rectShape{x, y, w, h, fill})
}

func (c *canvas) line(s stroke, points ...point) {
	c.add(pathShape{lines: [][]point{points}, stroke: s})
}

func (c *canvas) polygon(fill paint, points ...point) {
	c.add(pathShape{lines: [][]point{points}, fill: fill})
}

// text draws a text. If the parameter "most" is not 0, it is the greatest width in pixels, and a wider
// text is cut.
func (c *canvas) text(x, y float64, a anchor, size float64, r role, text string, most float64) {
	c.label(textShape{x: x, y: y, anchor: a, size: size, paint: solid(r), text: text}, most)
}

func (c *canvas) label(t textShape, most float64) {
	t.text = clean(t.text)
	if most > 0 {
		t.text = shorten(t.text, t.size, t.heavy, most)
	}
	if t.text != "" {
		c.add(t)
	}
}

// mostLines is the greatest number of lines of a text in a tooltip. If the text has more lines, the
// last line of the tooltip has all other lines.
const mostLines = 20

// mark draws shapes that show one datum, by calling the function "draw". The tooltip is shown when
// the user points at the shapes.
func (c *canvas) mark(tip []string, link string, draw func()) {
	m, outer := markShape{link: safeLink(link)}, c.into
	for _, lines := range tip {
		for _, s := range strings.SplitN(lines, "\n", mostLines) {
			if s = clean(strings.TrimSpace(s)); s != "" {
				m.tip += "\n" + s
			}
		}
	}
	m.tip = strings.TrimPrefix(m.tip, "\n")
	c.into = &m.shapes
	draw()
	c.into = outer
	c.add(m)
}

// padding is the space, in pixels, around a picture.
const padding = 10

// note adds a sentence to the notes below the picture and to the picture's description.
func (c *canvas) note(format string, args ...any) {
	c.notes = append(c.notes, clean(fmt.Sprintf(format, args...)))
}

// foot finishes the picture: at y it writes the notes and the number of values that could not
// be drawn.
func (c *canvas) foot(y float64, desc ...string) *canvas {
	if c.left > 0 {
		c.note("%s left out: not a number, infinite, or too small for the axis", count(c.left, "value", "values"))
	}
	for _, n := range c.notes {
		for _, s := range wrap(n, small, false, c.width-2*padding, 3) {
			y += 15
			c.text(padding, y, atStart, small, faint, s, 0)
		}
	}
	if len(c.notes) > 0 {
		y += 4
	}
	c.height = math.Ceil(y + padding)
	desc = slices.DeleteFunc(append(desc, c.notes...), func(s string) bool { return s == "" })
	c.desc = clean(strings.Join(desc, ". "))
	if c.desc != "" {
		c.desc += "."
	}
	return c
}

// target draws an almost transparent rectangle over a whole row, so that the row's tooltip is shown
// anywhere in it.
func (c *canvas) target(y, high float64) {
	c.rect(padding, y, c.width-2*padding, high, paint{background, 0.01})
}

// words returns the color of a row's text. The parameter "reason" is the row's Reason field: if
// there is a reason, the text is faint, otherwise it has the color ink.
func words(reason string) role {
	if reason != "" {
		return faint
	}
	return ink
}

func (c *canvas) nothing(y float64) *canvas {
	c.text(padding, y+16, atStart, normal, faint, "nothing to draw", 0)
	return c.foot(y+22, "nothing to draw")
}

// markers has the different markers, each with its corners. The sizes give all of them about the same
// area. Series are distinguished by markers and dashes as well as by color.
var markers = []struct {
	size    float64
	corners []point
}{
	{}, // a dot
	{0.9, []point{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}}, // square
	{1.2, []point{{0, -1}, {1, 0.8}, {-1, 0.8}}},       // triangle
	{1.3, []point{{0, -1}, {1, 0}, {0, 1}, {-1, 0}}},   // diamond
	{1.2, []point{{0, 1}, {1, -0.8}, {-1, -0.8}}},      // triangle that points down
	{1, []point{{-0.45, -1.3}, {0.45, -1.3}, {0.45, -0.45}, {1.3, -0.45}, {1.3, 0.45}, {0.45, 0.45},
		{0.45, 1.3}, {-0.45, 1.3}, {-0.45, 0.45}, {-1.3, 0.45}, {-1.3, -0.45}, {-0.45, -0.45}}}, // plus
}

var dashes = [][]float64{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}, {4, 3}}

// marker draws the marker of a series at x, y.
func (c *canvas) marker(l Look, x, y, r float64, p paint) {
	m := markers[(l.Mark-1)%len(markers)]
	if m.corners == nil {
		c.line(stroke{paint: p, width: 2 * r, round: true}, point{x, y}, point{x, y})
		return
	}
	var corners []point
	for _, at := range m.corners {
		corners = append(corners, point{x + r*m.size*at.x, y + r*m.size*at.y})
	}
	c.polygon(p, corners...)
}

// legend draws the names of series, and returns the y at which it ends. The function "sample"
// draws an example of the i-th series, 22 pixels wide, centered at x, y.
func (c *canvas) legend(y float64, names []string, sample func(i int, x, y float64)) float64 {
	if len(names) == 0 {
		return y
	}
	x := float64(padding)
	for i, name := range names {
		name = shorten(clean(name), small, false, min(220, c.width-2*padding-28))
		w := 28 + measure(name, small, false)
		if x > padding && x+w > c.width-padding {
			x, y = padding, y+18
		}
		sample(i, x+11, y+9)
		c.text(x+27, y+13, atStart, small, ink, name, 0)
		x += w + 14
	}
	return y + 24
}
