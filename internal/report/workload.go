package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// WriteMeasured writes what a run measured with a workload, as comments that can follow the
// workload's text: which driver to take if there is only one cell, the answer of each cell with
// how sure it is, the warnings that concern the workload, and the settings in force. It writes
// nothing if the run has no figures of the workload.
func WriteMeasured(w io.Writer, a *stats.Analysis, workload string, o document.Options) error {
	only := *a // this copy keeps the run's p-values, which are corrected for all tables of the run
	only.Overall = stats.Overall{}
	only.Groups = slices.DeleteFunc(slices.Clone(a.Groups), func(g *stats.Group) bool { return g.Workload != workload })
	only.Factorials = slices.DeleteFunc(slices.Clone(a.Factorials), func(f *stats.Factorial) bool { return f.Workload != workload })
	run := *a.Run
	run.LeftOut = slices.DeleteFunc(slices.Clone(run.LeftOut), func(l result.LeftOut) bool { return l.Workload != "" && l.Workload != workload })
	only.Run = &run
	var answers, settings document.Document
	var rankings []Ranking
	for _, g := range only.Groups {
		said, inForce := measuredIn(&only, g, &rankings)
		if said == nil {
			continue
		}
		if v := g.Variant(); v != "" {
			answers, settings = append(answers, document.Paragraph{Text: v}), append(settings, document.Paragraph{Text: v})
		}
		answers, settings = append(answers, said), append(settings, inForce)
	}
	if answers == nil {
		return nil
	}
	const comment = "# "
	d := document.Document{document.Heading{Level: 3, Text: fmt.Sprintf("What run %d measured with this workload", a.Run.ID)}}
	if choice := AnswersOf(&only, Options{Options: o}); choice.Recommended != nil {
		l := choice.Alternatives()
		if first := choice.first(); first != nil && choice.another(&only, first) != "" {
			l = append(l, document.Item{Label: "how sure", Text: choice.another(&only, first)})
		}
		d = append(d, document.Paragraph{Text: choice.Text}, l)
	}
	warnings := caveatItems(caveats(&only, Options{Options: o}, rankings), true)
	for i := range warnings {
		if warnings[i].Most >= 0 {
			warnings[i].Most = 2
		}
	}
	d = append(append(append(d, answers...), warnings), settings...)
	o.Width = max(cmp.Or(o.Width, 120)-len(comment), 0)
	o.Color = false // colors inside comments would distract
	var text strings.Builder
	if err := document.RenderText(&text, d, o); err != nil {
		return err
	}
	var lines strings.Builder
	for line := range strings.Lines(text.String()) {
		lines.WriteString(strings.TrimRight(comment+strings.TrimRight(line, "\n"), " ") + "\n")
	}
	_, err := io.WriteString(w, "\n"+lines.String())
	return err
}

// measuredIn lists the answer of each table of a group, with how sure it is, and the settings in
// force in at most three lines. It appends the tables' rankings to "rankings".
func measuredIn(a *stats.Analysis, g *stats.Group, rankings *[]Ranking) (answers, settings document.List) {
	figures := a.Figures()
	for _, t := range g.Tables {
		if len(t.Measured()) > 0 {
			r := tableRanking(a, g.Named(t), t, figures)
			*rankings = append(*rankings, r)
			sure := ""
			if len(r.Choices()) > 1 {
				sure = r.another(rounds(a))
			}
			answers = append(answers, document.Item{Label: t.Phase, Text: document.JoinKnown(". ", strings.TrimSuffix(tableAnswer(a, t), "."), sure)})
		}
	}
	if answers == nil {
		return nil, nil
	}
	same, differing := conditions.ProvenSettings(g.Outcomes)
	if same != nil {
		settings = append(settings, document.Item{Label: "in force", Text: strings.Join(same, " "), Most: 3 - min(len(differing), 1)})
	}
	if differing != nil {
		settings = append(settings, document.Item{Label: "differ", Text: strings.Join(differing, "; "), Most: 1})
	}
	return answers, settings
}
