package explorer

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Charts is the answer to /api/v1/runs/{id}/charts: the pictures of a run.
type Charts struct {
	Run    int64       `json:"run"`
	Kinds  []ChartKind `json:"kinds"` // the kinds of pictures that Charts has
	Charts []Chart     `json:"charts"`
	More   int         `json:"more,omitempty"` // number of pictures that are left out
}

// ChartKind is a kind of picture.
type ChartKind struct {
	Name  document.Kind `json:"name"`
	Title string        `json:"title"`
	Usual bool          `json:"usual,omitempty"` // whether a run's page shows this kind unless the user chooses other kinds
}

var chartKinds = []ChartKind{
	{document.KindStudy, "published and measured", true},
	{document.KindProfile, "where the time goes", true},
	{document.KindSummary, "all cells together", true},
	{document.KindTradeoff, "time and memory", false},
	{document.KindRatios, "drivers × cells", true},
	{document.KindScaling, "throughput", true},
	{document.KindSettings, "matrix of settings", true},
	{document.KindRanking, "ranking", false},
	{document.KindLatency, "latency by percentile", false},
	{document.KindErrors, "errors and waits", false},
	{document.KindSamples, "samples in order", false},
	{document.KindMemory, "memory", false},
}

// Chart is a picture of a run.
type Chart struct {
	Name  string        `json:"name"` // name of the picture in its path
	Kind  document.Kind `json:"kind"`
	Title string        `json:"title"`
	Note  string        `json:"note,omitempty" clip:"2000"` // how to read the picture

	// The picture shows one phase. If Phase is absent, it shows the entire workload; if Workload is absent,
	// it shows the entire run.
	Workload string `json:"workload,omitempty"`
	Variant  string `json:"variant,omitempty"`
	Phase    string `json:"phase,omitempty"`
}

// Drawn is the answer to /api/v1/runs/{id}/charts/{name}: a drawn picture, and its figures as a
// table.
type Drawn struct {
	Chart
	SVG     string     `json:"svg" clip:"-"` // an svg element for a page that loads /assets/chart.css
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	More    int        `json:"more,omitempty"` // number of rows that are left out
}

const (
	maxCharts    = 1000
	maxChartRows = 1000

	leastChartWidth = 280 // least width of a picture, in pixels
	mostChartWidth  = 1600
)

func chartOf(p document.Picture) Chart {
	return Chart{p.Name, p.Kind, p.Title, p.Note, p.Of.Workload, p.Of.Variant, p.Of.Phase}
}

func (f filter) only(a *stats.Analysis) func(*result.Case, string) bool {
	groups := map[int]*stats.Group{}
	for g, o := range a.OutcomesByGroup() {
		groups[o.Case.ID] = g
	}
	return func(c *result.Case, phase string) bool {
		g := groups[c.ID]
		return g != nil && matches(f.drivers, c.Driver) && matches(f.workloads, g.Workload) && matches(f.variants, g.Variant()) && matches(f.phases, phase)
	}
}

// album keeps the pictures of the last request. A page requests its pictures one by one, so the next
// request probably needs the same pictures.
type album struct {
	mu   sync.Mutex
	of   *stats.Analysis
	what string
	list []document.Picture
}

// pictures returns the pictures of the cells that a filter keeps. If inPage is set, marks in the
// pictures link to the samples.
func (s *Server) pictures(a *stats.Analysis, keep filter, inPage bool) []document.Picture {
	s.album.mu.Lock()
	defer s.album.mu.Unlock()
	what := fmt.Sprintf("%q %v", keep, inPage)
	if s.album.of != a || s.album.what != what {
		s.album.of, s.album.what, s.album.list = a, what, s.draw(a, keep, inPage)
	}
	return s.album.list
}

func (s *Server) draw(a *stats.Analysis, keep filter, inPage bool) []document.Picture {
	link := toSamples
	if !inPage {
		link = func(int, string) string { return "" }
	}
	o := s.options.Describe(a)
	o.Only, o.Link = keep.only(a), link
	var list []document.Picture
	if o.Study != nil {
		list = report.Pictures(a, o)
		o.Study = nil
	}
	return append(list, report.Pictures(a, o)...)
}

// toSamples returns the address of the samples of a case and phase, in the page of the run.
func toSamples(id int, phase string) string {
	if phase == "" {
		return "" // no link, because a figure of a study need not belong to a phase
	}
	return fmt.Sprintf("?case=%d&of=%s", id, url.QueryEscape(clip(phase)))
}

func (s *Server) listCharts(r *http.Request, q *query) (*Charts, error) {
	keep, kinds := q.cells(), q.list("kind")
	a, err := s.judgedRun(r, q)
	if err != nil {
		return nil, err
	}
	out := &Charts{Run: a.Run.ID}
	has := map[document.Kind]bool{}
	for _, p := range s.pictures(a, keep, true) {
		if !matches(kinds, string(p.Kind)) {
			continue
		}
		has[p.Kind] = true
		if len(out.Charts) == maxCharts {
			out.More++
			continue
		}
		out.Charts = append(out.Charts, chartOf(p))
	}
	for _, k := range chartKinds {
		if has[k.Name] {
			out.Kinds = append(out.Kinds, k)
		}
	}
	return out, nil
}

// getChart answers with one picture: a file if the name ends in .svg or .png, otherwise JSON.
func (s *Server) getChart(w http.ResponseWriter, r *http.Request) {
	file := path.Ext(r.PathValue("name"))
	name := strings.TrimSuffix(r.PathValue("name"), file)
	q := parse(r)
	keep, width := q.cells(), q.number("width", chart.Page, leastChartWidth, mostChartWidth)
	a, err := s.judgedRun(r, q)
	if err == nil && file != "" && !slices.Contains(report.PictureFormats.Names(), file[1:]) {
		err = failf(http.StatusNotFound, "charts: %q: want the name of a chart, alone or with .svg or .png", clip(r.PathValue("name")))
	}
	if err != nil {
		writeError(w, err)
		return
	}
	list := s.pictures(a, keep, file == "")
	i := slices.IndexFunc(list, func(p document.Picture) bool { return p.Name == name })
	if i < 0 {
		writeError(w, failf(http.StatusNotFound, "run %d has no chart %q of this choice: /api/v1/runs/%[1]d/charts lists them", a.Run.ID, clip(name)))
		return
	}
	var b bytes.Buffer
	if file == "" {
		err = chart.WriteInline(&b, list[i].Chart(int(width)), "chart-"+name)
	} else {
		err = report.PictureFormats.Write(&b, file[1:], list[i], int(width))
	}
	switch {
	case err != nil:
		writeError(w, err)
	case file == "":
		columns, rows := chart.Table(list[i].Plot)
		more := max(0, len(rows)-maxChartRows)
		writeJSON(w, http.StatusOK, Drawn{chartOf(list[i]), b.String(), columns, rows[:len(rows)-more], more})
	default:
		w.Header().Set("Content-Type", types[file])
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + file}))
		_, _ = w.Write(b.Bytes()) // fails only if the client has disconnected
	}
}

var chartColors = fmt.Sprintf(":root { %s }\n@media (prefers-color-scheme: dark) { :root { %s } }\n", chart.Properties(false), chart.Properties(true))
