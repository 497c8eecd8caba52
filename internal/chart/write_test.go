package chart

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
)

func TestInline(t *testing.T) {
	for name, c := range charts {
		var b bytes.Buffer
		if err := WriteInline(&b, c, name); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, b.Bytes())
		root, marked, ids := xml.StartElement{}, false, 0
		d := xml.NewDecoder(&b)
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if root.Name.Local == "" {
				root = e
			}
			if e.Name.Local == "style" {
				t.Errorf("%s has a style sheet", name)
			}
			focus, mark := e.Name.Local == "a", false
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "id":
					ids++
					if !strings.HasPrefix(a.Value, name+"-") {
						t.Errorf("%s: id %q", name, a.Value)
					}
				case "tabindex":
					focus = true
				case "style", "class":
					t.Errorf("%s: attribute %s", name, a.Name.Local)
				case "data-tip":
					marked, mark = true, true
				}
			}
			if mark && (!focus || attr(e, "aria-label") == "") {
				t.Errorf("%s: a mark without a name, or that cannot be focused: %v", name, e)
			}
		}
		if role := attr(root, "role"); marked != (role == "group") || ids == 0 {
			t.Errorf("%s: role %q, %d ids, marks %v", name, role, ids, marked)
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func TestLinks(t *testing.T) {
	for link, kept := range map[string]bool{
		"#cell-1": true, "run/7?driver=a&b=c": true, "https://example.com/": true,
		"javascript:alert(1)": false, "data:text/html,x": false, "java\nscript:alert(1)": false, ":": false,
	} {
		var b bytes.Buffer
		if err := WriteInline(&b, &Bars{Rows: []Bar{{Name: "a", Value: 1, Link: link}}}, "x"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "<a href="); got != kept {
			t.Errorf("link %q kept: %v", link, got)
		}
	}
}

func TestPNG(t *testing.T) {
	for name, c := range charts {
		var b bytes.Buffer
		if err := WritePNG(&b, c, 0.5); err != nil {
			t.Fatal(err)
		}
		p, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		drawn := c.draw("", 0)
		if want := image.Pt(int(math.Ceil(drawn.width/2)), int(math.Ceil(drawn.height/2))); p.Bounds().Size() != want {
			t.Errorf("%s has %v pixels, want %v", name, p.Bounds().Size(), want)
		}
	}
	bars := &Bars{Rows: []Bar{{Name: "a", Value: 1}}}
	for _, scale := range []float64{0, -1, math.NaN(), math.Inf(1), 1e9} {
		if err := WritePNG(io.Discard, bars, scale); err == nil {
			t.Errorf("scale %v: no error", scale)
		}
	}
}

// TestPNGPixels checks the colors of pixels at known positions of shapes.
func TestPNGPixels(t *testing.T) {
	c, _ := newCanvas("", 100)
	c.height = 60
	c.rect(10, 10, 20, 20, solid(less))
	c.rect(50, 10, -10, 20, paint{more, 0.5})
	c.line(stroke{paint: solid(line), width: 4, dash: []float64{10, 10}}, point{0, 50}, point{100, 50})
	c.marker(Look{}.or(0), 80, 20, 5, solid(line+1))
	c.rect(-50, -50, 55, 55, solid(ink)) // this rectangle begins outside the image
	var b bytes.Buffer
	if err := writePNG(&b, c, 2); err != nil {
		t.Fatal(err)
	}
	p, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	half := rgb(colors[more].light)
	half.R, half.G = half.R/2+128, half.G/2+128
	for _, want := range []struct {
		x, y int
		hex  string
		r, g uint8
	}{
		{20, 20, colors[less].light, 0, 0},
		{35, 20, colors[background].light, 0, 0},
		{45, 20, "", half.R, half.G},
		{5, 50, colors[line].light, 0, 0},
		{15, 50, colors[background].light, 0, 0},
		{80, 20, colors[line+1].light, 0, 0},
		{80, 28, colors[background].light, 0, 0},
		{2, 2, colors[ink].light, 0, 0},
	} {
		wr, wg := want.r, want.g
		if want.hex != "" {
			wr, wg = rgb(want.hex).R, rgb(want.hex).G
		}
		r, g, _, _ := p.At(2*want.x, 2*want.y).RGBA()
		if math.Abs(float64(r>>8)-float64(wr)) > 2 || math.Abs(float64(g>>8)-float64(wg)) > 2 {
			t.Errorf("at %d, %d: red %d, green %d; want %d, %d", want.x, want.y, r>>8, g>>8, wr, wg)
		}
	}
}

// TestPNGText checks that text colors pixels where its letters are, and none elsewhere.
func TestPNGText(t *testing.T) {
	for _, up := range []bool{false, true} {
		c, _ := newCanvas("", 100)
		c.height = 100
		c.label(textShape{x: 50, y: 50, anchor: atMiddle, size: 20, up: up, paint: solid(ink), text: "lll"}, 0)
		var b bytes.Buffer
		if err := writePNG(&b, c, 1); err != nil {
			t.Fatal(err)
		}
		p, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		var dark image.Rectangle
		for y := range 100 {
			for x := range 100 {
				if r, _, _, _ := p.At(x, y).RGBA(); r < 0x8000 {
					dark = dark.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		want := image.Rect(42, 34, 58, 51) // the measured extent of three letters, each 5 pixels wide and 15 pixels high
		if up {
			want = image.Rect(34, 42, 51, 58)
		}
		if dark.Empty() || !dark.In(want.Inset(-2)) || dark.Dx() < want.Dx()-8 || dark.Dy() < want.Dy()-8 {
			t.Errorf("up %v: ink in %v, want %v", up, dark, want)
		}
	}
}
