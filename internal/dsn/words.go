package dsn

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// DSN says how each driver treats a data source name.
type DSN struct {
	Name *Name
	Told []*Told // one for each driver; at least one
}

// Formats are the output formats of a [DSN].
var Formats = document.FormatsOf[*DSN, document.Options]{What: "data source name", List: []document.Format[*DSN, document.Options]{
	{Name: "table", To: writeDSN},
	{Name: "json", To: func(w io.Writer, d *DSN, _ document.Options) error { return document.Encode(w, jsonOf(d)) }},
}}

// JSONDSN is the JSON form of a [DSN]. Secrets are replaced by "***".
type JSONDSN struct {
	Version     int             `json:"version"`
	Answer      string          `json:"answer"`
	DSN         string          `json:"dsn"`
	Problem     string          `json:"problem,omitempty"`
	Options     []JSONDSNOption `json:"options"`
	Drivers     []*Told         `json:"drivers"`
	Differences []Difference    `json:"differences"`
}

// JSONDSNOption is the JSON form of an option of a data source name.
type JSONDSNOption struct {
	Option  string `json:"option"`
	Setting string `json:"setting,omitempty"`
	Wanted  string `json:"wanted,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func jsonOf(d *DSN) JSONDSN {
	out := JSONDSN{
		Version: 1, Answer: d.answer(), DSN: d.Name.String(), Problem: d.Name.Problem, Options: []JSONDSNOption{}, Drivers: d.Told,
		Differences: append([]Difference{}, Differences(d.Name, d.Told)...),
	}
	for _, o := range d.Name.Options {
		out.Options = append(out.Options, JSONDSNOption{o.String(), o.Setting, d.Name.Mask(o.Wanted), d.Name.Mask(o.Problem)})
	}
	return out
}

func (d *DSN) with(ok func(*Told) bool) (names []string) {
	for _, t := range d.Told {
		if ok(t) {
			names = append(names, document.Line(t.Driver))
		}
	}
	return names
}

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
		return t.Refused == "" && t.holds()
	})
	sentence := fmt.Sprintf("%d of %s %s %s: %s.", len(applied), drivers, document.Verb(len(applied), "applies", "apply"), what, document.And(applied))
	if len(applied) == 0 {
		sentence = fmt.Sprintf("None of %s applies %s.", drivers, what)
	}
	if refuse := d.with(func(t *Told) bool { return t.Refused != "" }); len(refuse) > 0 {
		sentence += fmt.Sprintf(" %s %s the name.", document.And(refuse), document.Verb(len(refuse), "refuses", "refuse"))
	}
	return sentence
}

func writeDSN(w io.Writer, d *DSN, opts document.Options) error {
	opts.Width = cmp.Or(opts.Width, 100)
	return document.RenderPart(w, d.document(opts.Width), nil, opts)
}

// document describes, for a terminal with the given width, how the drivers treat the DSN.
func (d *DSN) document(width int) document.Document {
	doc := slices.Concat(document.Document{labeled("", d.answer())}, d.ignored(), d.problems(), d.sharedCaches())
	if len(d.Name.Options) > 0 {
		doc = append(doc, d.table(width)...)
	}
	for _, s := range []struct {
		body    document.Document
		missing string
		rank    int
	}{
		{d.beware(), "what else happens", 1},
		{d.differences(), "what the name does not set", 2},
		{d.spellings(), "how each driver spells it", 4},
		{d.versions(), "versions", 3},
	} {
		if s.body != nil {
			doc = append(doc, document.Optional(s.rank, s.missing, append(document.Document{document.Space{}}, s.body...)...))
		}
	}
	return doc
}

func labeled(label, s string) document.Paragraph { return document.Paragraph{Label: label, Text: s} }

// versions lists the versions of the libraries, because other versions may treat options
// differently.
func (d *DSN) versions() document.Document {
	var list []string
	other := ""
	for _, t := range d.Told {
		if t.ModuleVersion != "" {
			name := strings.TrimSuffix(t.Driver, "@"+t.ModuleVersion)
			list = append(list, name+" "+t.ModuleVersion)
			other = cmp.Or(other, name)
		}
	}
	if list == nil {
		return nil
	}
	return document.Document{labeled("", fmt.Sprintf("Versions: %s. Others may take other options: name yours, as in %s@VERSION.", strings.Join(list, ", "), other))}
}

func (d *DSN) ignored() (doc document.Document) {
	for i := range d.Name.Options {
		o := d.Name.Options[i].String()
		for _, s := range []struct {
			outcome Outcome
			words   string
		}{
			{Ignored, "%s is silently ignored by %s."},
			{Default, "%s is ignored by %s, but is the default there."},
			{FirstOnly, "%s holds on the first connection only with %s."},
		} {
			names := d.with(func(t *Told) bool { return t.Failed == "" && t.Options[i].Outcome == s.outcome })
			if len(names) > 0 {
				doc = append(doc, labeled("", fmt.Sprintf(s.words, o, document.And(names))))
			}
		}
	}
	return doc
}

func (d *DSN) problems() (doc document.Document) {
	if d.Name.Problem != "" {
		doc = append(doc, labeled("! ", d.Name.Problem))
	}
	for i := range d.Name.Options {
		if o := &d.Name.Options[i]; o.Problem != "" {
			doc = append(doc, labeled("! ", d.Name.Mask(o.String()+": "+o.Problem)))
		}
	}
	for _, s := range d.Name.Repeated() {
		doc = append(doc, labeled("! ", d.Name.Mask(s)))
	}
	return doc
}

// sharedCaches returns a warning if connections share a cache. The outcomes of the options do not show what a
// shared cache does to locks.
func (d *DSN) sharedCaches() (doc document.Document) {
	for _, memory := range []bool{false, true} {
		names := d.with(func(t *Told) bool {
			return t.InForce["cache"] == "shared" && (t.InForce["mode"] == "memory") == memory
		})
		end := "Leave cache=shared out, and each connection has its own cache."
		if memory {
			end = "With one connection, no operation waits."
		}
		if len(names) > 0 {
			doc = append(doc, labeled("! ", fmt.Sprintf("%s: connections share one cache and lock its tables. SQLite returns SQLITE_LOCKED (\"database table is locked\") for that, for which no busy_timeout waits; a few libraries wait by themselves, without a limit. %s", document.And(names), end)))
		}
	}
	return doc
}

// table says how each driver treats each option. If the table is too wide, the titles of its
// columns are numbers, and lines above the table say which option each number means.
func (d *DSN) table(width int) document.Document {
	g := document.Grid{Columns: []document.Column{{Title: "DRIVER"}}}
	for i := range d.Name.Options {
		g.Columns = append(g.Columns, document.Column{Title: document.Line(d.Name.Options[i].String()), Whole: true})
	}
	used := map[Outcome]bool{}
	for _, t := range d.Told {
		row := []string{document.Line(t.Driver)}
		for _, v := range t.Options {
			row = append(row, cell(&v))
			used[v.Outcome] = true
		}
		g.Rows = append(g.Rows, row)
	}
	doc := document.Document{document.Space{}}
	if g.Width() > width {
		for i := range g.Columns[1:] {
			c := &g.Columns[i+1]
			number := fmt.Sprintf("[%d]", i+1)
			doc = append(doc, labeled(number+" ", c.Title))
			c.Title = number
		}
		doc = append(doc, document.Space{})
	}
	doc = append(doc, g)
	for _, l := range cellLegend {
		if used[l.outcome] {
			doc = append(doc, labeled("  "+l.word+": ", l.meaning))
		}
	}
	return doc
}

func cell(v *Verdict) string {
	is := document.Line(v.Is)
	switch v.Outcome {
	case Applied:
		if v.Default == v.Is {
			return "yes (default)"
		}
		return "yes"
	case Ignored:
		if is != "" {
			return "no, is " + is
		}
	case Refused:
		return "refused"
	case Differs:
		return "becomes " + is
	case Overruled:
		return "overruled: " + is
	}
	for _, l := range cellLegend {
		if l.outcome == v.Outcome {
			return l.word
		}
	}
	return "unseen"
}

// cellLegend has the words that the function "cell" returns for outcomes, with their meanings.
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

func (d *DSN) beware() (doc document.Document) {
	var drivers conditions.Groups[string, string]
	add := func(t *Told, what string) { drivers.Add(what, t.Driver) }
	for _, t := range d.Told {
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
	for _, what := range drivers.Keys {
		doc = append(doc, labeled("* ", document.And(drivers.Of[what])+": "+what))
	}
	return doc
}

func (d *DSN) differences() document.Document {
	list := Differences(d.Name, d.Told)
	if len(list) == 0 {
		return nil
	}
	doc := document.Document{labeled("", "Not set by this DSN, and not equal by default:")}
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
			doc = append(doc, labeled("  "+text.Pad(name, label, ' ')+"  ", s.Value+": "+strings.Join(s.Drivers, ", ")))
		}
	}
	return doc
}

// spellings lists how each driver gets the wanted settings. Drivers with the same spelling are
// listed together.
func (d *DSN) spellings() (doc document.Document) {
	if len(d.Name.Options) == 0 {
		return nil
	}
	heading := "In each driver's own spelling:"
	if list := d.Name.Wanted(); len(list) > 0 {
		wanted := document.Join(list, " ", func(w Wants) string { return w.Setting + "=" + d.Name.Mask(w.Value) })
		heading = "The same settings (" + wanted + ") in each driver's own spelling, opened and read back:"
	}
	doc = append(doc, labeled("", heading))
	var same conditions.Groups[string, *Told]
	for _, t := range d.Told {
		key := ""
		if s := t.Spelling; s != nil {
			key = fmt.Sprintf("%+v", *s)
			if len(s.Init) > 0 {
				key += t.EachConnection
			}
		}
		same.Add(key, t)
	}
	for _, key := range same.Keys {
		doc = append(doc, labeled("  ", document.Join(same.Of[key], ", ", func(t *Told) string { return t.Driver })))
		t := same.Of[key][0]
		s := t.Spelling
		if s == nil {
			doc = append(doc, labeled("    ", "cannot open such a name"))
			continue
		}
		doc = append(doc, document.Paragraph{Label: "    ", Text: s.DSN, Whole: true})
		for _, words := range s.Words(t.EachConnection) {
			doc = append(doc, labeled("    ", d.Name.Mask(words)))
		}
	}
	return doc
}
