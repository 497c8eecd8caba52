package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// WriteMeasured writes what a run measured with a workload, as comments that can follow the
// workload's text: the answer of each cell, and the settings in force. It writes nothing if the run
// has no figures of the workload.
func WriteMeasured(w io.Writer, a *stats.Analysis, workload string, o document.Options) error {
	var d document.Document
	for _, g := range a.Groups {
		if g.Workload == workload {
			d = append(d, measuredIn(a, g)...)
		}
	}
	if d == nil {
		return nil
	}
	const comment = "# "
	head := document.Heading{Level: 3, Text: fmt.Sprintf("What run %d measured with this workload", a.Run.ID)}
	o.Width = max(cmp.Or(o.Width, 120)-len(comment), 0)
	o.Color = false // colors inside comments would distract
	var text strings.Builder
	if err := document.RenderText(&text, append(document.Document{head}, d...), o); err != nil {
		return err
	}
	var lines strings.Builder
	for line := range strings.Lines(text.String()) {
		lines.WriteString(strings.TrimRight(comment+strings.TrimRight(line, "\n"), " ") + "\n")
	}
	_, err := io.WriteString(w, lines.String())
	return err
}

// measuredIn lists the answer of each table of a group, and the settings in force in at most three
// lines.
func measuredIn(a *stats.Analysis, g *stats.Group) (d document.Document) {
	var l document.List
	for _, t := range g.Tables {
		if len(t.Measured()) > 0 {
			l = append(l, document.Item{Label: t.Phase, Text: strings.TrimSuffix(tableAnswer(a, t), ".")})
		}
	}
	if l == nil {
		return nil
	}
	same, differing := conditions.ProvenSettings(g.Outcomes)
	if same != nil {
		l = append(l, document.Item{Label: "in force", Text: strings.Join(same, " "), Most: 3 - min(len(differing), 1)})
	}
	if differing != nil {
		l = append(l, document.Item{Label: "differ", Text: strings.Join(differing, "; "), Most: 1})
	}
	if v := g.Variant(); v != "" {
		d = append(d, document.Paragraph{Text: v})
	}
	return append(d, l)
}
