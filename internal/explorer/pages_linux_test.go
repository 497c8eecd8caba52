package explorer

import (
	"fmt"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/sqlite3perf/sqlite3perf/internal/browser/browsertest"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

func TestMain(m *testing.M) {
	status := m.Run()
	browsertest.Close()
	os.Exit(status)
}

// complete is a JavaScript condition. It is true when a view is complete.
const complete = `document.querySelector("main[aria-busy=false]") !== null && document.querySelector("figure[aria-busy=true]") === null`

func read(t *testing.T, address string) browsertest.Reader {
	t.Helper()
	return browsertest.Open(t, address, complete)
}

func choose(t *testing.T, p browsertest.Reader, name, value string) {
	t.Helper()
	browsertest.Eval[bool](p, fmt.Sprintf(`(() => { const e = document.querySelector("[name=%s]"); e.value = %q; return e.dispatchEvent(new Event("change", {bubbles: true})) })()`, name, value))
}

// readable checks a page in all [browsertest.Looks] (screen sizes and color schemes). The page must
// pass [browsertest.Reader.Check], cut no text, have its headings in order, and have at most 60
// stops of the Tab key.
func readable(t *testing.T, p browsertest.Reader) {
	t.Helper()
	p.Check(func(at string) {
		cut := browsertest.Eval[[]string](p, `[...document.querySelectorAll("main :is(h1, h2, h3, p, dt, dd, li, button, summary, label, .answer)")].filter(e => e.checkVisibility() && (e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll") || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline")).map(e => e.outerHTML.slice(0, 150))`)
		if len(cut) > 0 {
			t.Errorf("%s: cut: %q", at, cut)
		}
		levels := browsertest.Eval[[]int](p, `[...document.querySelectorAll("h1, h2, h3, h4")].filter(e => e.checkVisibility()).map(e => Number(e.tagName[1]))`)
		for i, n := range levels {
			if i == 0 && n != 1 || i > 0 && (n == 1 || n > levels[i-1]+1) {
				t.Errorf("%s: levels of headings: %v", at, levels)
				break
			}
		}
		stops := browsertest.Eval[[]string](p, `[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")].filter(e => e.tabIndex >= 0 && e.checkVisibility() && !e.disabled).map(e => e.outerHTML.slice(0, 80))`)
		if len(stops) > 60 {
			t.Errorf("%s: %d stops of the Tab key:\n%s", at, len(stops), strings.Join(stops, "\n"))
		}
	})
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

// TestTailPage uses a page like a reader who looks for the 99th percentile of a phase's reads. It chooses
// this figure and types "reads". The page must not list phases without such a figure, but count them.
func TestTailPage(t *testing.T) {
	t.Parallel()
	server := serveRuns(t, harmedRun(1))
	p := read(t, server.URL+"/runs/1")
	choose(t, p, "metric", "p99")
	p.Until(nil, complete+` && location.search.includes("metric=p99")`)
	if got := strings.Join(p.Visible("main section.part h2"), "; "); got != "simple · mix: p99 of read; simple · mix: p99 of write" {
		t.Errorf("tables: %s", got)
	}
	if text := strings.Join(p.Visible("main > p"), " "); !strings.Contains(text, "1 of 2 phases has no 99th percentile of the latency") {
		t.Errorf("what is left out: %s", text)
	}
	if kinds := browsertest.Eval[[]string](p, `[...document.querySelectorAll("figure")].map(f => f.dataset.kind)`); slices.Contains(kinds, "summary") || !slices.Contains(kinds, "latency") {
		t.Errorf("pictures: %v", kinds)
	}
	p.Until(p.Type("[name=find]", "reads zombiezen"), `[...document.querySelectorAll("section.part")].filter(e => e.checkVisibility()).length === 1`)
	if rows := p.Visible("tr.found"); len(rows) != 1 || !strings.Contains(rows[0], "zombiezen!") || !strings.Contains(rows[0], "20.0 µs") {
		t.Errorf("zombiezen: %q", rows)
	}
	readable(t, p)
	again := read(t, browsertest.Eval[string](p, "location.href"))
	if got := strings.Join(again.Visible("main section.part h2"), "; "); got != "simple · mix: p99 of read" {
		t.Errorf("the link shows %s", got)
	}
	p.Until(p.Click("tr.found button"), complete+` && document.querySelector("section.panel .uplot canvas")`)
	if text := strings.Join(p.Visible("section.panel"), " "); !strings.Contains(text, "can lose or falsify data here: wal-reset") {
		t.Errorf("%s", text)
	}
	if label := browsertest.Eval[string](p, `document.querySelector("section.panel .chart").getAttribute("aria-label")`); label != "99th percentile of the latency of read by trial" {
		t.Errorf("the samples are of the %s", label)
	}
	p.Until(p.Type("[name=find]", " nothing"), `[...document.querySelectorAll("section.part")].every(e => !e.checkVisibility())`)
	if text := strings.Join(p.Visible("[role=status]"), " "); !strings.Contains(text, "No workload, phase or kind of operation here has") {
		t.Errorf("%q", text)
	}
}

// TestHarmPage checks that the page of a run marks drivers that can lose data, explains the mark,
// names the best driver without a mark, and lists only defects that matter for what is shown.
func TestHarmPage(t *testing.T) {
	t.Parallel()
	server := serveRuns(t, harmedRun(1))
	for _, metric := range []string{"time", "rate", "memory"} {
		p := read(t, server.URL+"/runs/1?phase=insert&metric="+metric)
		text := strings.Join(p.Visible("section.part"), " ")
		for _, words := range []string{"zombiezen!", "best without !", "! has a known defect that can lose or falsify data and that nothing in this workload rules out"} {
			if !strings.Contains(text, words) {
				t.Errorf("%s: without %q: %s", metric, words, text)
			}
		}
		if text := strings.Join(p.Visible("main > p"), " "); strings.Contains(text, "Of all drivers and phases of the run: Least memory: zombiezen! with ") != (metric == "memory") {
			t.Errorf("%s: %s", metric, text)
		}
		if rows := p.Visible("tr:has(small.sound)"); len(rows) != 1 || !strings.Contains(rows[0], "mattn") {
			t.Errorf("%s: best without mark: %q", metric, rows)
		}
		if rows := p.Visible("tr:has(.track.best)"); len(rows) != 1 || !strings.Contains(rows[0], "mattn") {
			t.Errorf("%s: green: %q", metric, rows)
		}
	}
	p := read(t, server.URL+"/runs/1?picture=ratios&picture=latency&picture=samples&picture=memory&picture=summary&picture=ranking&picture=tradeoff")
	p.Until(nil, complete+` && [...document.querySelectorAll("figure svg")].length >= 6`)
	unmarked := browsertest.Eval[[]string](p, `[...document.querySelectorAll("figure:has(svg)")].filter(f => !/zombiezen[^ ]*( v1.0.0)?!/.test(f.querySelector("svg").textContent) || !/! (marks|known)/.test(f.textContent)).map(f => f.dataset.name)`)
	if len(unmarked) > 0 {
		t.Errorf("pictures without a mark or its meaning: %v", unmarked)
	}
	p.Want(`document.querySelector("figure[data-kind=tradeoff]").textContent`, "peak memory", "known defect", "zombiezen")
	if text := strings.Join(p.Visible("details.known"), " "); !strings.Contains(text, "! 1 known defect can lose or falsify data in what is shown") || !strings.Contains(text, "zombiezen") {
		t.Errorf("defects: %q", text)
	}
	p = read(t, server.URL+"/runs/1?driver=mattn&driver=modernc")
	if list := p.Visible("details.known"); len(list) > 0 {
		t.Errorf("defects of drivers that are not shown: %q", list)
	}
	if text := strings.Join(p.Visible("section.part"), " "); strings.Contains(text, "!") {
		t.Errorf("a mark of drivers that are not shown: %s", text)
	}
	p = read(t, serveRuns(t, harmedRun(1), harmedRun(2)).URL+"/trends?workload=simple&driver=zombiezen&driver=mattn")
	p.Until(nil, `document.querySelectorAll(".uplot canvas").length === 2`)
	text := strings.Join(p.Visible("main"), " ")
	for _, words := range []string{"zombiezen!", "! has a known defect that can lose or falsify data and that nothing in this workload rules out"} {
		if !strings.Contains(text, words) || strings.Contains(text, "mattn!") {
			t.Errorf("trends: without %q: %s", words, text)
		}
	}
}

// TestSettingsPage checks that one click opens the list of the settings that were in force in a table.
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
	p.Until(p.Click("section.part details.settings summary"), `document.querySelector("details.settings").open`)
	text := p.Visible("section.part details.settings")[0]
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
			p.Until(p.Click("[data-key=pick-"+id+"]"), complete+` && location.search.includes("pick=`+id+`")`)
		}
		link := strings.Join(p.Visible("p.pages a"), " ")
		if !strings.Contains(link, "Compare run 1 (2026-11-06 12:00") || !strings.Contains(link, "with the older run 2 (2026-11-03 12:00") {
			t.Errorf("picked %v: %s", order, link)
		}
		p.Until(p.Click("p.pages a"), complete+` && document.querySelector(".answer")`)
		if got := browsertest.Eval[string](p, "location.search"); got != "?first=2&second=1" {
			t.Errorf("picked %v: %s", order, got)
		}
		if facts := strings.Join(p.Visible("dl.facts"), " "); !strings.Contains(facts, "base run 2 of 2026-11-03 12:00") || !strings.Contains(facts, "compared run 1 of 2026-11-06 12:00") {
			t.Errorf("%s", facts)
		}
		readable(t, p)
		p.Until(p.Click("form button[type=button]"), complete+` && location.search.startsWith("?first=1&second=2")`)
	}
	// The numbers can also be typed in either order; the form shows their dates.
	p := read(t, server.URL+"/compare")
	p.Until(p.Type("[name=first]", "1"), `document.querySelector("label:has([name=first])").innerText.includes("2026-11-06")`)
	p.Until(p.Type("[name=second]", "2\r"), complete+` && document.querySelector(".answer")`)
	if got := browsertest.Eval[string](p, "location.search"); got != "?first=2&second=1" {
		t.Errorf("typed: %s", got)
	}
}

// TestIntervals checks that the pages of runs and comparisons write intervals as "(a to b)". The pages must
// also name the levels of confidence and significance that they use.
func TestIntervals(t *testing.T) {
	t.Parallel()
	wide := aRun(1, 1)
	for i := range wide.Trials {
		wide.Trials[i].Samples[0].WallNS *= int64(1 + 3*(wide.Trials[i].Round%3)) // different times in different rounds make the intervals wide
	}
	server := serveRuns(t, wide, aRun(2, 1.3))
	p := read(t, server.URL+"/runs/1?phase=insert&driver=mattn&driver=modernc")
	for _, words := range []string{"; 95% intervals", "the time of mattn (1.00x to 1.00x), p ", "(-75% to +75%)"} {
		if text := strings.Join(p.Visible("section.part"), " "); !strings.Contains(text, words) {
			t.Errorf("the run, without %q: %s", words, text)
		}
	}
	c := read(t, server.URL+"/compare?first=1&second=2")
	text := strings.Join(c.Visible("main"), " ")
	for _, words := range []string{"(1.29x to 1.31x)", "at most 1%. probably: at most 5%", "Intervals are those of clear differences (99%)."} {
		if !strings.Contains(text, words) {
			t.Errorf("the comparison, without %q: %s", words, text)
		}
	}
	if strings.Contains(text, " – ") || strings.Contains(text, "99% interval") {
		t.Errorf("the comparison: %s", text)
	}
	readable(t, c)
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
	if rows := p.Visible("tbody tr"); len(rows) != 3 || !strings.HasPrefix(rows[0], "1 ") || !strings.HasPrefix(rows[1], "3 ") || !strings.Contains(rows[2], "2026-11-02 12:00") {
		t.Errorf("%q", rows)
	}
	p.Until(p.Type("[name=q]", "yesterday\r"), complete+` && document.querySelectorAll("tbody tr").length === 1`)
	if rows := p.Visible("tbody tr"); !strings.HasPrefix(rows[0], "3 ") {
		t.Errorf("%q", rows)
	}
	readable(t, p)
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
				return // this error is expected: the browser logs that the server has no run 99
			}
			readable(t, p)
		})
	}
	// The arrow keys move between the drivers of a table, which is one stop of the Tab key.
	p := read(t, server.URL+"/runs/61?phase=insert&picture=none")
	browsertest.Eval[bool](p, `(document.querySelector("section.part tbody button").focus(), true)`)
	if err := p.Press(kb.ArrowDown); err != nil {
		t.Fatal(err)
	}
	if got := browsertest.Eval[bool](p, `document.activeElement === document.querySelectorAll("section.part tbody button")[1] && document.activeElement.tabIndex === 0`); !got {
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
	if with, without := height("simple-insert.png"), height("simple-insert.png?driver=native&driver=mattn&driver=modernc"); with-without <= 24*report.PNGScale { // the picture with a mark has one more row, and the sentence that explains the mark
		t.Errorf("the PNG with a mark has %d pixels, without %d", with, without)
	}
}
