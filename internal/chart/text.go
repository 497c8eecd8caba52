package chart

import (
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Sizes of text in pixels.
const (
	small  = 11
	normal = 12.5
	large  = 15
)

// typeface is one of the Go fonts, https://go.dev/blog/go-fonts.
type typeface struct {
	mutex sync.Mutex
	font  *sfnt.Font
	buf   sfnt.Buffer
	units int
	wider float64          // factor by which the widest font that may show an SVG is wider than this font
	wide  map[rune]float64 // widths of letters in ems, as far as known
}

func newTypeface(ttf []byte, wider float64) func() *typeface {
	return sync.OnceValue(func() *typeface {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			panic(err) // cannot happen: the font is part of the program
		}
		return &typeface{font: f, units: int(f.UnitsPerEm()), wider: wider, wide: map[rune]float64{}}
	})
}

var (
	regular = newTypeface(goregular.TTF, 1.1)
	bold    = newTypeface(gobold.TTF, 1.15)
)

func face(heavy bool) *typeface {
	if heavy {
		return bold()
	}
	return regular()
}

// width returns the width of a letter in ems, in the widest font that may show it.
func (t *typeface) width(r rune) float64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if w, ok := t.wide[r]; ok {
		return w
	}
	w := 1.0 // for letters that the font lacks, which may be as wide as high
	if i, err := t.font.GlyphIndex(&t.buf, r); err == nil && i != 0 {
		if a, err := t.font.GlyphAdvance(&t.buf, i, fixed.I(t.units), font.HintingNone); err == nil {
			w = float64(a) / 64 / float64(t.units)
		}
	}
	w *= t.wider
	if len(t.wide) < 10_000 {
		t.wide[r] = w
	}
	return w
}

func measure(s string, size float64, heavy bool) float64 {
	t, ems := face(heavy), 0.0
	for _, r := range s {
		ems += t.width(r)
	}
	return ems * size
}

// shorten returns s. If s is wider than the parameter "most", in pixels, it returns the beginning
// of s and an ellipsis, or "" if not even one letter fits.
func shorten(s string, size float64, heavy bool, most float64) string {
	if measure(s, size, heavy) <= most {
		return s
	}
	t, used := face(heavy), measure("…", size, heavy)
	for i, r := range s {
		w := t.width(r) * size
		if used+w > most {
			if i == 0 {
				return ""
			}
			return strings.TrimRight(s[:i], " ") + "…"
		}
		used += w
	}
	return s
}

// wrap breaks a text into lines, at most the given number of them. It breaks between words, or in a
// word after a punctuation mark. The parameter "most" is the width of a line in pixels. Lines that
// are still wider are shortened.
func wrap(s string, size float64, heavy bool, most float64, lines int) []string {
	var list []string
	line := ""
	for _, piece := range pieces(s) {
		longer := line + piece
		if line == "" || len(list) == lines-1 || measure(strings.TrimRight(longer, " "), size, heavy) <= most {
			line = longer
			continue
		}
		list, line = append(list, line), piece
	}
	if line != "" {
		list = append(list, line)
	}
	for i := range list {
		list[i] = shorten(strings.TrimSpace(list[i]), size, heavy, most)
	}
	return list
}

func pieces(s string) []string {
	var list []string
	from := 0
	for i, r := range s {
		if strings.ContainsRune(" @:/=_-,;", r) {
			list, from = append(list, s[from:i+1]), i+1
		}
	}
	if from < len(s) {
		list = append(list, s[from:])
	}
	return list
}

// name draws the name of a row from x on, centered vertically at y. The parameter "most" is the
// available width in pixels. A wider name is written smaller, in two lines.
func (c *canvas) name(x, y float64, r role, name string, most float64) {
	if name = clean(name); measure(name, normal, false) <= most {
		c.text(x, y+4.5, atStart, normal, r, name, 0)
		return
	}
	lines := wrap(name, small, false, most, 2)
	for i, s := range lines {
		c.text(x, y+4+12*(float64(i)-float64(len(lines)-1)/2), atStart, small, r, s, 0)
	}
}

const longest = 400

// clean returns a text with a replacement character for each invisible character and for each
// character that changes the direction of the following text. It cuts very long texts. It puts a
// space after two number signs, because they may begin a command to a CI service that shows the
// picture's source.
func clean(s string) string {
	var b strings.Builder
	letters, signs := 0, 0
	for _, r := range s {
		if letters == longest {
			return b.String() + "…"
		}
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			r = ' '
		case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || r == '\u2028' || r == '\u2029' || r == '\ufffe' || r == '\uffff':
			r = '\ufffd'
		}
		if signs > 1 && r != '#' && r != ' ' {
			b.WriteByte(' ')
		}
		if signs++; r != '#' {
			signs = 0
		}
		b.WriteRune(r)
		letters++
	}
	return b.String()
}

func plain(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
