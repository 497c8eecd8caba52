// Package document writes an answer as text, as a screen of limited height, as Markdown or as a
// page. An answer is a document of blocks. The package also formats values with their units.
package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Document is a report for people, before it is rendered as text, Markdown or a page.
type Document []Block

// Block is a heading, paragraph, reference, list, details, picture, grid or space.
type Block interface{}

// Space is an empty line.
type Space struct{}

type Heading struct {
	Level int // level of the heading, from 1
	Text  string
	Most  int    // most lines printed on a terminal; 0: all
	Named string // the text that its address in a page is made from; "": Text
}

// Paragraph is running text.
type Paragraph struct {
	Text  string
	Quiet bool   // less important than other text
	Label string // printed before the first line; further lines are indented by the label's width
	Whole bool   // never wrapped, so that the line can be copied
	Most  int    // most lines printed on a terminal; 0: all
}

// Section is a part of an answer with shorter forms for a screen.
type Section struct {
	Forms []Form // forms, each shorter than the one before; only a screen uses forms other than the first
	Rank  int    // the section with the highest rank is shortened first
}

// Form is one way to show a section.
type Form struct {
	Body    Document
	Missing string // names what this form does not show
	Rank    int    // added to Section.Rank when choosing which section gets its next shorter form
}

// Optional returns a section that is left out if there is no room for it. missing names it then.
func Optional(rank int, missing string, body ...Block) Section {
	return Section{Rank: rank, Forms: []Form{{Body: body}, {Missing: missing}}}
}

// Whole returns the document with every section in its longest form.
func (d Document) Whole() (out Document) {
	for _, b := range d {
		if s, ok := b.(Section); ok {
			out = append(out, s.Forms[0].Body.Whole()...)
		} else {
			out = append(out, b)
		}
	}
	return out
}

// Reference is a link to a document that says more.
type Reference struct{ Title, Address string }

// Methodology returns a reference to a section of docs/methodology.md.
func Methodology(section string) Reference {
	return Reference{"the methodology: " + section, "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/methodology.md#" + Slug(section)}
}

// List is a list of labeled lines. Alarming labels are highlighted.
type List []Item

type Item struct {
	Label, Text string
	Mark        string // mark that the item explains, such as "*"; it is printed before the label if a cell of a grid contains it
	Alarm       bool
	Most        int  // most lines printed on a terminal; 0: all; below 0: all, even if the list is shortened
	Brief       bool // a page cuts the text to one line, because the full text is shown elsewhere
	Warning     bool // whether the item is a warning; a screen counts the warnings that it leaves out
	Kept        bool // a screen may shorten the item but never leaves it out

	// Short has up to two shorter versions of Text, the longer version first; "" means that there is none.
	// If Most is 1 or 2, and Text needs more lines than that, the first version that fits is shown instead.
	Short [2]string
}

// Alarms returns the items of a list that are alarms.
func (l List) Alarms() List {
	return slices.DeleteFunc(slices.Clone(l), func(i Item) bool { return !i.Alarm })
}

// Note adds an item, unless its text is empty.
func (l *List) Note(i Item) {
	if i.Text != "" {
		*l = append(*l, i)
	}
}

// Brief returns a copy of the list in which each item is limited to one line. Items with a negative
// Most are never cut, and stay unchanged.
func (l List) Brief() List {
	l = slices.Clone(l)
	for i := range l {
		if l[i].Most >= 0 {
			l[i].Most = 1
		}
	}
	return l
}

// Details are blocks that Markdown and pages hide until the reader opens them. Other formats show
// the blocks without the title.
type Details struct {
	Title string
	Body  Document
	ID    string // identifier for links in a page; "" if no link needs one
	Nest  bool   // whether details within these details are also closed at first
}

// PictureBlock is a picture in a document. Only pages show it.
type PictureBlock struct {
	Picture
	Behind Document // blocks in closed details below the picture, such as its figures; nil: a table of the chart's figures
	Fold   string   // title of the closed details that hold Behind; "" means "Figures"
	Headed bool     // the heading above the picture serves as its title
	Aside  bool     // the picture has no narrow version; readers scroll it on a phone
}

// Glossary explains columns of the tables before it. Columns that are not shown are not explained.
type Glossary []Explained

// Explained is the title of a column and its meaning.
type Explained struct{ Column, Text string }

// paragraph returns a paragraph with the explanations of the given columns.
func (g Glossary) paragraph(columns []string) Paragraph {
	var words []string
	for _, e := range g {
		if slices.Contains(columns, e.Column) {
			words = append(words, e.Column+": "+e.Text)
		}
	}
	return Paragraph{Text: strings.Join(words, " "), Quiet: true}
}

// Explained returns the document with each glossary replaced by a paragraph, for formats that show
// all columns.
func (d Document) Explained() Document {
	var out Document
	var columns []string
	for _, b := range d {
		switch t := b.(type) {
		case Grid:
			for _, c := range t.Columns {
				columns = append(columns, c.Title)
			}
		case Glossary:
			b = t.paragraph(columns)
		}
		out = append(out, b)
	}
	return out
}

// Grid is a table.
type Grid struct {
	Columns []Column
	Rows    [][]string
	Leaders []bool   // for each row, whether no other row is significantly faster
	Links   []string // address that the name of each row links to in a page; nil: no links
	Stacks  bool     // on a phone, a page shows the cells of a row below each other
}

// Add adds a column to the grid. words has the text of the column's cell in each row.
func (g *Grid) Add(c Column, words []string) {
	g.Columns = append(g.Columns, c)
	if g.Rows == nil {
		g.Rows = make([][]string, len(words))
	}
	for i, w := range words {
		g.Rows[i] = append(g.Rows[i], w)
	}
}

func (g *Grid) table(columns []int, f func(string) string) table.Writer {
	t := table.NewWriter()
	var configs []table.ColumnConfig
	var header table.Row
	for i, k := range columns {
		align := text.AlignLeft
		if g.Columns[k].Right {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
		header = append(header, f(g.Columns[k].Title))
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(header)
	for _, row := range g.Rows {
		var cells table.Row
		for _, k := range columns {
			cells = append(cells, f(row[k]))
		}
		t.AppendRow(cells)
	}
	return t
}

type Column struct {
	Title string
	Right bool // aligned to the right
	Whole bool // cells must not be broken into lines, such as figures with their intervals

	// Drop orders the columns that may be left out if there is not enough room. The
	// column with the highest value is left out first. A column with 0 is always shown.
	Drop int
}

func (d Document) cleaned() Document {
	d = d.Whole()
	d = d.marked(d.has)
	// The spaces in cells align the figures of a column. [Line] would remove these spaces, so it is
	// not used for cells.
	return d.each(Line, func(cell string) string { return harmless(strings.Map(printable, clip(cell, maxCell))) })
}

// has reports whether a cell of any grid contains a mark.
func (d Document) has(mark string) bool {
	return slices.ContainsFunc(d, func(b Block) bool {
		switch b := b.(type) {
		case Grid:
			return slices.ContainsFunc(b.Rows, func(row []string) bool {
				return slices.ContainsFunc(row, func(cell string) bool { return strings.Contains(cell, mark) })
			})
		case Details:
			return b.Body.has(mark)
		case PictureBlock:
			return b.Behind.has(mark)
		}
		return false
	})
}

// marked returns the document with the marks of items before their labels. It leaves out each mark
// m for which has(m) is false.
func (d Document) marked(has func(mark string) bool) Document {
	d = slices.Clone(d)
	for i, b := range d {
		switch b := b.(type) {
		case List:
			b = slices.Clone(b)
			for k := range b {
				if m := b[k].Mark; m != "" && has(m) {
					b[k].Label = m + " " + b[k].Label
				}
			}
			d[i] = b
		case Details:
			b.Body = b.Body.marked(has)
			d[i] = b
		case PictureBlock:
			b.Behind = b.Behind.marked(has)
			d[i] = b
		}
	}
	return d
}

// each applies line() to the texts and titles of the document, and cell() to its labels and to the
// cells of its grids. It returns the resulting document, without empty lists and empty details. It
// overwrites the lists and grids of d.
func (d Document) each(line, cell func(string) string) Document {
	var out Document
	for _, b := range d {
		switch b := b.(type) {
		case Heading:
			b.Text = line(b.Text)
			out = append(out, b)
		case Paragraph:
			b.Text, b.Label = line(b.Text), cell(b.Label)
			out = append(out, b)
		case List:
			if len(b) == 0 {
				continue
			}
			for i := range b {
				b[i].Label, b[i].Text = cell(line(b[i].Label)), line(b[i].Text)
				b[i].Short = [2]string{line(b[i].Short[0]), line(b[i].Short[1])}
			}
			out = append(out, b)
		case Details:
			b.Title, b.Body = line(b.Title), b.Body.each(line, cell)
			if len(b.Body) > 0 {
				out = append(out, b)
			}
		case PictureBlock:
			b.Title, b.Note, b.Source, b.Behind = line(b.Title), line(b.Note), line(b.Source), b.Behind.each(line, cell)
			out = append(out, b)
		case Grid:
			for j := range b.Columns {
				b.Columns[j].Title = cell(line(b.Columns[j].Title))
			}
			for _, row := range b.Rows {
				for j := range row {
					row[j] = cell(row[j])
				}
			}
			out = append(out, b)
		default:
			out = append(out, b)
		}
	}
	return out
}

// Picture is a chart that can be drawn in any width.
type Picture struct {
	Name   string // name by which a user requests the picture; unique within a run
	Title  string
	Note   string // how to read the picture; "" if that is obvious
	Kind   Kind
	Marks  []string        // what the marks in names mean, such as "! marks …"; the note also has these sentences
	Source string          // the run, its date and its machine, for a picture that is saved as a file
	Of     stats.TableName // table that the picture shows; Phase is "" for several phases, Workload is "" for the whole run

	// Confidence is the level of the intervals in the picture, such as 0.95; 0 if it is not known.
	Confidence float64

	Plot chart.Chart // the picture without its title
}

// Chart returns the picture with its title, width pixels wide; 0 means the plot's default width.
func (p Picture) Chart(width int) chart.Chart {
	return chart.Titled{Chart: p.Plot, Title: p.Title, Width: width}
}

// File returns what [Picture.Chart] returns, with the legend and the source below, for a file.
func (p Picture) File(width int) chart.Chart {
	return chart.Titled{Chart: p.Plot, Title: p.Title, Width: width, Legend: p.Legend(), Source: p.Source}
}

// Legend has a sentence for each mark in the names, and one for the intervals if the picture shows
// any.
func (p Picture) Legend() []string {
	list := slices.Clone(p.Marks)
	words := chart.Intervals(p.Plot)
	switch {
	case words == "":
		return list
	case p.Confidence > 0:
		return append(list, fmt.Sprintf("%s show %s confidence intervals.", Upper(words), Percent(p.Confidence)))
	}
	return append(list, Upper(words)+" show confidence intervals.")
}

// Kind is what a picture shows.
type Kind string

// The kinds of pictures.
const (
	KindSummary  Kind = "summary"  // time of the drivers over all tables
	KindRatios   Kind = "ratios"   // ratio of each driver in each table
	KindRanking  Kind = "ranking"  // ranking of the drivers in a table
	KindLatency  Kind = "latency"  // latency by percentile
	KindScaling  Kind = "scaling"  // throughput by a number, such as the number of clients
	KindSettings Kind = "settings" // combinations of settings, as a heat map
	KindErrors   Kind = "errors"   // errors of operations, and the time lost by them
	KindSamples  Kind = "samples"  // samples in the order in which they were measured
	KindMemory   Kind = "memory"
	KindTradeoff Kind = "tradeoff" // time of the drivers over all tables, against their memory
	KindProfile  Kind = "profile"  // where the time goes
	KindStudy    Kind = "study"    // published and measured figures, side by side
)

func (d Document) Pictures() (list []Picture) {
	d.eachPicture(func(p *Picture) { list = append(list, *p) })
	return list
}

// PictureID returns the identifier of a picture in a page.
func PictureID(name string) string { return "picture-" + name }

// Slug converts a text to an identifier of lower-case letters, digits and hyphens.
func Slug(text string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	return cmp.Or(strings.Trim(b.String(), "-"), "part")
}

// Hint is a command. Shows says in a word or two what the command prints.
type Hint struct{ Shows, Command string }

// Options determine how a document is written.
type Options struct {
	Color bool // for the format "table": use ANSI colors
	Width int  // for the format "table": columns of the terminal, at least 40; 0 means 120
	Lines int  // for the format "table": if above 0, write a short form of at most this many lines, at least 16
	ASCII bool // for the format "table": write ASCII only
	Hints Hints

	// Assets, for the format "html", is the URL of the directory with the files of the variable
	// Assets. It ends with a slash. If it is "", each page contains the files.
	Assets string

	Source string // for the format "html": the line below the headline that names the run; "" if there is none

	// Links, for the format "html", are at the top of the page. They lead to other pages of a site.
	Links []Reference
}

// Hints are flags and commands that a reader can type. A hint is "" if the program has no such flag
// or command.
type Hints struct {
	Workloads string // the flag that names workloads
	AddedCost string // the command that lists what sqlite3perf adds to each driver's time
	Compare   string // the command that compares the two sides of this run
	Further   string // the command that measures the additional rounds that a comparison or an imprecise figure needs; "" if there is none
	Full      string // the command that prints the whole report
	FullFlag  string // the flag with which the command Full prints the whole report
	Resume    string // the command that continues this run; "" if the run cannot be continued
	Directory string // the flag that names the directory for databases
	Scale     string // the flag that makes workloads larger
	Samples   string // the flags that give a profile more samples
	Pass      string // advice for a gate that could not exclude a regression

	More []string // the commands that show more figures of this run
	Rest []Hint   // the commands that show what this screen has no room for
}

// Extensions maps file name extensions to formats.
var Extensions = []struct{ Extension, Format string }{
	{".txt", "table"}, {".md", "markdown"}, {".markdown", "markdown"}, {".html", "html"}, {".htm", "html"},
	{".csv", "csv"}, {".json", "json"}, {".bench", "benchfmt"}, {".benchfmt", "benchfmt"}, {".xml", "junit"}, {".svg", "svg"}, {".png", "png"},
}

// Blocks returns a document that consists of the given pictures.
func Blocks(pictures []PictureBlock) (d Document) {
	for _, p := range pictures {
		d = append(d, p)
	}
	return d
}

// UniqueNames renames pictures of d so that each has a unique name, and returns d. The map taken
// has the names that are already used; UniqueNames adds the new names to it.
func UniqueNames(d Document, taken map[string]bool) Document {
	return d.eachPicture(func(p *Picture) {
		base := p.Name
		for n := 2; taken[p.Name]; n++ {
			p.Name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[p.Name] = true
	})
}

// WithSource sets the source of all pictures of d, and returns d.
func WithSource(d Document, source string) Document {
	return d.eachPicture(func(p *Picture) { p.Source = source })
}

// WithConfidence sets the level of the intervals in all pictures of d, and returns d.
func WithConfidence(d Document, level float64) Document {
	return d.eachPicture(func(p *Picture) { p.Confidence = level })
}

// eachPicture calls f for each picture of d, in order, so that f can change the picture. It changes
// d itself, and returns d.
func (d Document) eachPicture(f func(*Picture)) Document {
	for i, b := range d {
		switch b := b.(type) {
		case PictureBlock:
			f(&b.Picture)
			b.Behind = b.Behind.eachPicture(f)
			d[i] = b
		case Details:
			b.Body = b.Body.eachPicture(f)
			d[i] = b
		}
	}
	return d
}

const maxSlug = 100
