package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Stack is a chain of functions, in which each function calls the next one. It has a weight, such
// as CPU time.
type Stack struct {
	Frames []Frame // the outermost function first
	First  float64
	Second float64 // weight on the second side if the graph compares two sides; otherwise 0
}

// Frame is a function.
type Frame struct {
	Name  string
	Short []string // shorter names, the longest first; the first that fits is shown if Name does not fit
	Group string   // decides the color
}

// Flame is a flame graph. It has a box for each function. The box is as wide as the weight of the
// function together with the functions that it calls, whose boxes are above it. See
// https://www.brendangregg.com/flamegraphs.html.
type Flame struct {
	Stacks []Stack

	// Least is the least width of a box in pixels if the chart is drawn in a width that the caller
	// requests. Narrower boxes are left out. In the default width, and if Least is below 0.3, the
	// least width is 0.3.
	Least float64

	// Most is the greatest number of boxes. If there would be more boxes, the narrowest boxes are left out.
	// 0 means no limit.
	Most int

	// Groups has the groups in the order of the legend, which also decides their colors.
	Groups []string

	// Format formats a weight; nil means a plain number.
	Format func(float64) string

	// First and Second are the names of the compared sides, such as two drivers. If Second is not
	// "", the graph shows the difference: a box is as wide as the weights of both sides together.
	// The more the second side weighs, the redder the box; the less it weighs, the bluer.
	First, Second string
}

const (
	flameRow      = 18  // height of a row in pixels
	flameNarrow   = 0.3 // in pixels; narrower boxes are always left out
	flameMostRows = 400 // greatest number of rows; deeper boxes are left out
)

type node struct {
	frame         Frame
	first, second float64
	children      map[string]*node
}

func (n *node) weight() float64 { return n.first + n.second }

// sorted returns the children sorted by name, so that equal input results in equal pictures.
func (n *node) sorted() []*node {
	list := slices.Collect(maps.Values(n.children))
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

func (f *Flame) draw(title string, width int) *canvas {
	least := flameNarrow
	if width <= 0 {
		width = 1200
	} else {
		least = max(f.Least, flameNarrow)
	}
	c, y := newCanvas(title, width)
	root := &node{frame: Frame{Name: "all"}}
	for _, s := range f.Stacks {
		if !weighs(s.First) || !weighs(s.Second) {
			c.left++
			continue
		}
		root.add(s)
	}
	if root.weight() <= 0 {
		return c.nothing(y)
	}
	p := &flamePainter{flame: f, canvas: c, total: root.weight(), least: least}
	if widths := p.widths(root, nil); f.Most > 0 && len(widths) > f.Most {
		slices.Sort(widths)
		p.least = math.Nextafter(widths[len(widths)-1-f.Most], math.Inf(1))
	}
	y = p.legend(y) + flameRow*float64(p.depth(root, 1))
	p.boxes(root, padding, y-flameRow, 1)
	if p.tooDeep {
		c.text(padding, y+14, atStart, small, faint, fmt.Sprintf("deeper than %d functions: left out", flameMostRows), 0)
		y += 18
	}
	return c.foot(y, "A flame graph: a box for each function, as wide as its own weight and that of the functions above it, in all "+f.format(p.total))
}

// weighs reports whether a weight can be drawn: it is finite and not negative.
func weighs(v float64) bool { return usable(v, false) && v >= 0 }

func (f *Flame) format(v float64) string { return Axis{Format: f.Format}.format(v) }

type flamePainter struct {
	flame   *Flame
	canvas  *canvas
	total   float64
	least   float64 // least width of a box in pixels; narrower boxes are left out
	tooDeep bool
}

func (p *flamePainter) wide(n *node) float64 {
	return n.weight() / p.total * (p.canvas.width - 2*padding)
}

func (p *flamePainter) widths(n *node, list []float64) []float64 {
	for _, c := range n.children {
		if w := p.wide(c); w >= p.least {
			list = p.widths(c, append(list, w))
		}
	}
	return list
}

func (p *flamePainter) depth(n *node, row int) int {
	deepest := 0
	for _, c := range n.children {
		if p.wide(c) < p.least {
			continue
		}
		if row == flameMostRows {
			p.tooDeep = true
			continue
		}
		deepest = max(deepest, p.depth(c, row+1))
	}
	return deepest + 1
}

func (p *flamePainter) boxes(n *node, x, y float64, row int) {
	w := p.wide(n)
	p.canvas.mark([]string{p.tip(n)}, "", func() {
		p.canvas.rect(x, y, max(w-0.5, 0.2), flameRow-1, p.paint(n))
		p.canvas.text(x+3, y+12.5, atStart, small, ink, n.frame.label(w-6), 0)
	})
	for _, c := range n.sorted() {
		if p.wide(c) >= p.least && row < flameMostRows {
			p.boxes(c, x, y-flameRow, row+1)
		}
		x += p.wide(c)
	}
}

// label returns the text for the box of a function. The parameter "wide" is the width of the box
// in pixels. The text is "" if there is no room for the beginning of any of the function's names.
func (f Frame) label(wide float64) string {
	if wide < 8 {
		return ""
	}
	name := clean(f.Name)
	for _, short := range f.Short {
		if measure(name, small, false) <= wide {
			break
		}
		name = clean(short)
	}
	if name = shorten(name, small, false, wide); len([]rune(name)) < 4 && strings.HasSuffix(name, "…") {
		return ""
	}
	return name
}

func (p *flamePainter) tip(n *node) string {
	f, name := p.flame, clean(n.frame.Name)
	if f.Second == "" {
		words := fmt.Sprintf("%s: %s, %.1f%%", name, f.format(n.first), 100*n.first/p.total)
		if n.frame.Group != "" {
			words += " (" + n.frame.Group + ")"
		}
		return words
	}
	return fmt.Sprintf("%s: %s %s, %s %s", name, f.First, f.format(n.first), f.Second, f.format(n.second))
}

func (p *flamePainter) paint(n *node) paint {
	if p.flame.Second != "" {
		return shade((n.second - n.first) / n.weight())
	}
	if i := slices.Index(p.flame.Groups, n.frame.Group); i >= 0 {
		return solid(areaColor(i))
	}
	return solid(grid)
}

func shade(difference float64) paint {
	if difference < 0 {
		return paint{less, max(-difference, 0.12)}
	}
	return paint{more, max(difference, 0.12)}
}

func (p *flamePainter) legend(y float64) float64 {
	f := p.flame
	var names []string
	var paints []paint
	if f.Second != "" {
		names = []string{"less in " + f.Second, "the same", "more in " + f.Second + " (width: both together)"}
		paints = []paint{shade(-1), shade(0), shade(1)}
	}
	for i, g := range f.Groups {
		if f.Second == "" && slices.ContainsFunc(f.Stacks, func(s Stack) bool {
			return slices.ContainsFunc(s.Frames, func(fr Frame) bool { return fr.Group == g })
		}) {
			names, paints = append(names, g), append(paints, solid(areaColor(i)))
		}
	}
	return p.canvas.legend(y, names, func(i int, x, y float64) {
		p.canvas.rect(x-6, y-6, 12, 12, paints[i])
	})
}

// table lists the functions. For each side it has the weight of a function together with the
// functions that it calls, and the weight of the function alone.
func (f *Flame) table() (columns []string, rows [][]string) {
	columns = []string{"function", "group"}
	sides := []string{"with callees", "itself"}
	if f.Second == "" {
		columns = append(columns, sides...)
	} else {
		columns = append(columns, f.First+" "+sides[0], f.First+" "+sides[1], f.Second+" "+sides[0], f.Second+" "+sides[1])
	}
	type weight struct{ all, own [2]float64 }
	type function struct{ name, group string }
	weights := map[function]*weight{}
	for _, s := range f.Stacks {
		if !weighs(s.First) || !weighs(s.Second) {
			continue
		}
		seen := map[function]bool{}
		for i, frame := range s.Frames {
			of := function{frame.Name, frame.Group}
			w := weights[of]
			if w == nil {
				w = &weight{}
				weights[of] = w
			}
			for side, v := range []float64{s.First, s.Second} {
				if !seen[of] {
					w.all[side] += v
				}
				if i == len(s.Frames)-1 {
					w.own[side] += v
				}
			}
			seen[of] = true
		}
	}
	list := slices.Collect(maps.Keys(weights))
	slices.SortFunc(list, func(a, b function) int {
		wa, wb := weights[a].all, weights[b].all
		return cmp.Or(cmp.Compare(wb[0]+wb[1], wa[0]+wa[1]), strings.Compare(a.name, b.name), strings.Compare(a.group, b.group))
	})
	for _, of := range list {
		w := weights[of]
		row := []string{of.name, of.group, f.format(w.all[0]), f.format(w.own[0])}
		if f.Second != "" {
			row = append(row, f.format(w.all[1]), f.format(w.own[1]))
		}
		rows = append(rows, row)
	}
	return columns, rows
}
