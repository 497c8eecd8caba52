package chart

import (
	"cmp"
	"math"
	"slices"
)

// Scatter shows each item as a named point, such as the time and the memory of a driver.
type Scatter struct {
	X, Y  Axis
	Kinds []ItemKind
	Items []Item
}

// ItemKind is a kind of items in a [Scatter]. Items of a kind look alike.
type ItemKind struct {
	Name string // name in the legend
	Look Look   // the zero Look means the default look for the kind's index
}

// Item is a point of a [Scatter].
type Item struct {
	Name string
	Kind int // index into Kinds
	X, Y float64
	Tip  string // additional lines of the tooltip
}

const itemRadius = 5

func (s *Scatter) draw(title string, width int) *canvas {
	c, y := newCanvas(title, width)
	var xs, ys extent
	var items []Item
	for _, it := range s.Items {
		if usable(it.X, false) && usable(it.Y, false) && it.Kind < len(s.Kinds) {
			xs.add(it.X)
			ys.add(it.Y)
			items = append(items, it)
		} else {
			c.left++
		}
	}
	sx, okX := xs.scale(xs.log(), false)
	sy, okY := ys.scale(ys.log(), false)
	if !okX || !okY {
		return c.nothing(y)
	}
	sx.pad(0.1)
	sy.pad(0.12)
	looks := make([]Look, len(s.Kinds))
	for i, k := range s.Kinds {
		looks[i] = k.Look.or(i)
	}
	y = s.legend(c, y, items, looks)
	height := plotHeight(c.width)
	y = c.above(y, s.Y.Label, sy.log)
	area := c.newPlot(y, s.Y.besides(sy, height), height, sx, sy, s.Y)
	foot := c.across(area, s.X.across(area.x, nil), withLog(s.X.Label, sx.log))
	places := placeNames(area, items)
	for i, it := range items {
		at := area.at(it.X, it.Y)
		tip := []string{it.Name, s.X.Label + ": " + s.X.format(it.X), s.Y.Label + ": " + s.Y.format(it.Y), s.Kinds[it.Kind].Name, it.Tip}
		c.mark(tip, "", func() {
			c.marker(looks[it.Kind], at.x, at.y, itemRadius, solid(looks[it.Kind].role()))
			c.text(places[i].x, places[i].y+8, atStart, small, ink, it.Name, 0)
		})
	}
	return c.foot(foot, count(len(items), "point", "points"), s.X.Label, s.Y.Label)
}

// legend names the kinds that have items.
func (s *Scatter) legend(c *canvas, y float64, items []Item, looks []Look) float64 {
	var names []string
	var shown []Look
	for i, k := range s.Kinds {
		if slices.ContainsFunc(items, func(it Item) bool { return it.Kind == i }) {
			names, shown = append(names, k.Name), append(shown, looks[i])
		}
	}
	return c.legend(y, names, func(i int, x, y float64) { c.marker(shown[i], x, y, itemRadius, solid(shown[i].role())) })
}

type nameBox struct{ x, y, w, h float64 }

// overlap returns the area that two boxes share.
func (b nameBox) overlap(other nameBox) float64 {
	w := min(b.x+b.w, other.x+other.w) - max(b.x, other.x)
	h := min(b.y+b.h, other.y+other.h) - max(b.y, other.y)
	return max(w, 0) * max(h, 0)
}

// placeNames returns the boxes of the items' names. Each name is near its point, at the place where
// it overlaps other names, points and the plot's edge the least.
func placeNames(area plot, items []Item) []nameBox {
	const high, gap = 12, itemRadius + 3
	places := make([]nameBox, len(items))
	var taken []nameBox
	for _, it := range items {
		at := area.at(it.X, it.Y)
		taken = append(taken, nameBox{at.x - itemRadius, at.y - itemRadius, 2 * itemRadius, 2 * itemRadius})
	}
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(items[i].X, items[j].X) })
	inside := nameBox{area.left, area.top, area.right - area.left, area.bottom - area.top}
	for _, i := range order {
		at, w := area.at(items[i].X, items[i].Y), measure(clean(items[i].Name), small, false)
		best := math.Inf(1)
		for _, b := range []nameBox{
			{at.x + gap, at.y - high/2, w, high}, {at.x - gap - w, at.y - high/2, w, high},
			{at.x - w/2, at.y - gap - high, w, high}, {at.x - w/2, at.y + gap, w, high},
			{at.x + gap, at.y - gap - high/2, w, high}, {at.x + gap, at.y + gap - high/2, w, high},
			{at.x - gap - w, at.y - gap - high/2, w, high}, {at.x - gap - w, at.y + gap - high/2, w, high},
			{at.x - w/2, at.y - gap - 2*high, w, high}, {at.x - w/2, at.y + gap + high, w, high},
		} {
			covers := w*high - b.overlap(inside) // the area of the name outside the plot
			for _, t := range taken {
				covers += b.overlap(t)
			}
			if covers < best {
				best, places[i] = covers, b
			}
		}
		taken = append(taken, places[i])
	}
	return places
}

func (s *Scatter) table() (columns []string, rows [][]string) {
	columns = []string{"name", cmp.Or(s.X.Label, "x"), cmp.Or(s.Y.Label, "y"), "kind"}
	for _, it := range s.Items {
		if usable(it.X, false) && usable(it.Y, false) && it.Kind < len(s.Kinds) {
			rows = append(rows, []string{it.Name, s.X.format(it.X), s.Y.format(it.Y), s.Kinds[it.Kind].Name})
		}
	}
	return columns, rows
}
