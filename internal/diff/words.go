package diff

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Options say how a comparison of answers is written.
type Options struct {
	document.Options
	Full bool // show all statements of each group, in full
}

// Formats are the output formats of a comparison of answers.
var Formats = document.FormatsOf[*Diffed, Options]{What: "comparison of answers", List: []document.Format[*Diffed, Options]{
	{Name: "table", To: func(w io.Writer, d *Diffed, o Options) error { return WriteDiff(w, d, o.Full, o.Options) }},
	{Name: "markdown", To: func(w io.Writer, d *Diffed, _ Options) error {
		return document.RenderMarkdown(w, d.page())
	}},
	{Name: "html", To: func(w io.Writer, d *Diffed, o Options) error {
		return document.RenderHTML(w, d.page(), "Answers", o.Options)
	}},
	{Name: "json", To: func(w io.Writer, d *Diffed, _ Options) error { return document.EncodeEscaped(w, JSONDiff{"diff", d}) }},
}}

// JSONDiff is the JSON form of a comparison of answers.
type JSONDiff struct {
	Command string `json:"command"` // always "diff"
	*Diffed
}

// diffWidth is the greatest width of a comparison of answers on a terminal, in columns.
const diffWidth = 80

// WriteDiff writes a comparison of answers for people. If the parameter "full" is false, it shows one or a
// few statements of each group.
func WriteDiff(w io.Writer, d *Diffed, full bool, opts document.Options) error {
	if opts.Width == 0 || opts.Width > diffWidth {
		opts.Width = diffWidth
	}
	return document.RenderPart(w, d.document(full), nil, opts)
}

// Names of parts that are left out if a terminal has no room for them.
const (
	statementsMissing  = "statements"
	differencesMissing = "more differences"
)

func (d *Diffed) document(full bool) document.Document {
	p := &words{d: d, full: full}
	doc := document.Document{indented("", "%s", d.Answer()), document.Space{}}
	for _, s := range d.Sides {
		doc = append(doc, document.Paragraph{Text: s.described()})
	}
	if len(d.Results) > 1 {
		doc = append(doc, d.table()...)
	}
	for _, r := range d.Results {
		doc = append(doc, p.result(r)...)
	}
	doc = append(doc, d.caveats()...)
	if p.cut {
		doc = append(doc, document.Optional(2, "", part("Not every statement is shown; all are in the full output and in JSON.")...))
	}
	return doc
}

// page returns the complete comparison, with the answer as its heading.
func (d *Diffed) page() document.Document {
	doc := d.document(true).Whole()
	doc[0] = document.Heading{Level: 1, Text: d.Answer()}
	return doc
}

func indented(indent, format string, args ...any) document.Paragraph {
	return document.Paragraph{Label: indent, Text: fmt.Sprintf(format, args...)}
}

// part returns a paragraph after an empty line.
func part(format string, args ...any) document.Document {
	return document.Document{document.Space{}, indented("", format, args...)}
}

func (d *Diffed) caveats() (doc document.Document) {
	if slices.ContainsFunc(d.Results, func(r *Result) bool { return r.Most == d.Most }) {
		doc = append(doc, part("Of each statement, only the first %d executions were compared. This number can be raised.", d.Most)...)
	}
	if len(d.TimesAsText) > 0 {
		doc = append(doc, part("%s.", d.timesAsText())...)
	}
	for _, name := range d.Skipped {
		doc = append(doc, part("Not compared: phase %s. A phase of this kind cannot be run statement by statement.", document.Line(name))...)
	}
	return doc
}

func (d *Diffed) timesAsText() string {
	return fmt.Sprintf("Recorded times were passed as time.Time, but to %s as texts such as %q, because such a library does not accept a time.Time: programs choose the text",
		document.Join(d.TimesAsText, ", ", document.Line), protocol.Times()[0].Format(plan.TimeFormat))
}

func (s *DiffSide) described() string {
	t := document.Line(s.Name)
	if s.ModuleVersion != "" && !strings.Contains(s.Name, s.ModuleVersion) {
		t += " " + document.Line(s.ModuleVersion)
	}
	if s.SQLiteVersion != "" {
		t += ", SQLite " + document.Line(s.SQLiteVersion)
	}
	return t
}

// Answer says in one or a few sentences which drivers give the same answers as the first driver.
func (d *Diffed) Answer() string {
	if len(d.Results) == 1 {
		return DiffAnswer(d.Results[0])
	}
	var alike, errors, unasked []string
	for _, r := range d.Results {
		switch name := document.Line(r.Second); {
		case r.Differing > 0:
		case r.Statements == 0:
			unasked = append(unasked, name)
		case r.Answered() == 0:
			errors = append(errors, name)
		default:
			alike = append(alike, name)
		}
	}
	compared := len(d.Results) - len(unasked) - len(errors)
	if len(unasked) == len(d.Results) {
		return DiffAnswer(d.Results[0])
	}
	first := document.Line(d.Sides[0].Name)
	var sentences []string
	switch {
	case compared == 0:
	case len(alike) == compared:
		sentences = append(sentences, fmt.Sprintf("No difference: %s %s the same answers as %s to all statements.", strings.Join(alike, ", "), document.Verb(compared, "gives", "give"), first))
	case len(alike) == 0:
		sentences = append(sentences, fmt.Sprintf("None of %s gives the same answers as %s to all statements.", document.Counted(int64(compared), "driver"), first))
	default:
		sentences = append(sentences, fmt.Sprintf("%d of %s %s the same answers as %s to all statements: %s.", len(alike), document.Counted(compared, "driver"),
			document.Verb(len(alike), "gives", "give"), first, strings.Join(alike, ", ")))
	}
	if errors != nil {
		sentences = append(sentences, fmt.Sprintf("With %s, only errors were compared: every statement fails there, and with %s too.", strings.Join(errors, ", "), first))
	}
	if unasked != nil {
		sentences = append(sentences, fmt.Sprintf("With %s, nothing was compared: no statement could be run.", strings.Join(unasked, ", ")))
	}
	return strings.Join(sentences, " ")
}

// DiffAnswer says in one or two sentences how many answers of two sides differ.
func DiffAnswer(r *Result) string {
	switch {
	case r.Statements == 0:
		return "Nothing was compared: no statement could be run. Give statements, or a workload with a query, an insert or a mix."
	case r.Differing == 0 && r.Answered() == 0:
		return fmt.Sprintf("Only errors were compared: %s with both %s and %s.", failDiff(r.Statements), document.Line(r.First), document.Line(r.Second))
	case r.Differing == 0:
		t := fmt.Sprintf("No difference: %s and %s answer %s alike, in %s with %s.", document.Line(r.First), document.Line(r.Second),
			document.Counted(int64(r.Answered()), "statement"), document.Counted(int64(r.Executions), "execution"), document.Counted(r.Rows, "row"))
		if n := len(r.Failing); n > 0 {
			t += fmt.Sprintf(" With both, %s.", failDiff(n))
		}
		return t
	}
	var by []string
	for _, k := range kinds {
		if n := r.Count(k.Kind); n > 0 {
			by = append(by, fmt.Sprintf("%d in the %s", n, k.name))
		}
	}
	return fmt.Sprintf("%s answers %s of %s differently than %s: %s.", document.Line(r.Second), document.Thousands(int64(r.Differing)),
		document.Counted(int64(r.Statements), "statement"), document.Line(r.First), strings.Join(by, ", "))
}

func failDiff(n int) string {
	return document.Counted(n, "statement") + document.Verb(n, " fails", " fail")
}

// words builds the document of a comparison.
type words struct {
	d    *Diffed
	full bool
	cut  bool // a group has more statements than the document shows
}

func (d *Diffed) table() document.Document {
	columns := []document.ColumnOf[*Result]{
		document.Words("AGAINST "+strings.ToUpper(document.Line(d.Sides[0].Name)), func(r *Result) string { return document.Line(r.Second) }),
		document.Figures("ASKED", 0, func(r *Result) string { return fmt.Sprint(r.Statements) }),
		document.Figures("DIFFER", 0, func(r *Result) string { return fmt.Sprint(r.Differing) }),
	}
	for _, k := range kinds {
		if slices.ContainsFunc(d.Results, func(r *Result) bool { return r.Count(k.Kind) > 0 }) {
			columns = append(columns, document.Figures(strings.ToUpper(k.head), 0, func(r *Result) string {
				if n := r.Count(k.Kind); n > 0 {
					return fmt.Sprint(n)
				}
				return document.Absent
			}))
		}
	}
	if len(columns) == 3 {
		return nil
	}
	return document.Document{document.Space{}, document.GridOf(d.Results, columns...)}
}

func (p *words) result(r *Result) (doc document.Document) {
	if len(p.d.Results) > 1 && (r.Differing > 0 || len(r.Unstable) > 0 || len(r.Unasked) > 0) {
		head := part("== %s against %s ==", document.Line(r.Second), document.Line(r.First))
		doc = append(doc, document.Optional(1, differencesMissing, append(head, part("%s", DiffAnswer(r))...)...))
	}
	for i := range r.Groups {
		doc = append(doc, p.group(r, &r.Groups[i]))
	}
	if body := p.failing(r); body != nil {
		doc = append(doc, document.Optional(1, statementsMissing, body...))
	}
	if len(r.Unstable) > 0 {
		doc = append(doc, document.Optional(1, differencesMissing, part("Values not compared, because %s itself gave two different answers: %s.", document.Line(r.First), p.fewOf(r.Unstable))...))
	}
	var reasons conditions.Groups[string, string]
	for _, u := range r.Unasked {
		reasons.Add(fmt.Sprintf("%s: %s", u.Side, u.Reason), u.Where)
	}
	for _, key := range reasons.Keys {
		of := reasons.Of[key]
		doc = append(doc, document.Optional(1, differencesMissing, part("Not run by %s: %s: %s.", document.Line(key), document.Counted(int64(len(of)), "statement"), p.fewOf(of))...))
	}
	return doc
}

func (p *words) failing(r *Result) document.Document {
	const most = 3
	if len(r.Failing) == 0 || len(p.d.Results) > 1 && !p.full { // with several drivers, the lists would be almost the same
		return nil
	}
	list := r.Failing
	if !p.full && len(list) > most {
		p.cut = true
		list = list[:most]
	}
	other := 0
	for _, f := range r.Failing {
		if f.Other != "" {
			other++
		}
	}
	words := "so only the error is compared"
	if other > 0 {
		words = fmt.Sprintf("%d of them with another error, so only the error is compared", other)
	}
	doc := part("With both %s and %s, %s, %s:", document.Line(r.First), document.Line(r.Second), failDiff(len(r.Failing)), words)
	for _, f := range list {
		doc = append(doc, indented("  ", "%s: %s", document.Line(f.Where), p.short(f.SQL)))
		if f.Other == "" {
			doc = append(doc, indented("    ", "%s", f.Error))
			continue
		}
		doc = append(doc, indented("    ", "%s: %s", document.Line(r.First), f.Error), indented("    ", "%s: %s", document.Line(r.Second), f.Other))
	}
	if rest := r.Failing[len(list):]; len(rest) > 0 {
		doc = append(doc, indented("  ", "Also %s.", p.fewOf(document.Map(rest, func(f Failing) string { return f.Where }))))
	}
	return doc
}

func (p *words) short(sql string) string {
	sql = document.Line(sql)
	if c := []rune(sql); !p.full && len(c) > sqlShown {
		return string(c[:sqlShown]) + " …"
	}
	return sql
}

// fewOf joins a list. It shows only the first few elements, unless everything is to be shown.
func (p *words) fewOf(list []string) string {
	const most = 5
	shown := list
	if !p.full && len(list) > most {
		p.cut = true
		shown = append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
	}
	return document.Line(strings.Join(shown, ", "))
}

func (p *words) group(r *Result, g *Group) document.Section {
	brief := append(part("%s: %s: %s", strings.ToUpper(kinds[g.Kind.rank()].name), diffWhat(g), document.Counted(int64(len(g.Statements)), "statement")),
		indented("  ", "Likely: %s.", DiffReason(r, g)))
	list := g.Statements
	if n := diffShown(g); !p.full && len(list) > n {
		list = list[:n]
	}
	doc := slices.Clip(brief)
	for i := range list {
		doc = append(doc, p.statement(r, &list[i])...)
	}
	if rest := g.Statements[len(list):]; len(rest) > 0 {
		p.cut = true
		doc = append(doc, indented("  ", "Also %s.", p.fewOf(document.Map(rest, func(s Statement) string { return s.At() }))))
	}
	return document.Section{Rank: 1, Forms: []document.Form{{Body: doc}, {Body: brief, Missing: statementsMissing}, {Missing: differencesMissing}}}
}

// diffShown returns how many statements of a group are shown in a comparison that is not written in full:
// three if their values or errors may differ in various ways, otherwise one.
func diffShown(g *Group) int {
	if g.Cause == None && g.Reason.Evidence != ByEarlier && (g.Kind == Values || g.Kind == Errors && g.Reason.Side == 0) {
		return 3
	}
	return 1
}

// sqlShown is the greatest number of characters of a statement that are shown in a comparison that is not
// written in full.
const sqlShown = 200

func (p *words) statement(r *Result, s *Statement) document.Document {
	doc := document.Document{indented("  ", "%s: %s", document.Line(s.At()), p.short(s.SQL))}
	if len(s.Arguments) > 0 {
		doc = append(doc, indented("    ", "with %s", document.Line(document.Join(s.Arguments, ", ", Show))))
	}
	at := ""
	switch {
	case s.Column > 0 && s.Row > 0:
		at = fmt.Sprintf("row %d, column %d", s.Row, s.Column)
	case s.Column > 0 && (s.Kind == Values || s.Kind == Types):
		at = fmt.Sprintf("in rows that are not shown, column %d", s.Column)
	case s.Column > 0:
		at = fmt.Sprintf("column %d", s.Column)
	}
	if at != "" {
		if s.Name != "" {
			at += " " + s.Name
		}
		if s.Declared != "" && s.Kind != Declared {
			at += ", declared " + s.Declared
		}
		doc = append(doc, indented("    ", "%s:", document.Line(at)))
	}
	width := max(document.Width(document.Line(r.First)), document.Width(document.Line(r.Second)))
	for _, side := range [][2]string{{r.First, s.First}, {r.Second, s.Second}} {
		label := "    " + text.Pad(document.Line(side[0]), width, ' ') + "  "
		doc = append(doc, indented(label, "%s", cmp.Or(side[1], "nothing")))
	}
	return doc
}
