package document

import (
	"io"
	"strings"
)

var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `<`, `&lt;`, `>`, `&gt;`, `[`, `\[`, `]`, `\]`, `&`, `&amp;`, `~`, `\~`,
)

func RenderMarkdown(w io.Writer, d Document) error {
	_, err := io.WriteString(w, d.cleaned().markdown())
	return err
}

func (d Document) markdown() string {
	var b strings.Builder
	for i, blk := range d {
		if _, ok := blk.(Space); ok {
			continue // nothing to write, because empty lines separate all blocks anyway
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		switch blk := blk.(type) {
		case Heading:
			b.WriteString(strings.Repeat("#", blk.Level) + " " + escaper.Replace(blk.Text) + "\n")
		case Paragraph:
			b.WriteString(escaper.Replace(strings.TrimLeft(blk.Label, " ")+blk.Text) + "\n")
		case Reference:
			b.WriteString("See [" + escaper.Replace(blk.Title) + "](" + blk.Address + ").\n")
		case List:
			b.WriteString(blk.markdown())
		case Details:
			b.WriteString("<details><summary>" + escaper.Replace(blk.Title) + "</summary>\n\n" + blk.Body.markdown() + "\n</details>\n")
		case Grid:
			b.WriteString(blk.markdown() + "\n")
		}
	}
	return b.String()
}

func (l List) markdown() string {
	var b strings.Builder
	for _, it := range l {
		b.WriteString("- **" + escaper.Replace(it.Label) + "** " + escaper.Replace(it.Text) + "\n")
	}
	return b.String()
}

func (g *Grid) markdown() string {
	return g.table(g.all(), func(s string) string { return escaper.Replace(strings.Join(strings.Fields(s), " ")) }).RenderMarkdown()
}
