package chart

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

type svg struct {
	out    strings.Builder
	inline bool
	used   map[string]string // only for files: the dark color of each class that is used
	stops  bool              // only inline: whether a mark that the Tab key reaches was already written
}

// fonts are the fonts of text in SVG files. Their letters are about as wide as the letters of the
// Go fonts, which [typeface] measures.
const fonts = `Go, Arial, Helvetica, 'Liberation Sans', 'DejaVu Sans Condensed', sans-serif`

// WriteSVG writes a chart as an SVG file without scripts. It is light or dark, as the viewer
// prefers. Marks (such as bars and points) show their tooltips when the user points at them.
func WriteSVG(w io.Writer, chart Chart) error {
	c := chart.draw("", 0)
	body := svg{used: map[string]string{}}
	body.rect(rectShape{0, 0, c.width, c.height, solid(background)})
	body.shapes(c.shapes)

	var head svg
	head.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" font-family="%s" role="img"`,
		num(c.width), num(c.height), fonts)
	head.out.WriteString(">\n")
	if c.title != "" {
		head.printf("<title>%s</title>\n", escape(c.title))
	}
	if c.desc != "" {
		head.printf("<desc>%s</desc>\n", escape(c.desc))
	}
	var dark []string
	for class, rules := range body.used {
		dark = append(dark, "."+class+"{"+rules+"}")
	}
	slices.Sort(dark)
	head.printf("<style>@media (prefers-color-scheme:dark){%s}</style>\n", strings.Join(dark, ""))
	_, err := io.WriteString(w, head.out.String()+body.out.String()+"</svg>\n")
	return err
}

// WriteInline writes a chart as an <svg> element of an HTML page. All ids in it begin with the
// parameter "id", which must be unique in the page. Colors are custom properties of CSS, which the
// page must set (see [Properties]). The page may also set the property --chart-font. If that font
// is much wider than Arial, labels may overlap. The element contains neither style nor script, so
// that a page may forbid both.
//
// Each mark can be focused, and is an <a> if its datum has a Link. The Tab key reaches only the first
// mark; the page's script must move the focus to the other marks. A mark has the attributes aria-label
// and data-tip. aria-label has the lines of the tip, separated by a comma and a space, and sometimes
// further text. If it has further text, data-tip has only the lines of the tip, separated by newlines.
// Otherwise data-tip is "", and aria-label is the text of the tip. The <svg> element has the role img
// or, if it has marks, the role group, because nothing in an image can be focused.
func WriteInline(w io.Writer, chart Chart, id string) error {
	c, s := chart.draw("", 0), svg{inline: true}
	as := "img"
	if slices.ContainsFunc(c.shapes, func(shape any) bool { _, ok := shape.(markShape); return ok }) {
		as = "group"
	}
	id = escape(id)
	s.printf(`<svg width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" font-family="var(--chart-font, %s)" role="%s"`, num(c.width), num(c.height), fonts, as)
	title, desc := c.title, c.desc
	if title == "" {
		title, desc = desc, ""
	}
	s.printf(` aria-labelledby="%s-title"`, id)
	if desc != "" {
		s.printf(` aria-describedby="%s-desc"`, id)
	}
	s.printf(">\n<title id=\"%s-title\">%s</title>\n", id, escape(title))
	if desc != "" {
		s.printf("<desc id=\"%s-desc\">%s</desc>\n", id, escape(desc))
	}
	s.shapes(c.shapes)
	s.printf("</svg>\n")
	_, err := io.WriteString(w, s.out.String())
	return err
}

func (s *svg) printf(format string, args ...any) { fmt.Fprintf(&s.out, format, args...) }

func (s *svg) shapes(list []any) {
	for _, shape := range list {
		switch shape := shape.(type) {
		case rectShape:
			s.rect(shape)
		case pathShape:
			s.path(shape)
		case textShape:
			s.text(shape)
		case markShape:
			s.mark(shape)
		}
	}
}

func (s *svg) rect(r rectShape) {
	s.printf(`<rect x="%s" y="%s" width="%s" height="%s"%s/>`+"\n", num(r.x), num(r.y), num(r.w), num(r.h), s.color("fill", r.fill))
}

func (s *svg) path(p pathShape) {
	s.out.WriteString(`<path d="`)
	for _, l := range p.lines {
		for i, at := range l {
			switch {
			case i == 0:
				s.printf("M%s %s", num(at.x), num(at.y))
			case num(at.x) == num(l[i-1].x) && num(at.y) == num(l[i-1].y):
				if len(l) == 2 {
					s.out.WriteString("h0") // a line of length 0 is drawn as a dot
				}
			case num(at.y) == num(l[i-1].y):
				s.printf("H%s", num(at.x))
			case num(at.x) == num(l[i-1].x):
				s.printf("V%s", num(at.y))
			default:
				s.printf("L%s %s", num(at.x), num(at.y))
			}
		}
		if p.fill.opacity > 0 {
			s.out.WriteString("Z")
		}
	}
	s.out.WriteString(`"`)
	s.out.WriteString(s.color("fill", p.fill))
	if p.stroke.opacity > 0 {
		s.out.WriteString(s.color("stroke", p.stroke.paint))
		if p.stroke.width != 1 {
			s.printf(` stroke-width="%s"`, num(p.stroke.width))
		}
		if p.stroke.dash != nil {
			var dash []string
			for _, d := range p.stroke.dash {
				dash = append(dash, num(d))
			}
			s.printf(` stroke-dasharray="%s"`, strings.Join(dash, " "))
		}
		if p.stroke.round {
			s.out.WriteString(` stroke-linecap="round" stroke-linejoin="round"`)
		}
	}
	s.out.WriteString("/>\n")
}

func (s *svg) text(t textShape) {
	s.printf(`<text x="%s" y="%s" font-size="%s"`, num(t.x), num(t.y), num(t.size))
	switch t.anchor {
	case atMiddle:
		s.out.WriteString(` text-anchor="middle"`)
	case atEnd:
		s.out.WriteString(` text-anchor="end"`)
	}
	if t.heavy {
		s.out.WriteString(` font-weight="bold"`)
	}
	if t.up {
		s.printf(` transform="rotate(-90 %s %s)"`, num(t.x), num(t.y))
	}
	s.printf("%s>%s</text>\n", s.color("fill", t.paint), escape(t.text))
}

// mark writes a group of shapes. In a file, the group's tooltip is its <title>, which viewers show.
func (s *svg) mark(m markShape) {
	element := "g"
	if m.link != "" {
		element = "a"
	}
	s.printf("<%s", element)
	if m.link != "" {
		s.printf(` href="%s"`, escape(m.link))
	}
	switch {
	case m.tip == "":
		s.out.WriteString(">\n")
	case s.inline:
		if m.link == "" {
			s.out.WriteString(` role="img"`)
		}
		if !s.stops {
			s.out.WriteString(` tabindex="0"`)
			s.stops = true
		} else {
			s.out.WriteString(` tabindex="-1"`)
		}
		tip := m.tip
		if m.label() == strings.ReplaceAll(tip, "\n", ", ") {
			tip = "" // to save space: pages have many marks
		}
		s.printf(` aria-label="%s" data-tip="%s">`+"\n", escape(m.label()), escape(tip))
	default:
		s.printf("><title>%s</title>\n", escape(m.tip))
	}
	s.shapes(m.shapes)
	s.printf("</%s>\n", element)
}

// label returns the label of a mark for screen readers: its tooltip. If a visible text in the mark is
// shortened, all visible texts come first, because users of voice control say the text that they see.
func (m markShape) label() string {
	label := strings.ReplaceAll(m.tip, "\n", ", ")
	var seen []string
	shortened := false
	for _, shape := range m.shapes {
		if t, ok := shape.(textShape); ok {
			seen = append(seen, t.text)
			shortened = shortened || strings.HasSuffix(t.text, "…")
		}
	}
	if shortened {
		return strings.Join(seen, " ") + ": " + label
	}
	return label
}

// color returns the attributes of a fill or a stroke. In a file, the light color is an attribute
// and the dark color is a class, because some programs ignore style sheets.
func (s *svg) color(property string, p paint) string {
	if p.opacity <= 0 {
		return ` ` + property + `="none"`
	}
	c, words := colors[p.role], ""
	if s.inline {
		words = fmt.Sprintf(` %s="var(--chart-%s)"`, property, c.name)
	} else {
		class := property[:1] + c.name
		s.used[class] = property + ":" + c.dark
		words = fmt.Sprintf(` class="%s" %s="%s"`, class, property, c.light)
	}
	if p.opacity < 1 {
		words += fmt.Sprintf(` %s-opacity="%s"`, property, strconv.FormatFloat(p.opacity, 'f', 2, 64))
	}
	return words
}

// num formats a coordinate, rounded to a tenth of a pixel.
func num(v float64) string {
	v = math.Round(v*10) / 10
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "0" // also for -0, and for NaN and infinities, which SVG does not allow
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// escape makes untrusted text safe in XML and HTML. It replaces characters that XML does not
// allow.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // writing to a strings.Builder does not fail
	return b.String()
}

// safeLink returns a link if it is relative or has the scheme http or https; otherwise it
// returns "".
func safeLink(link string) string {
	if link == "" || len(link) > 4096 || clean(link[:min(len(link), longest)]) != link[:min(len(link), longest)] {
		return ""
	}
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return link
}
