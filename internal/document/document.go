// Package document writes an answer as text, as a screen of limited height, as Markdown or as a
// page. An answer is a document of blocks; how a value is written, with its unit, is here too.
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

// Document is a report for people, before it is rendered as text or Markdown.
type Document []Block

// Block is a heading, paragraph, reference, list, details, picture, grid or space.
type Block interface{}

// Space is an empty line.
type Space struct{}

type Heading struct {
	Level int // from 1
	Text  string
	Most  int // lines on a terminal; 0: as many as it has
}

// Paragraph is running text.
type Paragraph struct {
	Text  string
	Quiet bool   // read last
	Label string // printed before the first line; further lines are indented by its width
	Whole bool   // one line, however long, so that it can be copied
	Most  int    // lines on a terminal; 0: as many as it has
}

// Section is a part of an answer that a screen can show in less room.
type Section struct {
	Forms []Form // each shorter than the one before; other formats use the first
	Rank  int    // the section with the highest rank is shortened first
}

// Form is one way to show a section.
type Form struct {
	Body    Document
	Missing string // names what this form does not show
	Rank    int    // added to the section's rank when this form would be next
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

// Reference says where more can be read.
type Reference struct{ Title, Address string }

// Methodology refers to a section of the methodology.
func Methodology(section string) Reference {
	return Reference{"the methodology: " + section, "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/methodology.md#" + Slug(section)}
}

// List is a list of labeled lines. Alarming labels are highlighted.
type List []Item

type Item struct {
	Label, Text string
	Alarm       bool
	Most        int // lines on a terminal; 0: as many as it has
}

// Note adds an item, unless its text is empty.
func (l *List) Note(i Item) {
	if i.Text != "" {
		*l = append(*l, i)
	}
}

// Details are blocks that Markdown and pages show only when they are opened. Other formats show
// them without the title.
type Details struct {
	Title string
	Body  Document
	ID    string // by which a page refers to it; "" if by nothing
	Nest  bool   // what is in it is closed in its turn
}

// PictureBlock is a chart, which only pages show.
type PictureBlock struct {
	Picture
	Behind Document // the figures that are shown; nil: those of the chart
	Headed bool     // the heading above it says what it is
	Aside  bool     // there is no version of it for a phone, where it has to be moved instead
}

// Glossary explains columns of the tables before it. It leaves out columns that are not shown.
type Glossary []Explained

// Explained is the title of a column and its meaning.
type Explained struct{ Column, Text string }

// paragraph explains the columns that are shown.
func (g Glossary) paragraph(columns []string) Paragraph {
	var words []string
	for _, e := range g {
		if slices.Contains(columns, e.Column) {
			words = append(words, e.Column+": "+e.Text)
		}
	}
	return Paragraph{Text: strings.Join(words, " "), Quiet: true}
}

// Explained returns the document with paragraphs instead of glossaries, for formats that show all
// columns.
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
	Leaders []bool   // rows such that no other row is told apart as faster
	Links   []string // what the name of each row leads to in a page; nil if to nothing
	Stacks  bool     // a page on a phone has the cells of a row below each other
}

// Add adds a column, with one word for each row.
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
	Right bool // aligned
	Whole bool // figures with their intervals, which no line break may part

	// drop orders the columns that may be left out if there is not enough room. The
	// column with the highest value goes first. One with 0 never goes.
	Drop int
}

func (d Document) cleaned() Document {
	// Alignment within a column uses spaces.
	return d.Whole().each(Line, func(cell string) string { return harmless(strings.Map(printable, clip(cell, maxCell))) })
}

// each returns the document with line applied to its text, and cell to the cells of grids. It
// leaves out empty lists.
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
			}
			out = append(out, b)
		case Details:
			b.Title, b.Body = line(b.Title), b.Body.each(line, cell)
			if len(b.Body) > 0 {
				out = append(out, b)
			}
		case PictureBlock:
			b.Title, b.Note, b.Behind = line(b.Title), line(b.Note), b.Behind.each(line, cell)
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
	Name  string // by which it can be asked for: no other picture of the run has it
	Title string
	Note  string // how to read it; "" if that is plain
	Kind  Kind
	Of    stats.TableName // what it is of: without a phase of several, without a workload of the whole run

	Draw func(width int, title string) chart.Chart
}

// Chart draws the picture with its title, width pixels wide; 0 means [chart.Page].
func (p Picture) Chart(width int) chart.Chart { return p.Draw(width, p.Title) }

// Kind is what a picture shows.
type Kind string

// The kinds of pictures.
const (
	KindSummary  Kind = "summary"  // the drivers, over all tables
	KindRatios   Kind = "ratios"   // each driver in each table
	KindRanking  Kind = "ranking"  // the rows of a table
	KindLatency  Kind = "latency"  // by percentile
	KindScaling  Kind = "scaling"  // throughput over a number such as that of clients
	KindSettings Kind = "settings" // crossed settings as a map
	KindErrors   Kind = "errors"   // of operations, and the time lost with them
	KindSamples  Kind = "samples"  // in the order measured
	KindMemory   Kind = "memory"
	KindProfile  Kind = "profile" // where the time goes
	KindStudy    Kind = "study"   // published figures beside measured ones
)

func (d Document) Pictures() (list []Picture) {
	for _, b := range d {
		switch b := b.(type) {
		case PictureBlock:
			list = append(list, b.Picture)
		case Details:
			list = append(list, b.Body.Pictures()...)
		}
	}
	return list
}

// PictureID returns the identifier of a picture in a page.
func PictureID(name string) string { return "picture-" + name }

// Slug makes an identifier of a text: lower-case letters, digits and hyphens.
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

// Hint is a command, with a word or two for its output.
type Hint struct{ Shows, Command string }

// Options determine how a document is written.
type Options struct {
	Color bool // for table: use ANSI colors
	Width int  // for table: columns of the terminal, at least 40; 0 means 120
	Lines int  // for table: if above 0, only what is read first, in at most that many lines, at least 16
	ASCII bool // for table: the terminal shows nothing else
	Hints Hints

	// Assets, for html, is the URL of the directory that has the files of the variable
	// Assets, with a slash at its end. If it is "" they are part of the page.
	Assets string
}

// Hints are flags and commands that a reader can type. A hint is "" if the program has none for
// it.
type Hints struct {
	Workloads string // the flag that names workloads
	AddedCost string // the command that lists what sqlite3perf adds to each driver's time
	Compare   string // the command that compares the sides of this run
	Resume    string // the command that continues this run; "" if it cannot be
	Directory string // the flag that names the directory for databases
	Scale     string // the flag that makes workloads larger
	Samples   string // what gives a profile more samples
	Pass      string // what lets a gate pass that could not exclude a regression

	More []string // the commands that show more of what was measured
	Rest []Hint   // the commands that show what there was no room for
}

// Extensions are the file name extensions of each format.
var Extensions = []struct{ Extension, Format string }{
	{".txt", "table"}, {".md", "markdown"}, {".markdown", "markdown"}, {".html", "html"}, {".htm", "html"},
	{".csv", "csv"}, {".json", "json"}, {".bench", "benchfmt"}, {".benchfmt", "benchfmt"}, {".xml", "junit"}, {".svg", "svg"}, {".png", "png"},
}

// Blocks returns pictures as a document.
func Blocks(pictures []PictureBlock) (d Document) {
	for _, p := range pictures {
		d = append(d, p)
	}
	return d
}

// UniqueNames gives each picture of a document a unique name.
func UniqueNames(d Document, taken map[string]bool) Document {
	for i, b := range d {
		switch b := b.(type) {
		case PictureBlock:
			base := b.Name
			for n := 2; taken[b.Name]; n++ {
				b.Name = fmt.Sprintf("%s-%d", base, n)
			}
			taken[b.Name] = true
			d[i] = b
		case Details:
			b.Body = UniqueNames(b.Body, taken)
			d[i] = b
		}
	}
	return d
}

const maxSlug = 100
