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

// Assets are page.css and page.js, which a page written with [Options.Assets] needs.
var Assets = func() fs.FS {
	sub, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the directory is embedded
	}
	return sub
}()

func asset(name string) string {
	data, err := fs.ReadFile(Assets, name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(data)
}

var pageTemplate = template.Must(template.New("page.html").ParseFS(pageFiles, "page/page.html"))

type page struct {
	Language, Title, Kind, Policy string

	Assets string // where style and script are; "" if they are in the page
	Style  template.CSS
	Script template.JS

	Heading     string
	LongHeading bool   // of several sentences
	Lead        []view // before the first section
	Sections    []section
}

type section struct {
	ID, Title string
	Blocks    []view
}

type view struct {
	ID     string // of a heading
	Blocks []view // of details

	Heading   *Heading
	Paragraph *Paragraph
	Reference *Reference
	List      List
	Details   *Details
	Grid      *gridView
	Picture   *pictureView
}

type pictureView struct {
	ID, Name, Title, Note string
	Headed                bool // the heading above it is its title

	Wide, Narrow template.HTML // the picture for a page and for a phone; "" if the page's will do

	Behind []view
}

type gridView struct {
	Label   string // what the table is called for those who can't see where it is
	Stacks  bool   // on a phone each row has its cells below each other
	Columns []Column
	Rows    []rowView
}

type rowView struct {
	Leader bool
	Stacks bool
	Link   string // what the name of the row leads to; "" if to nothing
	Cells  []cellView
}

type cellView struct {
	Pad    template.HTML // in front of the text, to line it up
	Text   string
	Title  string // of its column
	Right  bool
	Long   bool // it may be broken into lines
	Header bool // it names the row
}

// The most characters of a text in a page. What somebody else wrote may be of any length.
const (
	maxParagraph = 10_000
	maxCell      = 500
	maxLabel     = 200
	maxTitle     = 70
	maxPad       = 40
	longHeading  = 240
	longCell     = 30 // from here on it may be broken into lines
)

// figureSpace is as wide as a digit, so it aligns what spaces align in a text.
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

// Generator is a line near the beginning of each page that names sqlite3perf.
const Generator = `<meta name="generator" content="sqlite3perf">`

// RenderHTML writes a document as a page that loads nothing from the network. kind names the kind
// of document, such as "Comparison".
func RenderHTML(w io.Writer, d Document, kind string, o Options) error {
	p := page{Language: "en", Kind: kind, Title: kind, Assets: o.Assets}
	r := htmlRenderer{ids: map[string]bool{"main": true}}
	d = d.each(oneLine, func(cell string) string { return harmless(strings.Map(printable, cell)) }) // it cuts texts itself
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
		style, script := asset("page.css"), asset("page.js")
		p.Style, p.Script = template.CSS(style), template.JS(script)
		sources = [2]string{hashSource(style), hashSource(script)}
	}
	// Pictures are saved by way of images that the page makes itself.
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
				title := clip(h.Text, maxCell)
				p.Sections = append(p.Sections, section{ID: r.id(h.Text), Title: title})
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
	ids   map[string]bool // that are taken
	about string          // the last heading
	err   error           // the first of drawing a picture
}

// reserve keeps the identifiers of blocks from being given to headings.
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

// id makes an identifier of a text that no other element has.
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
		b.Level, b.Text = max(b.Level, 2), clip(b.Text, maxCell)
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
	v := &pictureView{ID: PictureID(p.Name), Name: p.Name, Title: clip(p.Title, maxCell), Note: clip(p.Note, maxParagraph)}
	v.Headed = p.Headed
	v.Wide = r.inline(p.Draw(chart.Page, ""), v.ID+"-wide")
	if !p.Aside {
		v.Narrow = r.inline(p.Draw(chart.Phone, ""), v.ID+"-narrow")
	}
	behind := p.Behind
	if behind == nil {
		behind = Document{ChartGrid(p.Chart(0))}.cleaned()
	}
	about := r.about
	r.about = v.Title
	v.Behind = r.views(behind)
	r.about = about
	return v
}

// inline draws a chart as an element of the page. Package chart escapes what it is given.
func (r *htmlRenderer) inline(c chart.Chart, id string) template.HTML {
	var b bytes.Buffer
	if err := chart.WriteInline(&b, c, id); err != nil && r.err == nil {
		r.err = err
	}
	return template.HTML(b.String())
}

// ChartGrid returns the figures behind a chart as a table.
func ChartGrid(c chart.Chart) Grid {
	columns, rows := chart.Table(c)
	g := Grid{Rows: rows}
	for _, title := range columns {
		g.Columns = append(g.Columns, Column{Title: title})
	}
	return g
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
