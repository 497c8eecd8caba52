package compare

import "github.com/sqlite3perf/sqlite3perf/internal/document"

// onScreen is the comparison for a terminal with few lines: the answer, the cells, and what else to
// know, as far as there is room.
func onScreen(c Compared) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: Answer(c.Comparison)}}
	if bad := without(c.Comparison); bad != nil {
		d = append(d, document.Section{Rank: 2, Forms: []document.Form{{Body: document.Document{bad}}, {Body: document.Document{shortened(bad)}}}})
	}
	if g := comparedGrid(c.Comparison); len(g.Rows) > 0 {
		forms := []document.Form{{Body: document.Document{document.Space{}, g}}}
		for n := len(g.Rows) - 1; n > 0; n-- {
			first := g
			first.Rows = g.Rows[:n:n]
			forms = append(forms, document.Form{
				Body:    document.Document{document.Space{}, first},
				Missing: document.Counted(int64(len(g.Rows)-n), "more cell"),
			})
		}
		d = append(d, document.Section{Rank: 1, Forms: forms}, document.Space{})
	}
	if l := beware(c.Comparison); l != nil {
		d = append(d, document.Section{Rank: 3, Forms: []document.Form{{Body: document.Document{l}}, {Body: document.Document{shortened(l)}}, {Missing: "what to beware of"}}})
	}
	return append(d, document.Section{Rank: 4, Forms: []document.Form{{Body: document.Document{origin(c)}}, {Missing: "how it was measured"}}})
}

// shortened returns a list with one line for each item.
func shortened(l document.List) (short document.List) {
	for _, it := range l {
		it.Most = 1
		short = append(short, it)
	}
	return short
}
