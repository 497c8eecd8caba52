package website

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/trends"
)

// history is what the runs of a store say about a driver.
type history struct {
	name     string
	releases []release      // the newest first
	series   []trends.Trend // in the order of the page
	more     int            // number of series that the page leaves out
	older    map[olderKey][]JSONOlder
	floor    *JSONFloor // time relative to plain C, in the newest run that measured the driver and plain C; nil if there is none
	floorIn  *JSONRun
	floorOf  string // version of the library whose time is in the field "floor"
}

// release is a version of a driver's library.
type release struct {
	library, sqlite string
	first, newest   *JSONRun
	compared        *JSONRun // the newest run that compares this release with an older one; nil if there is none
	runs            int
	harmful         []string // ids of known defects
}

// olderKey identifies a figure: a phase of a case of a run.
type olderKey struct {
	run   int64
	id    int
	phase string
}

// Limits of a driver's page, so that it stays small however many runs there are.
const (
	mostSeries = 60  // number of series on the page; each cell has one series
	mostRuns   = 200 // number of newest runs whose times are shown
	mostPoints = 60  // number of newest points in a picture

	mostMachine = 300 // greatest number of characters that describe a machine
)

// drivers returns the history of each driver, by name.
func (b *builder) drivers() []*history {
	byName := map[string]*history{}
	figures := map[string][]trends.Trend{}
	for i, f := range slices.Backward(newestFirst(b.facts)) {
		for k := range f.Figures {
			x := &f.Figures[k]
			name := result.BaseDriver(x.Driver)
			h := byName[name]
			if h == nil {
				h = &history{name: name, older: map[olderKey][]JSONOlder{}}
				byName[name] = h
			}
			series := x.Driver
			if released(series) {
				series = name // all releases of a driver get the same name, so they are in the same series
				h.add(f, x)
			}
			h.older[olderKey{f.Run, x.Case, x.Phase}] = x.Older
			if i < mostRuns {
				figures[name] = append(figures[name], f.trend(x, series))
			}
		}
		for i, r := range f.Floor {
			h, at := byName[result.BaseDriver(r.Driver)], slices.IndexFunc(f.Figures, func(x JSONFigure) bool { return x.Driver == r.Driver })
			if h == nil || at < 0 || !released(r.Driver) || r.Driver == b.Floor {
				continue
			}
			if of := f.Figures[at].Library; h.floorIn != f || compareReleases(of, h.floorOf) > 0 {
				h.floor, h.floorIn, h.floorOf = &f.Floor[i], f, of
			}
		}
	}
	var list []*history
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		h := byName[name]
		slices.SortStableFunc(h.releases, func(a, b release) int { return compareReleases(b.library, a.library) })
		h.series, h.more = trends.Series(figures[name], mostSeries)
		slices.SortStableFunc(h.series, func(a, b trends.Trend) int {
			return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Host, b.Host))
		})
		list = append(list, h)
	}
	return list
}

// add notes that a run measured a release.
func (h *history) add(f *JSONRun, p *JSONFigure) {
	i := slices.IndexFunc(h.releases, func(r release) bool { return r.library == p.Library && r.sqlite == p.SQLite })
	if i < 0 {
		i = len(h.releases)
		h.releases = append(h.releases, release{library: p.Library, sqlite: p.SQLite, first: f})
	}
	r := &h.releases[i]
	if r.newest != f {
		r.newest = f
		r.runs++
	}
	if len(p.Older) > 0 {
		r.compared = f
	}
	for _, id := range p.Harmful {
		r.harmful = distinct.Append(r.harmful, id)
	}
}

// marked returns the name of the driver, with [report.HarmMark] if its newest release has defects that
// can lose or falsify data.
func (h *history) marked() string {
	if len(h.releases) == 0 {
		return h.name
	}
	return marked(h.name, h.releases[0].harmful)
}

// page returns the name of the driver's page.
func (h *history) page() string { return "drivers/" + fileName(h.name) + ".html" }

func (h *history) badge() string { return "badges/" + fileName(h.name) + ".svg" }

// fileName makes the name of a file from a driver's name. Different drivers get different file names.
func fileName(driver string) string {
	name := document.Slug(driver)
	if name != driver {
		name += "-" + directory.Sum([]byte(driver))[:8]
	}
	return name
}

func date(t time.Time) string { return t.UTC().Format("2006-01-02") }

// version returns the short name of a library's version, or "unknown".
func version(library string) string { return cmp.Or(conditions.ShortVersion(library), "unknown") }

func (h *history) document() document.Document {
	d := document.Document{document.Heading{Level: 1, Text: h.headline()}}
	if len(h.releases) > 0 {
		d = append(d, document.Paragraph{Text: h.source(), Quiet: true})
	}
	if h.floor != nil {
		d = append(d, document.Paragraph{Text: fmt.Sprintf("In run %d, %s was %s, over %s.",
			h.floorIn.Run, h.floor.Driver, toPlainC(h.floor.Ratio), document.Counted(h.floor.Cells, "cell"))})
	}
	if len(h.series) > 0 {
		d = append(d, document.Heading{Level: 2, Text: "Which release changed what"}, h.cellGrid())
	}
	if len(h.releases) > 0 {
		d = append(d, document.Heading{Level: 2, Text: "Releases"}, h.releaseGrid())
	}
	d = append(d, h.cells()...)
	if h.more > 0 {
		d = append(d, document.Paragraph{Text: fmt.Sprintf("%s more: sqlite3perf serve shows them.", document.Counted(h.more, "cell")), Quiet: true})
	}
	return append(d, document.Heading{Level: 2, Text: "Badge"}, document.Paragraph{Text: fmt.Sprintf("The badge %s says: %s.", h.badge(), strings.Join(h.badgeWords(), " ")), Quiet: true})
}

// headline names the newest release, and says how it compares with the release before.
func (h *history) headline() string {
	if len(h.releases) == 0 {
		return h.name
	}
	head := strings.TrimSpace(h.name + " " + conditions.ShortVersion(h.releases[0].library))
	if c := h.change(); c.cells > 0 {
		head += ": " + c.words()
	}
	return head
}

// source says when and where the releases were measured.
func (h *history) source() string {
	first := slices.MinFunc(h.releases, func(a, b release) int { return a.first.Started.Compare(b.first.Started) }).first
	newest := slices.MaxFunc(h.releases, func(a, b release) int { return a.newest.Started.Compare(b.newest.Started) }).newest
	return fmt.Sprintf("%s, measured from %s to %s. The newest: %s", document.Counted(len(h.releases), "release"), date(first.Started), date(newest.Started), newest.source())
}

// toPlainC says how the time of a driver compares with that of plain C.
func toPlainC(r stats.Summary) string {
	if r.Interval != nil && r.Interval.Low <= 1 && r.Interval.High >= 1 {
		return "about as fast as plain C"
	}
	return document.SlowerThan(r, "plain C")
}

// cellGrid lists the series, with the median time in the newest run, and the releases that made the
// series slower or faster. Each row links to the picture of its series.
func (h *history) cellGrid() document.Grid {
	g := document.Grid{Stacks: true}
	g.Add(document.Column{Title: "cell"}, toldApart(document.Map(h.series, func(t trends.Trend) named {
		return named{t.Workload + " " + h.phaseName(&t), conditionWords(t.Scale, t.Parameters, t.Settings)}
	})))
	for i := range h.series {
		g.Links = append(g.Links, "#"+document.PictureID(pictureName(i)))
	}
	each := func(c document.Column, text func(t *trends.Trend) string) {
		g.Add(c, document.Map(h.series, func(t trends.Trend) string { return document.Line(text(&t)) }))
	}
	newest := func(t *trends.Trend) trends.Point { return t.Points[len(t.Points)-1] }
	each(document.Column{Title: "changed"}, func(t *trends.Trend) string { return cmp.Or(h.changed(t), document.Absent) })
	if h.several() {
		each(document.Column{Title: "machine"}, func(t *trends.Trend) string { return cmp.Or(short(t.Host), document.Absent) })
	}
	each(document.Column{Title: "newest time", Right: true}, func(t *trends.Trend) string { return timeFormat(t.Unit)(newest(t).Median) })
	each(document.Column{Title: "of"}, func(t *trends.Trend) string {
		return fmt.Sprintf("%s, run %d", version(newest(t).Library), newest(t).Run)
	})
	return g
}

// timeFormat returns a function that formats times with a unit, such as "s/op".
func timeFormat(unit string) func(float64) string {
	return document.SecondsOf(strings.TrimPrefix(unit, "s"))
}

// several reports whether the series are of several machines.
func (h *history) several() bool {
	machines := document.Map(h.series, func(t trends.Trend) string { return conditions.Machine(t.Machine) })
	return len(slices.Compact(slices.Sorted(slices.Values(machines)))) > 1
}

const noChange = "no clear change"

// changed names the releases whose times in a series clearly differ from the times of the release
// before, if one run measured both releases. The newest release comes first.
func (h *history) changed(t *trends.Trend) string {
	byRelease := map[string]string{}
	any := false
	for _, p := range t.Points {
		if list := h.olderAt(t, &p); len(list) > 0 {
			any = true
			delete(byRelease, p.Library)
			if o := list[len(list)-1]; o.Significant {
				byRelease[p.Library] = fmt.Sprintf("%s: %s (run %d)", version(p.Library), document.Than(document.SlowerBy(o.Ratio), version(o.Library)), p.Run)
			}
		}
	}
	if any && len(byRelease) == 0 {
		return noChange
	}
	releases := slices.SortedFunc(maps.Keys(byRelease), func(a, b string) int { return compareReleases(b, a) })
	return strings.Join(document.Map(releases, func(l string) string { return byRelease[l] }), "; ")
}

// olderAt returns how a point compares with older releases in its run, the oldest first.
func (h *history) olderAt(t *trends.Trend, p *trends.Point) []JSONOlder {
	return h.older[olderKey{p.Run, p.Case, t.Phase}]
}

func (h *history) releaseGrid() document.Grid {
	g := document.Grid{Stacks: true}
	g.Add(document.Column{Title: "release"}, document.Map(h.releases, func(r release) string { return cmp.Or(r.library, version("")) }))
	g.Add(document.Column{Title: "SQLite"}, document.Map(h.releases, func(r release) string { return version(r.sqlite) }))
	g.Add(document.Column{Title: "first measured"}, document.Map(h.releases, func(r release) string { return date(r.first.Started) }))
	g.Add(document.Column{Title: "newest run"}, document.Map(h.releases, func(r release) string { return fmt.Sprintf("%d, %s", r.newest.Run, date(r.newest.Started)) }))
	g.Add(document.Column{Title: "runs", Right: true}, document.Map(h.releases, func(r release) string { return fmt.Sprint(r.runs) }))
	g.Links = document.Map(h.releases, func(r release) string { return "../" + pageOf(r.newest.Run) })
	if slices.ContainsFunc(h.releases, func(r release) bool { return r.harmful != nil }) {
		g.Add(document.Column{Title: "harmful defects"}, document.Map(h.releases, func(r release) string { return cmp.Or(strings.Join(r.harmful, ", "), "–") }))
	}
	return g
}

// cells returns a section for each workload and machine, with a picture of each cell.
func (h *history) cells() (d document.Document) {
	title := ""
	several := h.several()
	for i := range h.series {
		t := &h.series[i]
		now := t.Workload
		if several {
			now += " on " + cmp.Or(short(t.Host), "an unknown machine")
		}
		if now != title {
			title = now
			d = append(d, document.Heading{Level: 2, Text: title}, document.Paragraph{Text: cut(conditions.Machine(t.Machine), mostMachine), Quiet: true})
		}
		d = append(d, document.Heading{Level: 3, Text: h.cellName(t)})
		if text := changes(t); text != "" {
			d = append(d, document.Paragraph{Text: text})
		}
		d = append(d, h.picture(i, t))
	}
	return d
}

// cellName names a series within its workload.
func (h *history) cellName(t *trends.Trend) string {
	return h.phaseName(t) + " · " + strings.Join(conditionWords(t.Scale, t.Parameters, t.Settings), " ")
}

// phaseName is [history.cellName] without scale, parameters and settings.
func (h *history) phaseName(t *trends.Trend) string {
	if t.Driver == h.name {
		return t.Phase
	}
	return t.Phase + " · " + t.Driver
}

// changes names the runs in which the times of a series become clearly longer or shorter.
func changes(t *trends.Trend) string {
	var words []string
	for _, c := range t.Changes {
		words = append(words, changed(t, c))
	}
	return strings.Join(words, " ")
}

func changed(t *trends.Trend, c trends.Shift) string {
	text := fmt.Sprintf("From run %d on, the time is %s what it was before (p %s).", c.Run, document.Times(c.Ratio), document.Probability(c.P))
	for _, m := range t.Marks {
		if m.At == c.At {
			text += " New there: " + m.Words + "."
		}
	}
	return text
}

func pictureName(i int) string { return fmt.Sprintf("cell-%d", i+1) }

// picture draws a series. The details below the picture have a table of the releases.
func (h *history) picture(i int, t *trends.Trend) document.PictureBlock {
	format := timeFormat(t.Unit)
	s := chart.Series{Name: t.Driver}
	points := t.Points[max(0, len(t.Points)-mostPoints):]
	for k, p := range points {
		x := chart.Point{X: float64(k + 1), Y: p.Median, Link: "../" + pageOf(p.Run), Tip: fmt.Sprintf("run %d of %s", p.Run, date(p.Started))}
		if p.Low != nil && p.High != nil {
			x.Low, x.High = *p.Low, *p.High
		}
		s.Points = append(s.Points, x)
	}
	name := pointNames(points)
	return document.PictureBlock{Headed: true, Fold: "Releases", Behind: h.behind(t, format), Picture: document.Picture{
		Name: pictureName(i), Title: t.Workload + " " + h.cellName(t), Kind: document.KindSamples, Confidence: stats.Confidence,
		Source: "sqlite3perf · " + conditions.Machine(t.Machine),
		Plot: &chart.Lines{X: chart.Axis{Label: "the oldest run first", Format: name, Tick: name},
			Y:      chart.Axis{Label: "time, less is better", Format: format, Tick: document.Ticks(format)},
			Series: []chart.Series{s}},
	}}
}

// pointNames returns a function that returns the name of a point from its number in the picture, which
// begins with 1. A point's name is its release if all releases differ, and otherwise its run.
func pointNames(points []trends.Point) func(float64) string {
	names := document.Map(points, func(p trends.Point) string { return version(p.Library) })
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names) {
		names = document.Map(points, func(p trends.Point) string { return fmt.Sprintf("run %d", p.Run) })
	}
	return func(v float64) string {
		if i := int(v); float64(i) == v && 1 <= i && i <= len(names) {
			return names[i-1]
		}
		return ""
	}
}

// behind returns a table with the newest figure of each release in a series, the newest release
// first.
func (h *history) behind(t *trends.Trend, format func(float64) string) document.Document {
	newest, runs, compared := map[string]trends.Point{}, map[string]int{}, map[string]string{}
	for _, p := range t.Points {
		newest[p.Library] = p
		runs[p.Library]++
		if list := h.olderAt(t, &p); len(list) > 0 {
			compared[p.Library] = fmt.Sprintf("%s; run %d", strings.Join(document.Map(list, told), "; "), p.Run)
		}
	}
	libraries := slices.SortedFunc(maps.Keys(newest), func(a, b string) int { return compareReleases(b, a) })
	g := document.Grid{Stacks: true}
	each := func(title string, right bool, f func(library string, p trends.Point) string) {
		g.Add(document.Column{Title: title, Right: right}, document.Map(libraries, func(l string) string { return f(l, newest[l]) }))
	}
	each("release", false, func(l string, _ trends.Point) string { return version(l) })
	each("time", true, func(_ string, p trends.Point) string { return format(p.Median) })
	each("interval", false, func(_ string, p trends.Point) string {
		if p.Low == nil || p.High == nil {
			return document.Absent
		}
		return format(*p.Low) + " to " + format(*p.High)
	})
	each("rounds", true, func(_ string, p trends.Point) string { return fmt.Sprint(p.N) })
	each("run", true, func(_ string, p trends.Point) string { return fmt.Sprint(p.Run) })
	each("runs", true, func(l string, _ trends.Point) string { return fmt.Sprint(runs[l]) })
	each("in the same run", false, func(l string, _ trends.Point) string { return cmp.Or(compared[l], document.Absent) })
	for _, l := range libraries {
		g.Links = append(g.Links, "../"+pageOf(newest[l].Run))
	}
	return document.Document{g, document.Paragraph{Quiet: true, Text: "Each row has the newest run of a release on this machine. " +
		"Figures of different runs also differ because the machine changes; only releases in the same run are compared."}}
}

func told(o JSONOlder) string {
	if !o.Significant {
		return fmt.Sprintf("no clear difference from %s: %s %s", version(o.Library), document.Times(o.Ratio.Median), document.Interval(o.Ratio.Interval))
	}
	return fmt.Sprintf("%s %s", document.Than(document.SlowerBy(o.Ratio), version(o.Library)), document.Interval(o.Ratio.Interval))
}
