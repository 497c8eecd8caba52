package explorer

import (
	"context"
	"fmt"
	"image/png"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/sqlite3perf/sqlite3perf/internal/browser"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// chromium is the browser that all tests share. Each test opens its own pages in it.
var chromium = sync.OnceValues(func() (*browser.Browser, error) { return browser.Start(context.Background()) })

func TestMain(m *testing.M) {
	status := m.Run()
	if b, err := chromium(); err == nil {
		b.Close()
	}
	os.Exit(status)
}

// looks has the screen sizes and color schemes in which every page must be readable.
var looks = []browser.Look{{Width: 1440, Height: 900}, {Width: 1440, Height: 900, Dark: true}, {Width: 390, Height: 844}, {Width: 390, Height: 844, Dark: true}}

// complete is a JavaScript condition. It is true when a view is complete.
const complete = `document.querySelector("main[aria-busy=false]") !== null && document.querySelector("figure[aria-busy=true]") === null`

// reader imitates a person who reads a page of the explorer.
type reader struct {
	t *testing.T
	*browser.Page
}

func read(t *testing.T, address string) reader {
	t.Helper()
	b, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Open(address, looks[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	r := reader{t, p}
	r.until(nil, complete)
	return r
}

// until fails if an action of the reader fails, or if a condition does not become true after it.
func (r reader) until(err error, then string) {
	r.t.Helper()
	if err == nil {
		err = r.Wait(then)
	}
	if err != nil {
		text, _ := browser.Eval[string](r.Page, "document.body.innerText.slice(0, 2000)")
		r.t.Fatalf("%v\nthe page: %s", err, text)
	}
}

func eval[T any](r reader, script string) T {
	r.t.Helper()
	v, err := browser.Eval[T](r.Page, script)
	if err != nil {
		r.t.Fatalf("%s: %v", script, err)
	}
	return v
}

func (r reader) choose(name, value string) {
	r.t.Helper()
	eval[bool](r, fmt.Sprintf(`(() => { const e = document.querySelector("[name=%s]"); e.value = %q; return e.dispatchEvent(new Event("change", {bubbles: true})) })()`, name, value))
}

// visible lists the texts of the visible elements with a selector.
func (r reader) visible(selector string) []string {
	r.t.Helper()
	return eval[[]string](r, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => e.checkVisibility()).map(e => e.innerText.replace(/\s+/g, " ").trim())`, selector))
}

// readable checks a page in all looks: it breaks no rule of accessibility, fits the window, cuts no text,
// has no error, and has headings in order and at most 60 stops of the Tab key.
func (r reader) readable() {
	r.t.Helper()
	for i, l := range looks {
		if err := r.Look(l); err != nil {
			r.t.Fatal(err)
		}
		r.until(nil, complete)
		at := fmt.Sprintf("%d pixels, dark %v", l.Width, l.Dark)
		if wide := eval[int](r, "document.documentElement.scrollWidth"); wide > l.Width {
			r.t.Errorf("%s: the page is %d pixels wide", at, wide)
		}
		cut := eval[[]string](r, `[...document.querySelectorAll("main :is(h1, h2, h3, p, dt, dd, li, button, summary, label, .answer)")].filter(e => e.checkVisibility() && (e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll") || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline")).map(e => e.outerHTML.slice(0, 150))`)
		if len(cut) > 0 {
			r.t.Errorf("%s: cut: %q", at, cut)
		}
		if i == 0 || i == len(looks)-1 { // both schemes and both widths
			violations, err := r.Violations()
			if err != nil {
				r.t.Fatal(err)
			}
			for _, v := range violations {
				r.t.Errorf("%s: %s: %s\n%s", at, v.ID, v.Help, strings.Join(v.Nodes, "\n"))
			}
		}
		levels := eval[[]int](r, `[...document.querySelectorAll("h1, h2, h3, h4")].filter(e => e.checkVisibility()).map(e => Number(e.tagName[1]))`)
		for i, n := range levels {
			if i == 0 && n != 1 || i > 0 && (n == 1 || n > levels[i-1]+1) {
				r.t.Errorf("%s: levels of headings: %v", at, levels)
				break
			}
		}
		stops := eval[[]string](r, `[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")].filter(e => e.tabIndex >= 0 && e.checkVisibility() && !e.disabled).map(e => e.outerHTML.slice(0, 80))`)
		if len(stops) > 60 {
			r.t.Errorf("%s: %d stops of the Tab key:\n%s", at, len(stops), strings.Join(stops, "\n"))
		}
	}
	for _, e := range r.Errors() {
		r.t.Errorf("console: %s", e)
	}
	if err := r.Look(looks[0]); err != nil {
		r.t.Fatal(err)
	}
}

// likeDefault returns a run with as many tables as a default run: 15 tables with ten drivers.
func likeDefault(number int) *result.Run {
	r := harmedRun(number)
	cases, trials := r.Cases, r.Trials
	r.Cases, r.Trials, r.Workloads = nil, nil, nil
	for w, name := range []string{"simple", "real", "many", "concurrent", "point-read", "read-write", "group-by", "analytics"} {
		r.Workloads = append(r.Workloads, result.Workload{Name: name, Text: "name: " + name, SHA256: name})
		phases := 2
		if w == 7 {
			phases = 1
		}
		for d, driver := range []string{"native", "mattn", "modernc", "zombiezen", "ncruces", "glebarez", "bvinc", "crawshaw", "eatonphil", "tailscale"} {
			from := d % len(cases)
			c := cases[from]
			c.ID, c.Workload, c.WorkloadSHA256, c.Driver, c.Phases = 10*w+d+1, name, name, driver, c.Phases[:phases]
			r.Cases = append(r.Cases, c)
			for _, x := range trials {
				if x.Case != from+1 {
					continue
				}
				x.Case, x.Order, x.Samples = c.ID, len(r.Trials)+1, slices.Clone(x.Samples[:phases])
				for k := range x.Samples {
					x.Samples[k].WallNS += x.Samples[k].WallNS * int64(d) / 10
					if name != "read-write" { // only this workload times two kinds of operations
						x.Samples[k].Latency = x.Samples[k].Latency[:min(len(x.Samples[k].Latency), w%2)]
					}
				}
				r.Trials = append(r.Trials, x)
			}
		}
	}
	return r
}

// TestTailPage finds the 99th percentile of the reads of a phase: the reader chooses the figure and types
// "reads". Phases that have no such figure are only counted.
func TestTailPage(t *testing.T) {
	t.Parallel()
	server := serveRuns(t, harmedRun(1))
	p := read(t, server.URL+"/runs/1")
	p.choose("metric", "p99")
	p.until(nil, complete+` && location.search.includes("metric=p99")`)
	if got := strings.Join(p.visible("main section.part h2"), "; "); got != "simple · mix: p99 of read; simple · mix: p99 of write" {
		t.Errorf("tables: %s", got)
	}
	if text := strings.Join(p.visible("main > p"), " "); !strings.Contains(text, "1 of 2 phases has no 99th percentile of the latency") {
		t.Errorf("what is left out: %s", text)
	}
	if kinds := eval[[]string](p, `[...document.querySelectorAll("figure")].map(f => f.dataset.kind)`); slices.Contains(kinds, "summary") || !slices.Contains(kinds, "latency") {
		t.Errorf("pictures: %v", kinds)
	}
	p.until(p.Type("[name=find]", "reads zombiezen"), `[...document.querySelectorAll("section.part")].filter(e => e.checkVisibility()).length === 1`)
	if rows := p.visible("tr.found"); len(rows) != 1 || !strings.Contains(rows[0], "zombiezen!") || !strings.Contains(rows[0], "20.0 µs") {
		t.Errorf("zombiezen: %q", rows)
	}
	p.readable()
	again := read(t, eval[string](p, "location.href"))
	if got := strings.Join(again.visible("main section.part h2"), "; "); got != "simple · mix: p99 of read" {
		t.Errorf("the link shows %s", got)
	}
	p.until(p.Click("tr.found button"), complete+` && document.querySelector("section.panel .uplot canvas")`)
	if text := strings.Join(p.visible("section.panel"), " "); !strings.Contains(text, "can lose or falsify data here: wal-reset") {
		t.Errorf("%s", text)
	}
	if label := eval[string](p, `document.querySelector("section.panel .chart").getAttribute("aria-label")`); label != "99th percentile of the latency of read by trial" {
		t.Errorf("the samples are of the %s", label)
	}
	p.until(p.Type("[name=find]", " nothing"), `[...document.querySelectorAll("section.part")].every(e => !e.checkVisibility())`)
	if text := strings.Join(p.visible("[role=status]"), " "); !strings.Contains(text, "No workload, phase or kind of operation here has") {
		t.Errorf("%q", text)
	}
}

// TestHarmPage checks that the page of a run marks drivers that can lose data, explains the mark, names
// the best driver without it, and lists only defects that matter for what is shown.
func TestHarmPage(t *testing.T) {
	t.Parallel()
	server := serveRuns(t, harmedRun(1))
	for _, metric := range []string{"time", "rate", "memory"} {
		p := read(t, server.URL+"/runs/1?phase=insert&metric="+metric)
		text := strings.Join(p.visible("section.part"), " ")
		for _, words := range []string{"zombiezen!", "best without !", "! has a known defect that can lose or falsify data in this workload"} {
			if !strings.Contains(text, words) {
				t.Errorf("%s: without %q: %s", metric, words, text)
			}
		}
		if rows := p.visible("tr:has(small.sound)"); len(rows) != 1 || !strings.Contains(rows[0], "mattn") {
			t.Errorf("%s: best without mark: %q", metric, rows)
		}
		if rows := p.visible("tr:has(.track.best)"); len(rows) != 1 || !strings.Contains(rows[0], "mattn") {
			t.Errorf("%s: green: %q", metric, rows)
		}
	}
	p := read(t, server.URL+"/runs/1?picture=ratios&picture=latency&picture=samples&picture=memory&picture=summary&picture=ranking&picture=tradeoff")
	p.until(nil, complete+` && [...document.querySelectorAll("figure svg")].length >= 6`)
	unmarked := eval[[]string](p, `[...document.querySelectorAll("figure:has(svg)")].filter(f => !/zombiezen[^ ]*( v1.0.0)?!/.test(f.querySelector("svg").textContent) || !/! (marks|known)/.test(f.textContent)).map(f => f.dataset.name)`)
	if len(unmarked) > 0 {
		t.Errorf("pictures without a mark or its meaning: %v", unmarked)
	}
	if text := strings.Join(p.visible("details.known"), " "); !strings.Contains(text, "! 1 known defect can lose or falsify data in what is shown") || !strings.Contains(text, "zombiezen") {
		t.Errorf("defects: %q", text)
	}
	p = read(t, server.URL+"/runs/1?driver=mattn&driver=modernc")
	if list := p.visible("details.known"); len(list) > 0 {
		t.Errorf("defects of drivers that are not shown: %q", list)
	}
	if text := strings.Join(p.visible("section.part"), " "); strings.Contains(text, "!") {
		t.Errorf("a mark of drivers that are not shown: %s", text)
	}
	p = read(t, serveRuns(t, harmedRun(1), harmedRun(2)).URL+"/trends?workload=simple&driver=zombiezen&driver=mattn")
	text := strings.Join(p.visible("main"), " ")
	for _, words := range []string{"zombiezen!", "! has a known defect that can lose or falsify data in this workload"} {
		if !strings.Contains(text, words) || strings.Contains(text, "mattn!") {
			t.Errorf("trends: without %q: %s", words, text)
		}
	}
}

// TestSettingsPage opens the settings in force of a table with one click.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	r := aRun(1, 1)
	for i := range r.Trials {
		if r.Trials[i].Case == 3 {
			r.Trials[i].Proof.Connections[0]["synchronous"] = "full"
		} else {
			r.Trials[i].Proof.Connections[0]["synchronous"] = "normal"
		}
	}
	p := read(t, serveRuns(t, r).URL+"/runs/1")
	p.until(p.Click("section.part details.settings summary"), `document.querySelector("details.settings").open`)
	text := p.visible("section.part details.settings")[0]
	for _, words := range []string{"journal_mode=wal", "synchronous=full with modernc, normal with native and mattn"} {
		if !strings.Contains(text, words) {
			t.Errorf("without %q: %s", words, text)
		}
	}
}

// TestComparePick compares two runs that the reader picks in the list, in either order. The older run must
// be the first side of the comparison, although its number is greater.
func TestComparePick(t *testing.T) {
	t.Parallel()
	server := serveRuns(t, aRun(5, 1), aRun(2, 1))
	for _, order := range [][2]string{{"1", "2"}, {"2", "1"}} {
		p := read(t, server.URL+"/")
		for _, id := range order {
			p.until(p.Click("[data-key=pick-"+id+"]"), complete+` && location.search.includes("pick=`+id+`")`)
		}
		link := strings.Join(p.visible("p.pages a"), " ")
		if !strings.Contains(link, "Compare run 1 (2026-11-06 12:00") || !strings.Contains(link, "with the older run 2 (2026-11-03 12:00") {
			t.Errorf("picked %v: %s", order, link)
		}
		p.until(p.Click("p.pages a"), complete+` && document.querySelector(".answer")`)
		if got := eval[string](p, "location.search"); got != "?first=2&second=1" {
			t.Errorf("picked %v: %s", order, got)
		}
		if facts := strings.Join(p.visible("dl.facts"), " "); !strings.Contains(facts, "base run 2 of 2026-11-03 12:00") || !strings.Contains(facts, "compared run 1 of 2026-11-06 12:00") {
			t.Errorf("%s", facts)
		}
		p.readable()
		p.until(p.Click("form button[type=button]"), complete+` && location.search.startsWith("?first=1&second=2")`)
	}
	// The numbers can also be typed in either order; the form shows their dates.
	p := read(t, server.URL+"/compare")
	p.until(p.Type("[name=first]", "1"), `document.querySelector("label:has([name=first])").innerText.includes("2026-11-06")`)
	p.until(p.Type("[name=second]", "2\r"), complete+` && document.querySelector(".answer")`)
	if got := eval[string](p, "location.search"); got != "?first=2&second=1" {
		t.Errorf("typed: %s", got)
	}
}

// TestIntervals checks that the pages of runs and comparisons write intervals as "(a to b)", and say at
// which levels they judge.
func TestIntervals(t *testing.T) {
	t.Parallel()
	wide := aRun(1, 1)
	for i := range wide.Trials {
		wide.Trials[i].Samples[0].WallNS *= int64(1 + 3*(wide.Trials[i].Round%3)) // wide intervals
	}
	server := serveRuns(t, wide, aRun(2, 1.3))
	p := read(t, server.URL+"/runs/1?phase=insert&driver=mattn&driver=modernc")
	for _, words := range []string{"; 95% intervals", "the time of mattn (1.00x to 1.00x), p ", "(-75% to +75%)"} {
		if text := strings.Join(p.visible("section.part"), " "); !strings.Contains(text, words) {
			t.Errorf("the run, without %q: %s", words, text)
		}
	}
	c := read(t, server.URL+"/compare?first=1&second=2")
	text := strings.Join(c.visible("main"), " ")
	for _, words := range []string{"(1.29x to 1.31x)", "at most 1%. probably: at most 5%", "Intervals are those of clear differences (99%)."} {
		if !strings.Contains(text, words) {
			t.Errorf("the comparison, without %q: %s", words, text)
		}
	}
	if strings.Contains(text, " – ") || strings.Contains(text, "99% interval") {
		t.Errorf("the comparison: %s", text)
	}
	c.readable()
}

// TestListByDate checks that the list of runs begins with the newest run, and that the word
// "yesterday" finds the run of that day.
func TestListByDate(t *testing.T) {
	t.Parallel()
	old, today := aRun(1, 1), aRun(2, 1)
	today.Started = time.Now().Add(-time.Minute)
	yesterday := aRun(3, 1)
	yesterday.Started = time.Now().AddDate(0, 0, -1)
	p := read(t, serveRuns(t, today, old, yesterday).URL+"/")
	if rows := p.visible("tbody tr"); len(rows) != 3 || !strings.HasPrefix(rows[0], "1 ") || !strings.HasPrefix(rows[1], "3 ") || !strings.Contains(rows[2], "2026-11-02 12:00") {
		t.Errorf("%q", rows)
	}
	p.until(p.Type("[name=q]", "yesterday\r"), complete+` && document.querySelectorAll("tbody tr").length === 1`)
	if rows := p.visible("tbody tr"); !strings.HasPrefix(rows[0], "3 ") {
		t.Errorf("%q", rows)
	}
	p.readable()
}

// TestSoakReadable checks every page of the explorer with runs as large as default runs.
func TestSoakReadable(t *testing.T) {
	t.Parallel()
	var runs []*result.Run
	for i := range 60 {
		runs = append(runs, aRun(i, 1))
	}
	large := likeDefault(100)
	refused := large.Trials[5]
	refused.Status, refused.Samples, refused.Reason = result.Refused, nil, nil
	server := serveRuns(t, append(runs, large, likeDefault(101))...)
	for _, path := range []string{"/", "/?size=200", "/runs/61", "/runs/61?metric=p99", "/runs/61?metric=memory", "/runs/61?driver=mattn&driver=modernc", "/runs/61?case=2&of=mix",
		"/runs/61?phase=insert&picture=summary&picture=tradeoff", "/compare", "/compare?first=61&second=62", "/trends?workload=simple&driver=modernc&phase=insert", "/measure", "/runs/99"} {
		t.Run(path, func(t *testing.T) {
			p := read(t, server.URL+path)
			if len(p.Errors()) > 0 && path == "/runs/99" {
				return // the browser logs that the server has no such run
			}
			p.readable()
		})
	}
	// The arrow keys move between the drivers of a table, which is one stop of the Tab key.
	p := read(t, server.URL+"/runs/61?phase=insert&picture=none")
	eval[bool](p, `(document.querySelector("section.part tbody button").focus(), true)`)
	if err := p.Press(kb.ArrowDown); err != nil {
		t.Fatal(err)
	}
	if got := eval[bool](p, `document.activeElement === document.querySelectorAll("section.part tbody button")[1] && document.activeElement.tabIndex === 0`); !got {
		t.Errorf("arrow down does not move to the next driver")
	}
}

// TestSavedPicture saves a picture of a run. The file explains its marks and error bars, and names the run,
// its date and its machine.
func TestSavedPicture(t *testing.T) {
	t.Parallel()
	server := serveRuns(t, harmedRun(1))
	_, _, svg := request(t, server, "GET", "/api/v1/runs/1/charts/simple-insert.svg", "")
	for _, words := range []string{"zombiezen v1.0.0!", "! marks drivers with a known defect that can lose or falsify data", "Error bars show 95% confidence intervals.", "run 1", "2026-11-02 12:00 UTC", "lab"} {
		if !strings.Contains(svg, words) {
			t.Errorf("without %q: %.3000s", words, svg)
		}
	}
	_, _, plain := request(t, server, "GET", "/api/v1/runs/1/charts/simple-insert.svg?driver=mattn&driver=modernc", "")
	if strings.Contains(plain, "! marks") {
		t.Error("a picture without marks explains them")
	}
	height := func(name string) int {
		_, _, data := request(t, server, "GET", "/api/v1/runs/1/charts/"+name, "")
		picture, err := png.Decode(strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return picture.Bounds().Dy()
	}
	if with, without := height("simple-insert.png"), height("simple-insert.png?driver=native&driver=mattn&driver=modernc"); with-without <= 24*imageScale { // a row, and the sentence on the mark
		t.Errorf("the PNG with a mark has %d pixels, without %d", with, without)
	}
}
