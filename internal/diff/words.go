package diff

import (
	"cmp"
	"encoding/json"
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

// Diffed is how the answers of drivers compare with those of the first of them.
type Diffed struct {
	Sides   []DiffSide `json:"sides"`
	Seed    uint64     `json:"seed"`
	Results []*Result  `json:"results"` // of each side but the first
	Skipped []string   `json:"skipped,omitempty"`
	Most    int        `json:"most_executions"` // of each statement that are compared

	// TimesAsText are the sides that bind no time.Time: they were passed recorded times as texts.
	TimesAsText []string `json:"times_as_text,omitempty"`
}

// DiffSide is a driver whose answers are compared.
type DiffSide struct {
	Name          string `json:"name"`
	ModuleVersion string `json:"module_version,omitempty"`
	SQLiteVersion string `json:"sqlite_version,omitempty"`
}

// DiffSideOf describes a driver by what its worker proved.
func DiffSideOf(name string, p *protocol.Proof) DiffSide {
	s := DiffSide{Name: name}
	if p != nil {
		s.ModuleVersion, s.SQLiteVersion = p.ModuleVersion, p.SQLiteVersion
	}
	return s
}

// Differ reports whether any answer differs.
func (d *Diffed) Differ() bool {
	return slices.ContainsFunc(d.Results, func(r *Result) bool { return r.Differing > 0 })
}

// Answered reports whether every comparison has a statement that returned more than an error.
func (d *Diffed) Answered() bool {
	return !slices.ContainsFunc(d.Results, func(r *Result) bool { return r.Answered() == 0 })
}

// Options say how a comparison of answers is written.
type Options struct {
	document.Options
	Full bool // all statements of each group, uncut
}

// Formats are those of a comparison of answers.
var Formats = document.FormatsOf[*Diffed, Options]{What: "comparison of answers", List: []document.Format[*Diffed, Options]{
	{Name: "table", To: func(w io.Writer, d *Diffed, o Options) error { return WriteDiff(w, d, o.Full, o.Options) }},
	{Name: "markdown", To: func(w io.Writer, d *Diffed, _ Options) error {
		return document.RenderMarkdown(w, d.page())
	}},
	{Name: "html", To: func(w io.Writer, d *Diffed, o Options) error {
		return document.RenderHTML(w, d.page(), "Answers", o.Options)
	}},
	{Name: "json", To: func(w io.Writer, d *Diffed, _ Options) error { return WriteDiffJSON(w, d) }},
}}

// JSONDiff is the JSON form of a comparison of answers.
type JSONDiff struct {
	Command string `json:"command"` // diff
	*Diffed
}

// WriteDiffJSON writes all of a comparison of answers.
func WriteDiffJSON(w io.Writer, d *Diffed) error {
	enc := json.NewEncoder(document.PrintableJSON(w))
	enc.SetIndent("", "  ")
	return enc.Encode(JSONDiff{"diff", d})
}

// diffWidth is the most columns that a comparison of answers takes.
const diffWidth = 80

// WriteDiff writes a comparison of answers for people. Unless full is set, each group has
// one of its statements.
func WriteDiff(w io.Writer, d *Diffed, full bool, opts document.Options) error {
	if opts.Width == 0 || opts.Width > diffWidth {
		opts.Width = diffWidth
	}
	return document.RenderPart(w, d.document(full), nil, opts)
}

// What a screen may have no room for.
const (
	statementsMissing  = "statements"
	differencesMissing = "more differences"
)

// document is a comparison of answers for people.
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
		doc = append(doc, document.Section{Rank: 2, Forms: []document.Form{
			{Body: part("", "Not every statement is shown; all are in the full output and in JSON.")}, {},
		}})
	}
	return doc
}

// page is all of a comparison of answers, below its answer.
func (d *Diffed) page() document.Document {
	doc := d.document(true).Whole()
	doc[0] = document.Heading{Level: 1, Text: d.Answer()}
	return doc
}

// indented is a text with an indent for all its lines.
func indented(indent, format string, args ...any) document.Paragraph {
	return document.Paragraph{Label: indent, Text: fmt.Sprintf(format, args...)}
}

// part is a text below an empty line.
func part(indent, format string, args ...any) document.Document {
	return document.Document{document.Space{}, indented(indent, format, args...)}
}

// section is a part that a screen may leave out.
func section(body document.Document, missing string) document.Section {
	return document.Section{Rank: 1, Forms: []document.Form{{Body: body}, {Missing: missing}}}
}

// caveats says what was not compared, or not as it is.
func (d *Diffed) caveats() (doc document.Document) {
	if slices.ContainsFunc(d.Results, func(r *Result) bool { return r.Most == d.Most }) {
		doc = append(doc, part("", "Of each statement, only the first %d executions were compared. This number can be raised.", d.Most)...)
	}
	if len(d.TimesAsText) > 0 {
		doc = append(doc, part("", "%s.", d.timesAsText())...)
	}
	for _, name := range d.Skipped {
		doc = append(doc, part("", "Not compared: phase %s. A phase of this kind cannot be run statement by statement.", document.Line(name))...)
	}
	return doc
}

// timesAsText says which libraries were not passed times.
func (d *Diffed) timesAsText() string {
	var names []string
	for _, name := range d.TimesAsText {
		names = append(names, document.Line(name))
	}
	return fmt.Sprintf("Recorded times were passed as time.Time, but to %s as texts such as %q, because such a library does not accept a time.Time: programs choose the text",
		strings.Join(names, ", "), protocol.Times()[0].Format(plan.TimeFormat))
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

// diffWords name the kinds after "in the".
var diffWords = map[Kind]string{
	Errors: "error", RowCount: "number of rows", Values: "value", Order: "order of rows", Affected: "rows affected",
	LastInsertID: "last insert ID", Types: "Go type", Names: "column name", Declared: "declared type",
	ErrorType: "error type", ErrorText: "error text",
}

// diffHeads name the kinds above columns.
var diffHeads = map[Kind]string{
	Errors: "error", RowCount: "rows", Values: "value", Order: "order", Affected: "affected",
	LastInsertID: "id", Types: "type", Names: "name", Declared: "declared", ErrorType: "error type", ErrorText: "error text",
}

// Answer is the answer in one sentence.
func (d *Diffed) Answer() string {
	if len(d.Results) == 1 {
		return DiffAnswer(d.Results[0])
	}
	var alike, errors, unasked []string
	compared := 0
	for _, r := range d.Results {
		switch {
		case r.Differing == 0 && r.Statements == 0:
			unasked = append(unasked, document.Line(r.Second))
		case r.Differing == 0 && r.Answered() == 0:
			errors = append(errors, document.Line(r.Second))
		case r.Differing == 0:
			alike = append(alike, document.Line(r.Second))
			compared++
		default:
			compared++
		}
	}
	if len(unasked) == len(d.Results) {
		return DiffAnswer(d.Results[0])
	}
	first, others := document.Line(d.Sides[0].Name), document.Counted(int64(compared), "driver")
	var sentences []string
	switch {
	case compared == 0:
	case len(alike) == 0 && compared == 1:
		sentences = append(sentences, fmt.Sprintf("The only driver that was compared does not give the same answers as %s to all statements.", first))
	case len(alike) == 0:
		sentences = append(sentences, fmt.Sprintf("None of %s gives the same answers as %s to all statements.", others, first))
	case len(alike) == compared && compared == 1:
		sentences = append(sentences, fmt.Sprintf("No difference: %s gives the same answers as %s to all statements.", alike[0], first))
	case len(alike) == compared:
		sentences = append(sentences, fmt.Sprintf("No difference: %s give the same answers as %s to all statements.", others, first))
	default:
		gives := "give"
		if len(alike) == 1 {
			gives = "gives"
		}
		sentences = append(sentences, fmt.Sprintf("%d of %s %s the same answers as %s to all statements: %s.", len(alike), others, gives, first, strings.Join(alike, ", ")))
	}
	if errors != nil {
		sentences = append(sentences, fmt.Sprintf("With %s, only errors were compared: every statement fails there, and with %s too.", strings.Join(errors, ", "), first))
	}
	if unasked != nil {
		sentences = append(sentences, fmt.Sprintf("With %s, nothing was compared: no statement could be run.", strings.Join(unasked, ", ")))
	}
	return strings.Join(sentences, " ")
}

// DiffAnswer is the answer for two sides.
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
	for _, k := range Kinds {
		if n := r.Count(k); n > 0 {
			by = append(by, fmt.Sprintf("%d in the %s", n, diffWords[k]))
		}
	}
	return fmt.Sprintf("%s answers %s of %s differently than %s: %s.", document.Line(r.Second), document.Thousands(int64(r.Differing)),
		document.Counted(int64(r.Statements), "statement"), document.Line(r.First), strings.Join(by, ", "))
}

func failDiff(n int) string {
	if n == 1 {
		return "1 statement fails"
	}
	return document.Thousands(int64(n)) + " statements fail"
}

// words makes the document of a comparison.
type words struct {
	d    *Diffed
	full bool
	cut  bool // a group has more statements than are shown
}

// table counts, for each side, the statements by the worst kind of their differences.
func (d *Diffed) table() document.Document {
	var kinds []Kind
	for _, k := range Kinds {
		if slices.ContainsFunc(d.Results, func(r *Result) bool { return r.Count(k) > 0 }) {
			kinds = append(kinds, k)
		}
	}
	if kinds == nil {
		return nil
	}
	g := document.Grid{Columns: []document.Column{
		{Title: "AGAINST " + strings.ToUpper(document.Line(d.Sides[0].Name))}, {Title: "ASKED", Right: true}, {Title: "DIFFER", Right: true},
	}}
	for _, k := range kinds {
		g.Columns = append(g.Columns, document.Column{Title: strings.ToUpper(diffHeads[k]), Right: true})
	}
	for _, r := range d.Results {
		row := []string{document.Line(r.Second), fmt.Sprint(r.Statements), fmt.Sprint(r.Differing)}
		for _, k := range kinds {
			cell := document.Absent
			if n := r.Count(k); n > 0 {
				cell = fmt.Sprint(n)
			}
			row = append(row, cell)
		}
		g.Rows = append(g.Rows, row)
	}
	return document.Document{document.Space{}, g}
}

// result shows the groups of a comparison.
func (p *words) result(r *Result) (doc document.Document) {
	if len(p.d.Results) > 1 && (r.Differing > 0 || len(r.Unstable) > 0 || len(r.Unasked) > 0) {
		head := part("", "== %s against %s ==", document.Line(r.Second), document.Line(r.First))
		doc = append(doc, section(append(head, part("", "%s", DiffAnswer(r))...), differencesMissing))
	}
	for i := range r.Groups {
		doc = append(doc, p.group(r, &r.Groups[i]))
	}
	if body := p.failing(r); body != nil {
		doc = append(doc, section(body, statementsMissing))
	}
	if len(r.Unstable) > 0 {
		doc = append(doc, section(part("", "Values not compared, because %s itself gave two different answers: %s.", document.Line(r.First), p.some(r.Unstable)), differencesMissing))
	}
	var reasons conditions.Groups[string, string]
	for _, u := range r.Unasked {
		reasons.Add(fmt.Sprintf("%s: %s", u.Side, u.Reason), u.Where)
	}
	for _, key := range reasons.Keys {
		of := reasons.Of[key]
		doc = append(doc, section(part("", "Not run by %s: %s: %s.", document.Line(key), document.Counted(int64(len(of)), "statement"), p.some(of)), differencesMissing))
	}
	return doc
}

// failing lists the statements that fail with both sides.
func (p *words) failing(r *Result) document.Document {
	const most = 3
	if len(r.Failing) == 0 || len(p.d.Results) > 1 && !p.full { // of several sides they are mostly the same
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
	doc := part("", "With both %s and %s, %s, %s:", document.Line(r.First), document.Line(r.Second), failDiff(len(r.Failing)), words)
	for _, f := range list {
		doc = append(doc, indented("  ", "%s: %s", document.Line(f.Where), p.short(f.SQL)))
		if f.Other == "" {
			doc = append(doc, indented("    ", "%s", f.Error))
			continue
		}
		doc = append(doc, indented("    ", "%s: %s", document.Line(r.First), f.Error), indented("    ", "%s: %s", document.Line(r.Second), f.Other))
	}
	if rest := r.Failing[len(list):]; len(rest) > 0 {
		var names []string
		for _, f := range rest {
			names = append(names, f.Where)
		}
		doc = append(doc, indented("  ", "Also %s.", p.some(names)))
	}
	return doc
}

// short returns a statement, or its beginning unless everything is shown.
func (p *words) short(sql string) string {
	sql = document.Line(sql)
	if c := []rune(sql); !p.full && len(c) > sqlShown {
		return string(c[:sqlShown]) + " …"
	}
	return sql
}

// some lists the first of many.
func (p *words) some(list []string) string {
	const most = 5
	shown := list
	if !p.full && len(list) > most {
		p.cut = true
		shown = append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
	}
	return document.Line(strings.Join(shown, ", "))
}

// group says what differs in a group, and shows statements of it.
func (p *words) group(r *Result, g *Group) document.Section {
	brief := append(part("", "%s: %s: %s", strings.ToUpper(diffWords[g.Kind]), diffWhat(g), document.Counted(int64(len(g.Statements)), "statement")),
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
		var names []string
		for i := range rest {
			names = append(names, rest[i].At())
		}
		doc = append(doc, indented("  ", "Also %s.", p.some(names)))
	}
	return document.Section{Rank: 1, Forms: []document.Form{{Body: doc}, {Body: brief, Missing: statementsMissing}, {Missing: differencesMissing}}}
}

// diffShown is how many statements of a group are shown: one if they differ alike, and
// more if they have only the sort of difference in common.
func diffShown(g *Group) int {
	if g.Cause == None && g.Reason.Evidence != ByEarlier && (g.Kind == Values || g.Kind == Errors && g.Reason.Side == 0) {
		return 3
	}
	return 1
}

// sqlShown is how many characters of a statement are shown, unless all is.
const sqlShown = 200

func (p *words) statement(r *Result, s *Statement) document.Document {
	doc := document.Document{indented("  ", "%s: %s", document.Line(s.At()), p.short(s.SQL))}
	if len(s.Arguments) > 0 {
		var list []string
		for _, v := range s.Arguments {
			list = append(list, Show(v))
		}
		doc = append(doc, indented("    ", "with %s", document.Line(strings.Join(list, ", "))))
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
	width := max(text.StringWidth(document.Line(r.First)), text.StringWidth(document.Line(r.Second)))
	for _, side := range [][2]string{{r.First, s.First}, {r.Second, s.Second}} {
		label := "    " + text.Pad(document.Line(side[0]), width, ' ') + "  "
		doc = append(doc, indented(label, "%s", cmp.Or(side[1], "nothing")))
	}
	return doc
}

// diffWhat says what differs in a group.
func diffWhat(g *Group) string {
	switch g.Cause {
	case NUL:
		return "a text is cut at its first NUL"
	case Float:
		return "an integer that a float64 cannot hold has changed"
	case Rounding:
		return "the last digits of a real"
	case Zone:
		return "the time zone of a time"
	case Format:
		return "the same time in another form of text"
	case Clock:
		return "the same time, with a reading of the monotonic clock or without"
	case Null:
		return "NULL or not"
	case Invalid:
		return "bytes that are not UTF-8 are replaced"
	}
	if g.Types[0] != "" {
		what := g.Types[0] + " or " + g.Types[1]
		return document.Line(what + declared(g))
	}
	switch g.Kind {
	case Errors:
		return "one fails, or they fail in different ways"
	case RowCount:
		return "one returns more rows"
	case Values:
		return "different values"
	case Order:
		return "the same rows in another order"
	case Affected:
		return "a different number of changed rows is reported"
	case LastInsertID:
		return "a different ID of the last inserted row"
	case Types:
		return "different Go types"
	case Names:
		return "a column has a different name"
	case ErrorText:
		return "the same error in other words"
	}
	return "a column is reported with a different declared type"
}

// declared lists the declared types of a group's columns.
func declared(g *Group) string {
	var list []string
	for _, d := range g.Declared {
		if d != "" {
			list = append(list, d)
		}
	}
	if list == nil {
		return ""
	}
	if len(list) < len(g.Declared) {
		list = append(list, "without a declared type")
	}
	return ", declared " + document.Line(document.Or(list))
}

// DiffReason words the likely reason of a group.
func DiffReason(r *Result, g *Group) string {
	names := []string{"one of the libraries", document.Line(r.First), document.Line(r.Second)}
	side := names[g.Reason.Side]
	switch g.Reason.Evidence {
	case ByValues:
		return causeReason(g, side)
	case ByFeature:
		s := fmt.Sprintf("the SQLite of %s lacks %s", side, document.Line(g.Reason.Feature))
		if g.Reason.First != g.Reason.Second {
			s += fmt.Sprintf(" (%s %s, %s %s)", names[1], cmp.Or(document.Line(g.Reason.First), "-"), names[2], cmp.Or(document.Line(g.Reason.Second), "-"))
		}
		return s
	case BySetting:
		return fmt.Sprintf("%s is %s on %s and %s on %s, by default or as set", g.Reason.Feature, document.Line(g.Reason.First), names[1], document.Line(g.Reason.Second), names[2])
	case ByVersion:
		return fmt.Sprintf("SQLite's version (%s with %s, %s with %s), or else one of the libraries", document.Line(g.Reason.First), names[1], document.Line(g.Reason.Second), names[2])
	case ByOption:
		var only []string
		for i, options := range []string{g.Reason.First, g.Reason.Second} {
			if options != "" {
				only = append(only, fmt.Sprintf("%s has %s", names[i+1], document.Line(options)))
			}
		}
		return "SQLite's compile options: " + strings.Join(only, ", ") + ", and the other does not"
	case ByTransaction:
		return "an earlier transaction that wrote to the same table: one of them could not run all of its statements, so it was rolled back"
	case ByTimes:
		return fmt.Sprintf("each library stores a time.Time in its own format: %s %q, %s %q", names[1], document.Line(g.Reason.First), names[2], document.Line(g.Reason.Second))
	case ByEarlier:
		return "an earlier statement about the same table, which only one of them could run"
	}
	if g.Kind == Names && g.Reason.Side > 0 {
		return side + " itself: where several columns have the same name, only the last of them gets it, and the others get no name. SQLite gives each its name"
	}
	switch g.Kind {
	case ErrorType:
		return "each library has its own type of errors, which errors.As must name"
	case ErrorText:
		return "each library has its own texts of errors. The code is the same"
	}
	if g.Reason.Side > 0 {
		return side + " itself, which refuses it"
	}
	if g.Kind == Types || g.Kind == Declared {
		return "the libraries' own conversion, in which SQLite has no part"
	}
	return "one of the libraries, since both have the same SQLite with the same options"
}

// causeReason words what the values themselves show.
func causeReason(g *Group, side string) string {
	of := strings.TrimPrefix(declared(g), ",")
	switch g.Cause {
	case NUL:
		return side + " cuts texts at their first NUL, in binding or in reading"
	case Float:
		return side + " passes integers through float64"
	case Zone:
		return "one of the libraries converts times to another zone"
	case Format:
		return "each library stores a time.Time in its own format"
	case Clock:
		return side + " stores what time.Time.String returns. Of a time from time.Now that ends in the reading of the monotonic clock, which SQLite's functions of date and time do not understand; Round(0) removes it"
	case Time:
		return side + " makes a time.Time of columns" + of + ", and the other does not"
	case Bool:
		return side + " makes a bool of columns" + of + ", and the other does not"
	case Bytes:
		if slices.ContainsFunc(g.Declared, func(d string) bool { return strings.Contains(strings.ToUpper(d), "BLOB") }) {
			return side + " stores blobs as text, or returns them so"
		}
		return side + " returns texts as []byte"
	case Number:
		return side + " makes a float64 of integers in columns" + of
	case Text:
		return side + " makes a text of numbers in columns" + of
	case Null:
		return side + " takes an empty or other value for NULL, in binding or in reading"
	case Invalid:
		return side + " replaces bytes that are not UTF-8"
	}
	return side
}
