package report

import (
	"io"
	"strings"
)

// escaper escapes characters that have a meaning in Markdown or HTML.
var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `<`, `&lt;`, `>`, `&gt;`, `[`, `\[`, `]`, `\]`, `&`, `&amp;`, `~`, `\~`,
)

func renderMarkdown(w io.Writer, d document) error {
	_, err := io.WriteString(w, d.cleaned().markdown())
	return err
}

func (d document) markdown() string {
	var b strings.Builder
	for i, blk := range d {
		if _, ok := blk.(space); ok {
			continue // all blocks are separated anyway
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		switch blk := blk.(type) {
		case heading:
			b.WriteString(strings.Repeat("#", blk.level) + " " + escaper.Replace(blk.text) + "\n")
		case paragraph:
			b.WriteString(escaper.Replace(blk.text) + "\n")
		case reference:
			b.WriteString("See [" + escaper.Replace(blk.title) + "](" + blk.address + ").\n")
		case list:
			b.WriteString(blk.markdown())
		case details:
			b.WriteString("<details><summary>" + escaper.Replace(blk.title) + "</summary>\n\n" + blk.body.markdown() + "\n</details>\n")
		case grid:
			b.WriteString(blk.markdown() + "\n")
		}
	}
	return b.String()
}

func (l list) markdown() string {
	var b strings.Builder
	for _, it := range l {
		b.WriteString("- **" + escaper.Replace(it.label) + "** " + escaper.Replace(it.text) + "\n")
	}
	return b.String()
}

func (g *grid) markdown() string {
	all := make([]int, len(g.columns))
	for i := range all {
		all[i] = i
	}
	return g.table(all, func(s string) string { return escaper.Replace(strings.Join(strings.Fields(s), " ")) }).RenderMarkdown()
}
