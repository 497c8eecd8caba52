package report

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/stats"
)

// escaper escapes characters that have a meaning in Markdown or HTML.
var escaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `<`, `&lt;`, `>`, `&gt;`, `[`, `\[`, `]`, `\]`, `&`, `&amp;`, `~`, `\~`,
)

func writeMarkdown(w io.Writer, a *stats.Analysis, opts Options) error {
	var b strings.Builder
	for i, blk := range build(a, opts).cleaned() {
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
		case list:
			for _, it := range blk {
				b.WriteString("- **" + escaper.Replace(it.label) + "** " + escaper.Replace(it.text) + "\n")
			}
		case grid:
			b.WriteString(blk.markdown() + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (g grid) markdown() string {
	t := table.NewWriter()
	var configs []table.ColumnConfig
	var header table.Row
	for i, c := range g.columns {
		align := text.AlignLeft
		if c.right {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
		header = append(header, escaper.Replace(c.title))
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	for _, row := range g.rows {
		var cells table.Row
		for _, c := range row {
			cells = append(cells, escaper.Replace(strings.Join(strings.Fields(c), " ")))
		}
		t.AppendRow(cells)
	}
	return t.RenderMarkdown()
}
