package chart

import (
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

type raster struct {
	image *image.RGBA
	scale float64
	fill  vector.Rasterizer
}

func writePNG(w io.Writer, c *canvas, scale float64) error {
	const most = 100_000_000
	width, height := math.Ceil(c.width*scale), math.Ceil(c.height*scale)
	if !(width >= 1 && height >= 1 && width*height <= most) {
		return fmt.Errorf("chart: an image of %g × %g pixels at scale %g: it must have at least 1 and at most %d", c.width, c.height, scale, most)
	}
	r := &raster{image: image.NewRGBA(image.Rect(0, 0, int(width), int(height))), scale: scale}
	draw.Draw(r.image, r.image.Bounds(), solid(background).image(), image.Point{}, draw.Src)
	r.shapes(c.shapes)
	return png.Encode(w, r.image)
}

func (r *raster) shapes(list []any) {
	for _, shape := range list {
		switch s := shape.(type) {
		case rectShape:
			r.paint(s.fill, []point{{s.x, s.y}, {s.x + s.w, s.y}, {s.x + s.w, s.y + s.h}, {s.x, s.y + s.h}})
		case pathShape:
			if s.fill.opacity > 0 {
				r.paint(s.fill, s.lines...)
			}
			if s.stroke.opacity > 0 {
				r.stroke(s)
			}
		case textShape:
			r.text(s)
		case markShape:
			r.shapes(s.shapes)
		}
	}
}

func (r *raster) paint(p paint, polygons ...[]point) {
	r.paintPath(p, bounds(polygons), func(path *vector.Rasterizer, left, top float64) {
		for _, corners := range polygons {
			r.polygon(path, left, top, corners)
		}
	})
}

func (r *raster) polygon(path *vector.Rasterizer, left, top float64, corners []point) {
	for i, at := range corners {
		x, y := float32(at.x*r.scale-left), float32(at.y*r.scale-top)
		if i == 0 {
			path.MoveTo(x, y)
		} else {
			path.LineTo(x, y)
		}
	}
	path.ClosePath()
}

type box struct{ left, top, right, bottom float64 }

func bounds(lines [][]point) box {
	b := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, l := range lines {
		for _, at := range l {
			b = box{min(b.left, at.x), min(b.top, at.y), max(b.right, at.x), max(b.bottom, at.y)}
		}
	}
	return b
}

// paintPath fills the path that the function "build" draws. The box must contain the whole path;
// only pixels in the box are computed.
func (r *raster) paintPath(p paint, b box, build func(path *vector.Rasterizer, left, top float64)) {
	if p.opacity <= 0 || !(b.left <= b.right) {
		return
	}
	area := image.Rect(int(math.Floor(b.left*r.scale)), int(math.Floor(b.top*r.scale)),
		int(math.Ceil(b.right*r.scale))+1, int(math.Ceil(b.bottom*r.scale))+1)
	// Only the part of the area inside the image is filled. The rasterizer clips the path to that part.
	if area = area.Intersect(r.image.Bounds()); area.Empty() {
		return
	}
	r.fill.Reset(area.Dx(), area.Dy())
	build(&r.fill, float64(area.Min.X), float64(area.Min.Y))
	r.fill.Draw(r.image, area, p.image(), image.Point{})
}

// stroke fills the area of a line: a rectangle for each piece, and a circle where pieces meet. All
// these shapes are drawn in the same direction of rotation, because otherwise the rasterizer
// subtracts them from each other.
func (r *raster) stroke(s pathShape) {
	half := s.stroke.width / 2
	b := bounds(s.lines)
	b = box{b.left - half, b.top - half, b.right + half, b.bottom + half}
	r.paintPath(s.stroke.paint, b, func(path *vector.Rasterizer, left, top float64) {
		for _, l := range s.lines {
			for _, piece := range dashed(l, s.stroke.dash) {
				for i, at := range piece {
					if s.stroke.round && half > 0.5 || i > 0 && i < len(piece)-1 && half > 0.7 {
						r.polygon(path, left, top, circle(at, half))
					}
					if i == 0 {
						continue
					}
					from := piece[i-1]
					length := math.Hypot(at.x-from.x, at.y-from.y)
					if length == 0 {
						continue
					}
					dx, dy := (at.x-from.x)/length*half, (at.y-from.y)/length*half
					r.polygon(path, left, top, []point{{from.x + dy, from.y - dx}, {at.x + dy, at.y - dx}, {at.x - dy, at.y + dx}, {from.x - dy, from.y + dx}})
				}
			}
		}
	})
}

func circle(center point, radius float64) []point {
	const corners = 24
	list := make([]point, corners)
	for i := range list {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		list[i] = point{center.x + radius*cos, center.y + radius*sin}
	}
	return list
}

func dashed(l []point, dash []float64) [][]point {
	if len(dash) == 0 {
		return [][]point{l}
	}
	var list [][]point
	next, left, on := 0, dash[0], true
	for i := range l {
		if i == 0 {
			list = append(list, []point{l[0]})
			continue
		}
		from, to := l[i-1], l[i]
		length := math.Hypot(to.x-from.x, to.y-from.y)
		done := 0.0
		for length-done > left {
			done += left
			at := point{from.x + (to.x-from.x)*done/length, from.y + (to.y-from.y)*done/length}
			if on {
				list[len(list)-1] = append(list[len(list)-1], at)
			} else {
				list = append(list, []point{at})
			}
			on, next = !on, (next+1)%len(dash)
			left = dash[next]
		}
		left -= length - done
		if on {
			list[len(list)-1] = append(list[len(list)-1], to)
		}
	}
	return list
}

func (r *raster) text(t textShape) {
	f, err := opentype.NewFace(face(t.heavy).font, &opentype.FaceOptions{Size: t.size * r.scale, DPI: 72})
	if err != nil {
		panic(err) // cannot happen: the font is part of the program
	}
	d := font.Drawer{Dst: r.image, Src: t.paint.image(), Face: f}
	wide, high := float64(d.MeasureString(t.text))/64, t.size*r.scale
	begin := -wide * float64(t.anchor) / 2
	at := func(x, y float64) fixed.Point26_6 {
		return fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}
	}
	if !t.up {
		d.Dot = at(t.x*r.scale+begin, t.y*r.scale)
		d.DrawString(t.text)
		return
	}
	across := image.NewAlpha(image.Rect(0, 0, int(wide)+2, int(1.5*high)))
	up := image.NewAlpha(image.Rect(0, 0, across.Rect.Dy(), across.Rect.Dx()))
	d.Dst, d.Src, d.Dot = across, image.Opaque, at(0, high)
	d.DrawString(t.text)
	for x := range up.Rect.Dy() {
		for y := range up.Rect.Dx() {
			up.SetAlpha(y, up.Rect.Dy()-1-x, across.AlphaAt(x, y))
		}
	}
	corner := image.Pt(int(t.x*r.scale-high), int(t.y*r.scale-begin)-up.Rect.Dy())
	draw.DrawMask(r.image, up.Rect.Add(corner), t.paint.image(), image.Point{}, up, image.Point{}, draw.Over)
}

// image returns the color as an image without bounds.
func (p paint) image() image.Image {
	c := rgb(colors[p.role].light)
	c.A = uint8(math.Round(255 * min(p.opacity, 1)))
	return image.NewUniform(c)
}
