// Package chart draws plain series as SVG. It knows nothing of runs.
package chart

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Stack is a chain of functions and what it weighs.
type Stack struct {
	Frames []Frame // the outermost first
	First  float64
	Second float64 // 0 if the graph has one side
}

// Frame is a function.
type Frame struct {
	Name  string
	Short []string // what is shown if the name does not fit, the longest first
	Group string   // decides its color
}

// Flame is a flame graph: a box for each function, as wide as what it and the functions
// above it weigh. See https://www.brendangregg.com/flamegraphs.html.
type Flame struct {
	Title  string
	Stacks []Stack

	// Groups orders the groups of the legend, and so their colors.
	Groups []string

	// Format formats a weight.
	Format func(float64) string

	// First and Second are the names of the sides. If Second is not "", the graph shows
	// the difference: a box is as wide as both sides together, and the redder the more
	// the second side weighs, the bluer the less.
	First, Second string
}

// The dimensions, in pixels.
const (
	width    = 1200
	margin   = 10
	row      = 17
	top      = 62
	minWidth = 0.3  // narrower boxes are left out
	letter   = 6.65 // the width of one, in every monospaced font of this size
)

// palette are colors that people with color blindness tell apart too: the light ones of
// Paul Tol's qualitative schemes, https://personal.sron.nl/~pault/.
var palette = []string{"#77aadd", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00", "#eedd88", "#ee8866", "#ffaabb", "#dddddd", "#c8b8e0", "#c9ad93"}

// node is a box.
type node struct {
	frame         Frame
	first, second float64
	children      map[string]*node
}

func (n *node) weight() float64 { return n.first + n.second }

// sorted returns the children by name, so that equal input gives an equal picture.
func (n *node) sorted() []*node {
	list := make([]*node, 0, len(n.children))
	for _, c := range n.children {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *node) int {
		return cmp.Or(strings.Compare(a.frame.Name, b.frame.Name), strings.Compare(a.frame.Group, b.frame.Group))
	})
	return list
}

func (n *node) add(s Stack) {
	n.first += s.First
	n.second += s.Second
	for _, f := range s.Frames {
		if n.children == nil {
			n.children = map[string]*node{}
		}
		key := f.Name + "\x00" + f.Group
		c := n.children[key]
		if c == nil {
			c = &node{frame: f}
			n.children[key] = c
		}
		c.first += s.First
		c.second += s.Second
		n = c
	}
}

// WriteSVG writes the graph as one SVG file without scripts.
func (f *Flame) WriteSVG(w io.Writer) error {
	root := &node{frame: Frame{Name: "all"}}
	for _, s := range f.Stacks {
		root.add(s)
	}
	p := &painter{flame: f, total: root.weight()}
	depth := 0
	if p.total > 0 {
		depth = p.depth(root)
	}
	height := top + depth*row + margin
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="monospace" font-size="11">`+"\n", width, height)
	p.printf(`<rect width="100%%" height="100%%" fill="#ffffff"/>` + "\n")
	p.printf(`<text x="%d" y="22" font-family="sans-serif" font-size="15">%s</text>`+"\n", margin, escape(f.Title))
	p.legend()
	if p.total > 0 {
		p.printf(`<text x="%d" y="22" text-anchor="end" fill="#555555">point at a box to read it</text>`+"\n", width-margin)
		p.boxes(root, margin, height-margin-row)
	} else {
		p.printf(`<text x="%d" y="%d">no samples</text>`+"\n", margin, top)
	}
	p.printf("</svg>\n")
	_, err := io.WriteString(w, p.out.String())
	return err
}

type painter struct {
	flame *Flame
	total float64
	out   strings.Builder
}

func (p *painter) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

func (p *painter) wide(n *node) float64 { return n.weight() / p.total * (width - 2*margin) }

// depth returns the number of rows that are drawn.
func (p *painter) depth(n *node) int {
	deepest := 0
	for _, c := range n.children {
		if p.wide(c) >= minWidth {
			deepest = max(deepest, p.depth(c))
		}
	}
	return deepest + 1
}

// boxes draws a function, and above it what it calls.
func (p *painter) boxes(n *node, x float64, y int) {
	w := p.wide(n)
	label := n.frame.label(int((w - 4) / letter))
	p.printf(`<g><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" rx="1" fill="%s" stroke="#ffffff" stroke-width="0.5"/>`,
		escape(p.tooltip(n)), x, y, w, row-1, p.color(n))
	if label != "" {
		p.printf(`<text x="%.1f" y="%d">%s</text>`, x+2, y+12, escape(label))
	}
	p.printf("</g>\n")
	for _, c := range n.sorted() {
		if p.wide(c) >= minWidth {
			p.boxes(c, x, y-row)
		}
		x += p.wide(c)
	}
}

// label returns what is shown of a function in a box that has room for some letters, most.
// It is "" if there is no room for the beginning of its name.
func (f Frame) label(most int) string {
	name := f.Name
	for _, short := range f.Short {
		if utf8.RuneCountInString(name) <= most {
			break
		}
		name = short
	}
	switch letters := []rune(name); {
	case len(letters) <= most:
		return name
	case most >= 4:
		return string(letters[:most-1]) + "…"
	}
	return ""
}

func (p *painter) tooltip(n *node) string {
	f := p.flame
	if f.Second == "" {
		words := fmt.Sprintf("%s: %s, %.1f %%", n.frame.Name, f.Format(n.first), 100*n.first/p.total)
		if n.frame.Group != "" {
			words += " (" + n.frame.Group + ")"
		}
		return words
	}
	return fmt.Sprintf("%s: %s %s, %s %s", n.frame.Name, f.First, f.Format(n.first), f.Second, f.Format(n.second))
}

// color returns the color of a box: of its group, or of the difference.
func (p *painter) color(n *node) string {
	if p.flame.Second != "" {
		return shade((n.second - n.first) / n.weight())
	}
	if i := slices.Index(p.flame.Groups, n.frame.Group); i >= 0 {
		return palette[i%len(palette)]
	}
	return "#eeeeee"
}

// shade returns red for 1, white for 0 and blue for -1.
func shade(difference float64) string {
	full, fade := [3]float64{0xee, 0x66, 0x55}, max(difference, -difference)
	if difference < 0 {
		full = [3]float64{0x55, 0x88, 0xdd}
	}
	var c [3]int
	for i := range c {
		c[i] = int(0xf4 + (full[i]-0xf4)*fade + 0.5)
	}
	return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
}

// legend says what the colors mean.
func (p *painter) legend() {
	f, x := p.flame, float64(margin)
	entry := func(color, words string) {
		p.printf(`<rect x="%.1f" y="34" width="11" height="11" fill="%s"/><text x="%.1f" y="44">%s</text>`+"\n", x, color, x+15, escape(words))
		x += 15 + letter*float64(utf8.RuneCountInString(words)) + 14
	}
	if f.Second != "" {
		entry(shade(-1), "less in "+f.Second)
		entry(shade(0), "the same")
		entry(shade(1), "more in "+f.Second)
		p.printf(`<text x="%.1f" y="44">width: both together</text>`+"\n", x)
		return
	}
	for i, g := range f.Groups {
		if slices.ContainsFunc(f.Stacks, func(s Stack) bool {
			return slices.ContainsFunc(s.Frames, func(fr Frame) bool { return fr.Group == g })
		}) {
			entry(palette[i%len(palette)], g)
		}
	}
}

// escape makes text of others safe in XML. What XML does not allow is replaced.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}
