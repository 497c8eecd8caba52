package website

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// badgeWords returns the two parts of a driver's badge: the driver with its newest release, and what
// the newest runs say about it.
func (h *history) badgeWords() []string {
	name := short(h.name)
	if len(h.releases) > 0 && h.releases[0].library != "" {
		name += " " + short(version(h.releases[0].library))
	}
	return []string{name, h.badgeText()}
}

// badgeText compares the newest release with plain C if they were measured together. Otherwise it
// compares the newest release with the release before.
func (h *history) badgeText() string {
	if h.floorIsNewest() {
		if text := toPlainC(h.floor.Ratio); strings.HasPrefix(text, "about") {
			return text
		}
		return document.Than(document.SlowerBy(h.floor.Ratio), "plain C")
	}
	if len(h.releases) == 0 {
		return "measured"
	}
	if c := h.change(); c.cells > 0 {
		return c.words()
	}
	return "measured " + date(h.releases[0].newest.Started)
}

// badgeOf says in which run the figure of a badge was measured.
func (h *history) badgeOf() string {
	switch c := h.change(); {
	case h.floorIsNewest():
		return fmt.Sprintf(", over %s of run %d, %s", document.Counted(h.floor.Cells, "cell"), h.floorIn.Run, date(h.floorIn.Started))
	case c.cells > 0:
		return fmt.Sprintf(", run %d, %s", c.run, date(h.releases[0].compared.Started))
	}
	return ""
}

// floorIsNewest reports whether the newest release was measured together with plain C.
func (h *history) floorIsNewest() bool {
	return h.floor != nil && len(h.releases) > 0 && h.floorOf == h.releases[0].library
}

// change counts the cells in which the newest release of a driver clearly differs from the release
// before. It counts them in the newest run that measured both releases.
type change struct {
	before                string
	slower, faster, cells int
	run                   int64
}

func (h *history) change() (c change) {
	if len(h.releases) == 0 || h.releases[0].compared == nil {
		return c
	}
	r := h.releases[0]
	c.run = r.compared.Run
	for _, f := range r.compared.Figures {
		if len(f.Older) == 0 || !released(f.Driver) || f.Library != r.library || h.name != baseOf(f) {
			continue
		}
		o := f.Older[len(f.Older)-1]
		c.before = o.Library
		c.cells++
		switch {
		case o.Significant && o.Ratio.Median > 1:
			c.slower++
		case o.Significant:
			c.faster++
		}
	}
	return c
}

func (c change) words() string {
	of := "of " + document.Counted(c.cells, "cell")
	before := short(version(c.before))
	switch {
	case c.slower+c.faster == 0:
		return "no clear difference from " + before
	case c.faster == 0:
		return fmt.Sprintf("slower than %s in %d %s", before, c.slower, of)
	case c.slower == 0:
		return fmt.Sprintf("faster than %s in %d %s", before, c.faster, of)
	}
	return fmt.Sprintf("slower than %s in %d, faster in %d %s", before, c.slower, c.faster, of)
}

const mostShort = 40

func short(s string) string { return cut(s, mostShort) }

// cut makes one printable line of a text that anybody may have written, and shortens it to the
// given number of characters.
func cut(s string, most int) string { return document.Cut(document.Line(s), most) }

// badgeTemplate draws a badge. The width of a text is not known here, so textLength makes it fit.
var badgeTemplate = template.Must(template.New("badge").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="20" role="img" aria-label="{{.Left}}: {{.Right}}{{.Of}}">
<title>{{.Left}}: {{.Right}}{{.Of}}</title>
<rect width="{{.Width}}" height="20" rx="3" fill="#3d444d"/>
<path d="M{{.Split}} 0H{{.End}}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{{.Split}}z" fill="#0a5a9c"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="7" y="14" textLength="{{.LeftLength}}" lengthAdjust="spacingAndGlyphs">{{.Left}}</text>
<text x="{{.RightStart}}" y="14" textLength="{{.RightLength}}" lengthAdjust="spacingAndGlyphs">{{.Right}}</text>
</g>
</svg>
`))

func (h *history) badgeImage() string {
	words := h.badgeWords()
	const letter, pad = 6.6, 7
	left, right := int(letter*float64(utf8.RuneCountInString(words[0]))), int(letter*float64(utf8.RuneCountInString(words[1])))
	split := left + 2*pad
	var b bytes.Buffer
	err := badgeTemplate.Execute(&b, map[string]any{"Left": words[0], "Right": words[1], "Of": h.badgeOf(), "LeftLength": left, "RightLength": right,
		"Split": split, "RightStart": split + pad, "Width": split + right + 2*pad, "End": split + right + 2*pad - 3})
	if err != nil {
		panic(err) // cannot happen: writing to memory does not fail
	}
	return b.String()
}
