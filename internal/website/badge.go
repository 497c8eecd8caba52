package website

import (
	"bytes"
	"fmt"
	"html/template"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// badgeWords returns the two parts of a driver's badge: the driver with its newest release, and what
// the newest runs say about it.
func (h *history) badgeWords() []string {
	name := short(h.name)
	if len(h.releases) > 0 && h.releases[0].library != "" {
		name += " " + short(h.releases[0].library)
	}
	return []string{name, h.badgeText()}
}

// badgeText is the time relative to plain C or, if it was not measured, how the newest release
// compares with the release before.
func (h *history) badgeText() string {
	if h.floor != nil && len(h.releases) > 0 && h.floorOf == h.releases[0].library {
		return document.Times(h.floor.Ratio.Median) + " plain C"
	}
	if len(h.releases) == 0 {
		return "measured"
	}
	r := h.releases[0]
	if r.compared == nil {
		return "measured " + date(r.newest.Started)
	}
	before, slower, faster, cells := "", 0, 0, 0
	for _, f := range r.compared.Figures {
		if len(f.Older) == 0 || !released(f.Driver) || f.Points[0].Library != r.library || h.name != baseOf(f) {
			continue
		}
		o := f.Older[len(f.Older)-1]
		before = o.Library
		cells++
		switch {
		case o.Significant && o.Ratio.Median > 1:
			slower++
		case o.Significant:
			faster++
		}
	}
	if slower+faster == 0 {
		return "no clear difference from " + short(before)
	}
	return fmt.Sprintf("slower in %d, faster in %d of %d than %s", slower, faster, cells, short(before))
}

const mostShort = 40

func short(s string) string {
	s = document.Line(s)
	if letters := []rune(s); len(letters) > mostShort {
		return string(letters[:mostShort]) + "…"
	}
	return s
}

// badgeTemplate draws a badge. The width of a text is not known here, so textLength makes it fit.
var badgeTemplate = template.Must(template.New("badge").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="20" role="img" aria-label="{{.Left}}: {{.Right}}">
<title>{{.Left}}: {{.Right}}</title>
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
	err := badgeTemplate.Execute(&b, map[string]any{"Left": words[0], "Right": words[1], "LeftLength": left, "RightLength": right,
		"Split": split, "RightStart": split + pad, "Width": split + right + 2*pad, "End": split + right + 2*pad - 3})
	if err != nil {
		panic(err) // cannot happen: writing to memory does not fail
	}
	return b.String()
}
