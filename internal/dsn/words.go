package dsn

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// DSN is what drivers make of a data source name.
type DSN struct {
	Name *Name
	Told []*Told // at least one
}

var dsnFormats = document.FormatsOf[*DSN, document.Options]{
	{Name: "table", To: writeDSN},
	{Name: "json", To: writeDSNJSON},
}

// CheckDSN returns an error if there is no such format of what drivers make of a DSN.
func CheckDSN(format string) error { return dsnFormats.Check(format) }

// WriteDSN writes what drivers make of a data source name in a format.
func WriteDSN(w io.Writer, format string, d *DSN, opts document.Options) error {
	return dsnFormats.Write(w, "data source name", format, d, opts)
}

// JSONDSN is the JSON form of what drivers make of a data source name. Secrets are
// replaced by ***.
type JSONDSN struct {
	Version     int             `json:"version"`
	Answer      string          `json:"answer"`
	DSN         string          `json:"dsn"`
	Problem     string          `json:"problem,omitempty"`
	Options     []JSONDSNOption `json:"options"`
	Drivers     []*Told         `json:"drivers"`
	Differences []Difference    `json:"differences"`
}

// JSONDSNOption is an option of a data source name.
type JSONDSNOption struct {
	Option  string `json:"option"`
	Setting string `json:"setting,omitempty"`
	Wanted  string `json:"wanted,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func writeDSNJSON(w io.Writer, d *DSN, _ document.Options) error {
	out := JSONDSN{
		Version: 1, Answer: d.answer(), DSN: d.Name.String(), Problem: d.Name.Problem, Options: []JSONDSNOption{}, Drivers: d.Told,
		Differences: append([]Difference{}, Differences(d.Name, d.Told)...),
	}
	for i := range d.Name.Options {
		o := &d.Name.Options[i]
		out.Options = append(out.Options, JSONDSNOption{o.String(), o.Setting, d.Name.Mask(o.Wanted), d.Name.Mask(o.Problem)})
	}
	return document.Encode(w, out)
}

// with returns the drivers of which ok is true.
func (d *DSN) with(ok func(*Told) bool) (names []string) {
	for _, t := range d.Told {
		if ok(t) {
			names = append(names, document.Line(t.Driver))
		}
	}
	return names
}

// answer says in a sentence who applies all options.
func (d *DSN) answer() string {
	n := len(d.Name.Options)
	drivers := document.Counted(int64(len(d.Told)), "driver")
	if n == 0 {
		opened := d.with(func(t *Told) bool { return t.Failed == "" && t.File == "" })
		return fmt.Sprintf("%d of %s open it, and it sets nothing: what is in force is each library's default.", len(opened), drivers)
	}
	what := "the option"
	if n > 1 {
		what = fmt.Sprintf("all %d options", n)
	}
	applied := d.with(func(t *Told) bool {
		return t.Refused == "" && !slices.ContainsFunc(t.Options, func(v Verdict) bool { return !v.Outcome.Holds() })
	})
	verb := "apply"
	if len(applied) == 1 {
		verb = "applies"
	}
	sentence := fmt.Sprintf("%d of %s %s %s: %s.", len(applied), drivers, verb, what, document.Enumerate(applied))
	if len(applied) == 0 {
		sentence = fmt.Sprintf("None of %s applies %s.", drivers, what)
	}
	if refuse := d.with(func(t *Told) bool { return t.Refused != "" }); len(refuse) > 0 {
		verb := "refuse"
		if len(refuse) == 1 {
			verb = "refuses"
		}
		sentence += fmt.Sprintf(" %s %s the name.", document.Enumerate(refuse), verb)
	}
	return sentence
}

func writeDSN(w io.Writer, d *DSN, opts document.Options) error {
	p := &dsnPrinter{d: d, width: opts.Width}
	if p.width == 0 {
		p.width = 100
	}
	p.paragraph("", d.answer())
	p.ignored()
	p.problems()
	p.sharedCaches()
	if len(d.Name.Options) > 0 {
		p.table()
	}
	p.rest(opts)
	_, err := io.WriteString(w, p.out.String())
	return err
}

// rest prints what follows the answer or, if opts allows fewer lines, the parts of it for which
// there is room, and what the others are.
func (p *dsnPrinter) rest(opts document.Options) {
	parts := []struct {
		name  string
		print func()
	}{
		{"what else happens", p.beware},
		{"what the name does not set", p.differences},
		{"how each driver spells it", p.spellings},
		{"versions", p.versions},
	}
	texts, all := make([]string, len(parts)), 0
	head := p.out.String()
	for i, part := range parts {
		p.out.Reset()
		part.print()
		texts[i] = p.out.String()
		all += strings.Count(texts[i], "\n")
	}
	p.out.Reset()
	p.out.WriteString(head)
	room := max(opts.Lines, document.LeastLines) - strings.Count(head, "\n")
	cut := opts.Lines > 0 && all > room
	if cut {
		room -= 3 // what is said below
	}
	var left []string
	for i, t := range texts {
		if n := strings.Count(t, "\n"); !cut || n <= room {
			p.out.WriteString(t)
			room -= n
		} else {
			left = append(left, parts[i].name)
		}
	}
	if left != nil {
		p.out.WriteString("\n")
		words := "Not shown: " + strings.Join(left, "; ") + "."
		for _, h := range opts.Hints.Rest {
			words += " " + document.Upper(h.Shows) + ": " + h.Command + "."
		}
		p.paragraph("", words)
	}
}

type dsnPrinter struct {
	d     *DSN
	width int
	out   strings.Builder
}

// paragraph prints a text after a label, wrapped beside it.
func (p *dsnPrinter) paragraph(label, s string) {
	indent := strings.Repeat(" ", text.StringWidth(label))
	for i, line := range document.WrapText(s, max(p.width-len(indent), 20)) {
		if i == 0 {
			p.out.WriteString(label + line + "\n")
		} else {
			p.out.WriteString(indent + line + "\n")
		}
	}
}

// versions says whose answer this is: options come and go with versions.
func (p *dsnPrinter) versions() {
	var list []string
	other := ""
	for _, t := range p.d.Told {
		if t.ModuleVersion != "" {
			list = append(list, strings.TrimSuffix(document.Line(t.Driver), "@"+t.ModuleVersion)+" "+document.Line(t.ModuleVersion))
			other = cmp.Or(other, strings.TrimSuffix(document.Line(t.Driver), "@"+t.ModuleVersion))
		}
	}
	if list == nil {
		return
	}
	p.heading(fmt.Sprintf("Versions: %s. Others may take other options: name yours, as in %s@VERSION.", strings.Join(list, ", "), other))
}

func (p *dsnPrinter) heading(s string) {
	p.out.WriteString("\n")
	p.paragraph("", s)
}

// ignored says of each option who ignores it.
func (p *dsnPrinter) ignored() {
	for i := range p.d.Name.Options {
		o := p.d.Name.Options[i].String()
		with := func(outcomes ...Outcome) []string {
			return p.d.with(func(t *Told) bool {
				return t.Failed == "" && slices.Contains(outcomes, t.Options[i].Outcome)
			})
		}
		if names := with(Ignored); len(names) > 0 {
			p.paragraph("", fmt.Sprintf("%s is silently ignored by %s.", document.Line(o), document.Enumerate(names)))
		}
		if names := with(Default); len(names) > 0 {
			p.paragraph("", fmt.Sprintf("%s is ignored by %s, but is the default there.", document.Line(o), document.Enumerate(names)))
		}
		if names := with(FirstOnly); len(names) > 0 {
			p.paragraph("", fmt.Sprintf("%s holds on the first connection only with %s.", document.Line(o), document.Enumerate(names)))
		}
	}
}

// problems tells what looks like a mistake in the DSN.
func (p *dsnPrinter) problems() {
	if p.d.Name.Problem != "" {
		p.paragraph("! ", document.Line(p.d.Name.Problem))
	}
	for i := range p.d.Name.Options {
		if o := &p.d.Name.Options[i]; o.Problem != "" {
			p.paragraph("! ", document.Line(p.d.Name.Mask(o.String()+": "+o.Problem)))
		}
	}
	for _, s := range p.d.Name.Repeated() {
		p.paragraph("! ", document.Line(p.d.Name.Mask(s)))
	}
}

// sharedCaches says what it means that connections share a cache, which nobody sees in the
// answers of the options.
func (p *dsnPrinter) sharedCaches() {
	for _, memory := range []bool{false, true} {
		names := p.d.with(func(t *Told) bool {
			return t.InForce["cache"] == "shared" && (t.InForce["mode"] == "memory") == memory
		})
		end := "Leave cache=shared out, and each connection has its own cache."
		if memory {
			end = "With one connection nobody waits."
		}
		if len(names) > 0 {
			p.paragraph("! ", fmt.Sprintf("%s: connections share one cache and lock its tables. SQLite returns SQLITE_LOCKED (\"database table is locked\") for that, for which no busy_timeout waits; a few libraries wait by themselves, without a limit. %s", document.Enumerate(names), end))
		}
	}
}

// table prints the drivers and what each makes of each option. Long options have
// numbers, which the lines above the table explain.
func (p *dsnPrinter) table() {
	header := []string{"DRIVER"}
	for i := range p.d.Name.Options {
		header = append(header, document.Line(p.d.Name.Options[i].String()))
	}
	rows := [][]string{header}
	used := map[Outcome]bool{}
	for _, t := range p.d.Told {
		row := []string{document.Line(t.Driver)}
		for _, v := range t.Options {
			row = append(row, cell(&v))
			used[v.Outcome] = true
		}
		rows = append(rows, row)
	}
	p.out.WriteString("\n")
	if tableWidth(rows) > p.width {
		for i, name := range header[1:] {
			p.paragraph(fmt.Sprintf("[%d] ", i+1), name)
			header[i+1] = "[" + strconv.Itoa(i+1) + "]"
		}
		p.out.WriteString("\n")
	}
	widths := columnWidths(rows)
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(text.Pad(c, widths[i]+2, ' '))
		}
		p.out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	for _, l := range cellLegend {
		if used[l.outcome] {
			p.paragraph("  "+l.word+": ", l.meaning)
		}
	}
}

func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], text.StringWidth(c))
		}
	}
	return widths
}

func tableWidth(rows [][]string) (n int) {
	for _, w := range columnWidths(rows) {
		n += w + 2
	}
	return n - 2
}

// cell puts a verdict into a few words.
func cell(v *Verdict) string {
	is := document.Line(v.Is)
	switch v.Outcome {
	case Applied:
		if v.Default == v.Is {
			return "yes (default)"
		}
		return "yes"
	case Default:
		return "no, default"
	case Ignored:
		if is != "" {
			return "no, is " + is
		}
		return "no"
	case Refused:
		return "refused"
	case Differs:
		return "becomes " + is
	case Overruled:
		return "overruled: " + is
	case FirstOnly:
		return "first only"
	case Heeded:
		return "checked"
	case Changes:
		return "changes"
	case Void:
		return "none there"
	}
	return "unseen"
}

// cellLegend explains the words of cells that do not explain themselves.
var cellLegend = []struct {
	outcome       Outcome
	word, meaning string
}{
	{Ignored, "no", "silently ignored: another value has no effect either"},
	{Default, "no, default", "silently ignored, but it is so by default"},
	{Overruled, "overruled", "takes effect alone, but not together with the other options"},
	{FirstOnly, "first only", "holds on the first connection of the pool, but not on the second"},
	{Heeded, "checked", "the library refuses a nonsensical value, so it reads the option; its effect cannot be read back"},
	{Changes, "changes", "has an effect, which is listed below"},
	{Unseen, "unseen", "accepted, and nothing that can be read back changes; a nonsensical value is accepted, too"},
	{Void, "none there", "means nothing for a database in memory"},
}

// beware tells what else happens.
func (p *dsnPrinter) beware() {
	first := true
	say := func(format string, args ...any) {
		if first {
			p.out.WriteString("\n")
			first = false
		}
		p.paragraph("* ", document.Line(fmt.Sprintf(format, args...)))
	}
	drivers := map[string][]string{}
	var order []string
	add := func(t *Told, what string) {
		if drivers[what] == nil {
			order = append(order, what)
		}
		drivers[what] = append(drivers[what], t.Driver)
	}
	for _, t := range p.d.Told {
		if t.Failed != "" {
			add(t, "the name cannot be opened even without options: "+t.Failed)
			continue
		}
		if t.File != "" {
			add(t, fmt.Sprintf("the file that is made is named %q: the whole name is taken for a path", t.File))
		}
		for _, v := range t.Options {
			if v.Outcome == Refused {
				add(t, v.Option+" is refused: "+v.Error)
			}
			for _, c := range v.Changes {
				add(t, fmt.Sprintf("%s changes %s from %s to %s", v.Option, c.Setting, c.From, c.To))
			}
		}
		if t.Own {
			add(t, "each connection has its own database in memory: use one connection, or a shared cache")
		}
		if t.Second != "" {
			add(t, "no second connection can be opened: "+t.Second)
		}
		if t.Refused != "" && !slices.ContainsFunc(t.Options, func(v Verdict) bool { return v.Outcome == Refused }) {
			add(t, "the options are refused together: "+t.Refused)
		}
	}
	for _, what := range order {
		say("%s: %s", document.Enumerate(drivers[what]), what)
	}
}

// differences lists what the DSN leaves to the libraries.
func (p *dsnPrinter) differences() {
	list := Differences(p.d.Name, p.d.Told)
	if len(list) == 0 {
		return
	}
	p.heading("Not set by this DSN, and different:")
	label := 0
	for _, diff := range list {
		label = max(label, len(diff.Setting))
	}
	for _, diff := range list {
		for i, s := range diff.Values {
			name := diff.Setting
			if i > 0 {
				name = ""
			}
			p.paragraph(fmt.Sprintf("  %-*s  ", label, name), document.Line(s.Value+": "+strings.Join(s.Drivers, ", ")))
		}
	}
}

// spellings lists how each driver is given the wanted settings. Drivers with the same
// spelling are listed together.
func (p *dsnPrinter) spellings() {
	wanted := p.d.Name.Wanted()
	if len(p.d.Name.Options) == 0 {
		return
	}
	var groups [][]*Told
	same := func(a, b *Told) bool {
		x, y := a.Spelling, b.Spelling
		if x == nil || y == nil {
			return x == y
		}
		return x.DSN == y.DSN && slices.Equal(x.Init, y.Init) && x.Begin == y.Begin && x.Failed == y.Failed &&
			slices.Equal(x.Missing, y.Missing) && slices.Equal(x.LeftOut, y.LeftOut) && (len(x.Init) == 0 || a.EachConnection == b.EachConnection)
	}
	for _, t := range p.d.Told {
		if i := slices.IndexFunc(groups, func(g []*Told) bool { return same(g[0], t) }); i >= 0 {
			groups[i] = append(groups[i], t)
		} else {
			groups = append(groups, []*Told{t})
		}
	}
	var words []string
	for _, w := range wanted {
		words = append(words, w.Setting+"="+p.d.Name.Mask(w.Value))
	}
	if len(words) == 0 {
		p.heading("In each driver's own spelling:")
	} else {
		p.heading("The same settings (" + document.Line(strings.Join(words, " ")) + ") in each driver's own spelling, opened and read back:")
	}
	for _, g := range groups {
		var names []string
		for _, t := range g {
			names = append(names, document.Line(t.Driver))
		}
		p.paragraph("  ", strings.Join(names, ", "))
		s := g[0].Spelling
		if s == nil {
			p.paragraph("    ", "cannot open such a name")
			continue
		}
		p.out.WriteString("    " + document.Line(s.DSN) + "\n") // never broken, so that it can be copied
		if len(s.Init) > 0 {
			where := g[0].EachConnection
			if where == "" {
				where = "on each new connection"
			}
			p.paragraph("    ", document.Line(fmt.Sprintf("and in code (%s): %s", where, strings.Join(s.Init, "; "))))
		}
		if s.Begin != "" {
			p.paragraph("    ", document.Line("and begin transactions that write with "+s.Begin))
		}
		if len(s.LeftOut) > 0 {
			p.paragraph("    ", document.Line("no such option here: "+strings.Join(s.LeftOut, ", ")))
		}
		for _, m := range s.Missing {
			p.paragraph("    ", document.Line(fmt.Sprintf("not possible here: %s is %s, not %s", m.Setting, p.d.Name.Mask(m.Got), p.d.Name.Mask(m.Wanted))))
		}
		if s.Failed != "" {
			p.paragraph("    ", document.Line("not possible here: "+s.Failed))
		}
	}
}
