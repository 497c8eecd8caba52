package document

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
)

//go:embed page
var pageFiles embed.FS

// Assets has page.css, marks.js and page.js. A page that is written with [Options.Assets] loads
// them.
var Assets = func() fs.FS {
	sub, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // cannot happen: the directory is embedded
	}
	return sub
}()

func asset(name string) string {
	data, err := fs.ReadFile(Assets, name)
	if err != nil {
		panic(err) // cannot happen: the file is embedded
	}
	return string(data)
}

var pageTemplate = template.Must(template.New("page.html").ParseFS(pageFiles, "page/page.html"))

type page struct {
	Title, Kind, Policy string

	Assets string // URL of the directory with style and script; "" if the page contains them
	Links  []Reference
	Style  template.CSS
	Script template.JS

	Heading     string
	LongHeading bool   // whether Heading has more than longHeading characters
	Lead        []view // blocks before the first section
	Sections    []section
}

type section struct {
	ID, Title string
	Blocks    []view
}

type view struct {
	ID     string // identifier of a heading
	Blocks []view // blocks of details

	Heading   *Heading
	Paragraph *Paragraph
	Reference *Reference
	List      List
	Details   *Details
	Grid      *gridView
	Picture   *pictureView
}

type pictureView struct {
	ID, Name, Title, Note, Source string
	Legend                        string // lines that a saved picture has above its source

	Headed bool // the heading above the picture is its title

	Wide, Narrow template.HTML // the picture for a wide page and for a phone; Narrow is "" if Wide fits both

	Fold   string // title of the details that hold Behind
	Behind []view
}

type gridView struct {
	Label   string // name of the table for screen readers
	Stacks  bool   // on a phone the cells of a row are shown below each other
	Columns []Column
	Rows    []rowView
}

type rowView struct {
	Leader bool
	Stacks bool
	Link   string // address that the row's name links to; "" if the name is not a link
	Cells  []cellView
}

type cellView struct {
	Pad    template.HTML // spaces before the text, which align the texts of a column
	Text   string
	Title  string // title of the cell's column
	Right  bool
	Long   bool // the text may be broken into lines
	Header bool // the cell is the name of the row
}

// These constants limit the characters of a text in a page. Text from elsewhere may have any
// length.
const (
	maxParagraph = 10_000
	maxCell      = 500
	maxLabel     = 200
	maxTitle     = 70
	maxPad       = 40
	longHeading  = 240
	longCell     = 30 // a longer cell may be broken into lines
)

// figureSpace is a space as wide as a digit. In a page it replaces the spaces that align figures.
const figureSpace = "&#8199;"

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	letters := []rune(s)
	if len(letters) <= most {
		return s
	}
	return fmt.Sprintf("%s… (cut: it has %s characters) …%s", string(letters[:most/2]), Thousands(int64(len(letters))), string(letters[len(letters)-most/2:]))
}

func start(s string, most int) string {
	if letters := []rune(s); len(letters) > most {
		return strings.TrimSpace(string(letters[:most])) + "…"
	}
	return s
}

// Generator is the line near the beginning of each page that names sqlite3perf as its generator.
const Generator = `<meta name="generator" content="sqlite3perf">`

// RenderHTML writes a document as a page. Without [Options.Assets], the page loads nothing from
// the network. The parameter "kind" names the kind of document, such as "Comparison".
func RenderHTML(w io.Writer, d Document, kind string, o Options) error {
	p := page{Kind: kind, Title: kind, Assets: o.Assets, Links: o.Links}
	r := htmlRenderer{ids: map[string]bool{"main": true}, level: 1}
	if o.Source != "" {
		d = slices.Insert(slices.Clone(d), min(1, len(d)), Block(Paragraph{Text: clip(o.Source, maxCell), Quiet: true}))
	}
	d = d.marked(d.has).each(oneLine, func(cell string) string { return harmless(strings.Map(printable, cell)) }) // this replaces dangerous characters; it does not shorten texts, because the functions that write HTML do that
	r.reserve(d)
	p.fill(&r, d)
	if r.err != nil {
		return r.err
	}
	p.Sections = slices.DeleteFunc(p.Sections, func(s section) bool { return len(s.Blocks) == 0 })
	p.Heading = cmp.Or(p.Heading, kind)
	p.LongHeading = len(p.Heading) > longHeading
	if p.Heading != kind {
		p.Title = start(p.Heading, maxTitle) + " · " + kind
	}
	sources := [2]string{"'self'", "'self'"}
	if o.Assets == "" {
		style, script := asset("page.css"), asset("marks.js")+asset("page.js")
		p.Style, p.Script = template.CSS(style), template.JS(script)
		sources = [2]string{hashSource(style), hashSource(script)}
	}
	// img-src allows the data: and blob: images with which the page's script saves pictures.
	p.Policy = fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data: blob:; base-uri 'none'; form-action 'none'", sources[0], sources[1])
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, &p); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// hashSource returns the source expression of a content security policy that allows exactly
// one text. See https://www.w3.org/TR/CSP3/#grammardef-hash-source.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// fill divides a document into sections, each of which begins with a heading of level 2. The
// first heading of level 1 is the heading of the page.
func (p *page) fill(r *htmlRenderer, d Document) {
	blocks := &p.Lead
	for _, b := range d {
		if h, ok := b.(Heading); ok {
			r.about = h.Text
			switch {
			case h.Level == 1 && p.Heading == "":
				p.Heading = clip(h.Text, maxParagraph)
				continue
			case h.Level == 2:
				r.level = 2
				title := clip(h.Text, maxCell)
				p.Sections = append(p.Sections, section{ID: r.id(cmp.Or(h.Named, h.Text)), Title: title})
				blocks = &p.Sections[len(p.Sections)-1].Blocks
				continue
			}
		}
		if v, ok := r.view(b); ok {
			*blocks = append(*blocks, v)
		}
	}
}

type htmlRenderer struct {
	ids   map[string]bool // identifiers that are already used
	about string          // text of the last heading
	level int             // level of the last heading
	err   error           // the first error of drawing a picture
}

// reserve marks the identifiers of details and pictures as used, so that no heading gets them.
func (r *htmlRenderer) reserve(d Document) {
	for _, b := range d {
		switch b := b.(type) {
		case Details:
			r.ids[b.ID] = true
			r.reserve(b.Body)
		case PictureBlock:
			r.ids[PictureID(b.Name)] = true
			r.reserve(b.Behind)
		}
	}
}

// id makes a unique identifier from a text.
func (r *htmlRenderer) id(text string) string {
	base := Slug(text)
	id := base
	for i := 2; r.ids[id]; i++ {
		id = fmt.Sprintf("%s-%d", base, i)
	}
	r.ids[id] = true
	return id
}

func (r *htmlRenderer) views(d Document) (list []view) {
	for _, b := range d {
		if v, ok := r.view(b); ok {
			list = append(list, v)
		}
	}
	return list
}

func (r *htmlRenderer) view(b Block) (v view, ok bool) {
	switch b := b.(type) {
	case Heading:
		// A level of headings is never skipped, because screen readers list the headings as an
		// outline.
		b.Level, b.Text = min(max(b.Level, 2), r.level+1), clip(b.Text, maxCell)
		r.level = b.Level
		return view{Heading: &b, ID: r.id(b.Text)}, true
	case Paragraph:
		b.Text = clip(strings.TrimLeft(b.Label, " ")+b.Text, maxParagraph)
		return view{Paragraph: &b}, true
	case Reference:
		return view{Reference: &b}, true
	case List:
		b = slices.Clone(b)
		for i := range b {
			b[i].Label, b[i].Text = clip(b[i].Label, maxLabel), clip(b[i].Text, maxParagraph)
		}
		return view{List: b}, true
	case Details:
		b.Title = clip(b.Title, maxLabel)
		return view{Details: &b, Blocks: r.views(b.Body)}, true
	case PictureBlock:
		return view{Picture: r.picture(&b)}, true
	case Grid:
		return view{Grid: r.grid(&b)}, true
	}
	return view{}, false
}

func (r *htmlRenderer) picture(p *PictureBlock) *pictureView {
	v := &pictureView{ID: PictureID(p.Name), Name: p.Name, Title: clip(p.Title, maxCell), Note: clip(p.Note, maxParagraph), Source: clip(p.Source, maxCell), Headed: p.Headed, Fold: cmp.Or(clip(p.Fold, maxLabel), "Figures")}
	v.Legend = clip(strings.Join(p.Legend(), "\n"), maxParagraph)
	v.Wide = r.inline(chart.Titled{Chart: p.Plot, Width: chart.Page}, v.ID+"-wide")
	if !p.Aside {
		v.Narrow = r.inline(chart.Titled{Chart: p.Plot, Width: chart.Phone}, v.ID+"-narrow")
	}
	behind := p.Behind
	if behind == nil {
		behind = Document{ChartGrid(p.Plot)}.cleaned()
	}
	about, level := r.about, r.level
	r.about = v.Title
	v.Behind = r.views(behind)
	r.about, r.level = about, level
	return v
}

// inline draws a chart as an SVG element of the page. Package chart escapes the texts in it.
func (r *htmlRenderer) inline(c chart.Chart, id string) template.HTML {
	var b bytes.Buffer
	if err := chart.WriteInline(&b, c, id); err != nil && r.err == nil {
		r.err = err
	}
	return template.HTML(b.String())
}

// ChartGrid returns the figures that a chart draws, as a table.
func ChartGrid(c chart.Chart) Grid {
	columns, rows := chart.Table(c)
	return Grid{Columns: Map(columns, func(title string) Column { return Column{Title: title} }), Rows: rows}
}

func (r *htmlRenderer) grid(g *Grid) *gridView {
	out := &gridView{Label: clip(r.about, maxLabel), Stacks: g.Stacks}
	names := slices.IndexFunc(g.Columns, func(c Column) bool { return !c.Right && c.Title != "#" && c.Title != "rank" })
	for _, c := range g.Columns {
		c.Title = clip(c.Title, maxLabel)
		out.Columns = append(out.Columns, c)
	}
	for i, row := range g.Rows {
		cells := make([]cellView, len(row))
		for j, text := range row {
			trimmed := strings.TrimLeft(text, " ")
			pad := strings.Repeat(figureSpace, min(len(text)-len(trimmed), maxPad))
			cells[j] = cellView{Pad: template.HTML(pad), Text: clip(trimmed, maxCell), Title: out.Columns[j].Title, Right: g.Columns[j].Right, Long: len(trimmed) > longCell, Header: j == names}
		}
		row := rowView{Leader: i < len(g.Leaders) && g.Leaders[i], Stacks: g.Stacks, Cells: cells}
		if i < len(g.Links) {
			row.Link = g.Links[i]
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
