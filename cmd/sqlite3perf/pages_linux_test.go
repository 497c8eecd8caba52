package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/browser"
	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// looks has the screen sizes and color schemes in which every page must be readable.
var looks = []browser.Look{
	{Width: 1440, Height: 900},
	{Width: 1440, Height: 900, Dark: true},
	{Width: 390, Height: 844},
	{Width: 390, Height: 844, Dark: true},
}

func (l pageLook) String() string {
	scheme := "light"
	if l.Dark {
		scheme = "dark"
	}
	return fmt.Sprintf("%d %s", l.Width, scheme)
}

type pageLook browser.Look

// checkPage checks an open page: it must fit the width of the window in all looks, break no rule of
// accessibility in the first look and in the last, and log no errors. The page may load only
// addresses with the given prefixes.
func checkPage(t *testing.T, p *browser.Page, allowed ...string) {
	t.Helper()
	for i, l := range looks {
		if err := p.Look(l); err != nil {
			t.Fatal(err)
		}
		wide, err := browser.Eval[int](p, "document.documentElement.scrollWidth")
		if err != nil {
			t.Fatal(err)
		}
		if wide > l.Width {
			t.Errorf("%v: the page is %d pixels wide", pageLook(l), wide)
		}
		cut, err := browser.Eval[[]string](p, `[...document.querySelectorAll(".brief dd")].filter(e => innerWidth < 500 && e.scrollWidth > e.clientWidth).map(e => e.innerText)`)
		if err != nil || len(cut) > 0 {
			t.Errorf("%v: cut: %q, %v", pageLook(l), cut, err)
		}
		if i > 0 && i < len(looks)-1 {
			continue // the first look and the last together have both widths and both color schemes
		}
		violations, err := p.Violations()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range violations {
			t.Errorf("%v: %s: %s\n%s", pageLook(l), v.ID, v.Help, strings.Join(v.Nodes, "\n"))
		}
	}
	for _, e := range p.Errors() {
		t.Errorf("console: %s", e)
	}
requests:
	for _, r := range p.Requests() {
		for _, a := range allowed {
			if strings.HasPrefix(r, a) {
				continue requests
			}
		}
		t.Errorf("the page asked for %s", r)
	}
}

// chromium is the browser that all tests share. Each test opens its own pages in it.
var chromium = sync.OnceValues(func() (*browser.Browser, error) {
	b, err := browser.Start(context.Background())
	if err == nil {
		afterTests = append(afterTests, b.Close)
	}
	return b, err
})

func startBrowser(t testing.TB) *browser.Browser {
	t.Helper()
	b, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openPage(t testing.TB, b *browser.Browser, url string) *browser.Page {
	t.Helper()
	p, err := b.Open(url, looks[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestReportPage writes the page of a real run in which a driver was refused, and opens it.
func TestReportPage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	run := place.command("run", "--workloads", "./tiny.yaml", "--drivers", "./good,./better,./ignores", "--rounds", "6", "--html", "r.html")
	if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != cli.ExitIncomplete {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "r.html")
	p := openPage(t, b, address)
	checkPage(t, p, address, "data:", "blob:")
	if err := p.Look(looks[0]); err != nil {
		t.Fatal(err)
	}

	const tip = `document.querySelector(".tip:not([hidden])")?.innerText ?? ""`
	act(t, p, p.Hover(`figure svg [data-tip][aria-label*="interval"]`), tip)
	want(t, p, tip, "test (./", "interval")
	dir := t.TempDir()
	if err := p.Downloads(dir); err != nil {
		t.Fatal(err)
	}
	act(t, p, p.Click(`#picture-tiny-insert button[aria-label^="Save as SVG"]`), "true")
	downloaded(t, dir, "tiny-insert.svg", func(data []byte) error { return savedSVG(data, "time for 20 rows", "test (./better)") })
	act(t, p, p.Click(`#picture-tiny-insert button[aria-label^="Save as PNG"]`), "true")
	downloaded(t, dir, "tiny-insert.png", savedPNG)
	copiesTables(t, p)
	prints(t, p)
	act(t, p, p.Click("figure svg a[href]"), `location.hash && document.querySelector(":target").getClientRects().length`)
	want(t, p, `document.querySelector(":target").innerText`, "synchronous")
}

// TestSoakComparisonPage compares two drivers, and reads the page like somebody who wants to
// know how they differ.
func TestSoakComparisonPage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	compare := place.command("compare", "./good", "./better", "--workloads", "./tiny.yaml", "--rounds", "10", "-o", "c.html")
	if out, err := compare.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "c.html")
	p := openPage(t, b, address)
	checkPage(t, p, address, "data:", "blob:")
	if err := p.Look(looks[0]); err != nil {
		t.Fatal(err)
	}
	want(t, p, `document.querySelector("h1").innerText`, "./better", "./good")
	const tip = `document.querySelector(".tip:not([hidden])")?.innerText ?? ""`
	act(t, p, p.Hover(`#picture-ratios .wide svg [data-tip]`), tip)
	want(t, p, tip, "tiny", "interval", "n 10")
	want(t, p, `document.querySelector("#what-differs-between-the-sides").parentElement.innerText`, "driver", "./good", "./better", "the same", "synchronous")
	want(t, p, `document.querySelector("a[href*='methodology.md#comparisons']").innerText`, "methodology")
	readableOnPhone(t, p)
}

// readableOnPhone checks that the picture of all cells shortens no text on a phone, and that the
// table of differences fits the screen.
func readableOnPhone(t *testing.T, p *browser.Page) {
	t.Helper()
	if err := p.Look(looks[2]); err != nil {
		t.Fatal(err)
	}
	shortened, err := browser.Eval[[]string](p, `[...document.querySelectorAll("#picture-ratios .narrow text")].map(e => e.textContent).filter(s => s.endsWith("…"))`)
	if err != nil || len(shortened) > 0 {
		t.Errorf("shortened: %q, %v", shortened, err)
	}
	want(t, p, `String([...document.querySelectorAll("#what-differs-between-the-sides ~ .scroll")].every(e => e.scrollWidth <= e.clientWidth))`, "true")
}

// TestSoakAdvicePage reads the page of a recommendation like a colleague who has only that page.
func TestSoakAdvicePage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	advise := place.command("advise", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--rounds", "6", "--diff=false", "-o", "a.html")
	if out, err := advise.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "a.html")
	p := openPage(t, b, address)
	checkPage(t, p, address, "data:", "blob:")
	want(t, p, `document.querySelector("h1").innerText`, "./better")
	want(t, p, `document.querySelector("#what-was-measured").parentElement.innerText`, "candidate", "./good", "peak memory")
	want(t, p, `document.querySelector("#where-the-figures-are-from").parentElement.innerText`, "measured", "machine", "Not looked at")
}

// TestSoakGatePage opens the page of a gate in which a driver is too slow.
func TestSoakGatePage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	// The workload has no mix, because the slow driver delays each operation, so a mix would take
	// too long.
	place.write("short.yaml", `name: short
settings: {journal_mode: wal, synchronous: normal, busy_timeout: 5s}
schema: CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL)
rows:
  t: {count: 20, columns: {id: serial, name: {text: 20}}}
phases:
  - {name: insert, insert: t}
  - {name: query, query: 'SELECT id, name FROM t ORDER BY id', columns: [int, text], expect: {rows: 20, returns: t}}
`, 0o644)
	gate := place.command("gate", "--baseline", "./good", "--drivers", "./slow", "--workloads", "./short.yaml", "--rounds", "12", "-o", "g.html")
	if out, err := gate.CombinedOutput(); gate.ProcessState.ExitCode() != cli.ExitRegression {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "g.html")
	p := openPage(t, b, address)
	checkPage(t, p, address, "data:", "blob:")
	want(t, p, `document.querySelector("h1").innerText`, "Failed: ./slow against ./good", "measured twice")
	want(t, p, `document.querySelector("#picture-ratios").textContent`, "regression", "allowed: up to 5% more")
	want(t, p, `document.querySelector("#picture-order-1").dataset.title`, "short ")
	readableOnPhone(t, p)
}

// TestSoakBisectionPage bisects two releases of a real driver, and checks the page of the result.
func TestSoakBisectionPage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	bisect := place.command("bisect", "mattn@v1.14.52..v1.14.53", "--workloads", "./tiny.yaml", "--rounds", "6", "-o", "b.html", "--worker-cache", cache)
	if out, err := bisect.CombinedOutput(); err != nil && bisect.ProcessState.ExitCode() != cli.ExitIncomplete {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "b.html")
	p := openPage(t, b, address)
	checkPage(t, p, address, "data:", "blob:")
	want(t, p, `document.querySelector("h1").innerText`, "mattn")
	want(t, p, `document.querySelector("#picture-ratios").textContent`, "v1.14.53 against v1.14.52")
}

// TestSoakProfilePage profiles two drivers of the tests, and opens the page.
func TestSoakProfilePage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	run := place.command("profile", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--phase", "mix", "--time", "1ms", "-o", "out")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "out", "profile.html")
	p := openPage(t, b, address)
	checkPage(t, p, address, "data:", "blob:")
	want(t, p, `document.querySelector("h1").innerText`, "./good")
	want(t, p, `document.querySelector("main").innerText`, "./better", "How it was measured", "phase mix")
}

// downloaded waits until a file has been saved in dir, and check accepts its content. The file exists
// before its content is complete.
func downloaded(t *testing.T, dir, name string, check func([]byte) error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var data []byte
		if data, err = os.ReadFile(filepath.Join(dir, name)); err == nil {
			err = check(data)
		}
		if err == nil {
			return
		}
	}
	t.Errorf("%s: %v", name, err)
}

// savedSVG checks that a file is a picture that contains the given texts and its own colors.
func savedSVG(data []byte, texts ...string) error {
	var picture struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	}
	if err := xml.Unmarshal(data, &picture); err != nil {
		return err
	}
	for _, want := range append(texts, "<path", "rgb(") {
		if !strings.Contains(string(data), want) {
			return fmt.Errorf("it lacks %q", want)
		}
	}
	if strings.Contains(string(data), "var(") {
		return errors.New("it takes colors from a page")
	}
	return nil
}

// savedPNG checks that a file is a PNG image with the width and the colors of a picture.
func savedPNG(data []byte) error {
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return err
	}
	size := picture.Bounds().Size()
	colors := map[any]bool{}
	for y := range size.Y {
		for x := range size.X {
			colors[picture.At(x, y)] = true
		}
	}
	if size.X != 2*chart.Page || len(colors) < 20 {
		return fmt.Errorf("it has %v pixels in %d colors", size, len(colors))
	}
	return nil
}

// copiesTables copies a table as CSV and as Markdown, and reads the clipboard.
func copiesTables(t *testing.T, p *browser.Page) {
	t.Helper()
	act(t, p, p.Click("#picture-phases > details > summary"), `document.querySelector("#picture-phases > details").open`)
	shown, err := browser.Eval[[][]string](p, `[...document.querySelector("#who-comes-first-cell-by-cell ~ .scroll table").rows].map(r => [...r.cells].map(c => c.innerText.replace(/\s+/g, " ").trim()))`)
	if err != nil || len(shown) < 3 {
		t.Fatalf("the table is %q, %v", shown, err)
	}
	copied := func(format string) string {
		button := fmt.Sprintf(`#who-comes-first-cell-by-cell ~ .tools button[aria-label="Copy this table as %s"]`, format)
		act(t, p, p.Click(button), fmt.Sprintf("document.querySelector(%q).innerText === 'done'", button))
		text, err := p.Clipboard()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	rows, err := csv.NewReader(strings.NewReader(copied("CSV"))).ReadAll()
	for _, row := range rows {
		for i := range row {
			row[i] = strings.TrimPrefix(row[i], "'") // removes the apostrophe that keeps spreadsheets from reading the text as a formula
		}
	}
	if diff := cmp.Diff(shown, rows); err != nil || diff != "" {
		t.Errorf("copied as CSV, %v: -want +got:\n%s", err, diff)
	}
	lines := strings.Split(strings.TrimSpace(copied("Markdown")), "\n")
	if len(lines) != len(shown)+1 || !strings.HasPrefix(lines[0], "| in | first |") || !strings.HasPrefix(lines[1], "| --- | --- |") || !strings.HasPrefix(lines[2], "| tiny ") {
		t.Errorf("copied as Markdown:\n%s", strings.Join(lines, "\n"))
	}
}

// prints checks that a page can be printed, and that no open part of it extends beyond the paper.
func prints(t *testing.T, p *browser.Page) {
	t.Helper()
	printed, err := p.Print()
	if pages := bytes.Count(printed, []byte("/Type /Page\n")); err != nil || pages < 2 {
		t.Errorf("%d pages were printed, %v", pages, err)
	}
	if err := p.Look(browser.Look{Width: 720, Height: 900, Print: true}); err != nil {
		t.Fatal(err)
	}
	// The check leaves out the samples of each case, and pictures among figures.
	lost, err := browser.Eval[[]string](p, `[...document.querySelectorAll("main :is(h1, h2, h3, h4, p:not(.tools), dl, table, .wide svg):not(.nest *, .figures figure *, section:has(> .nest) *)")]
		.filter(e => !e.checkVisibility() || e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 200))`)
	if err != nil || len(lost) > 0 {
		t.Errorf("not on paper: %q, %v", lost, err)
	}
	if err := p.Look(looks[0]); err != nil {
		t.Fatal(err)
	}
}

// want fails unless a JavaScript expression returns a text that contains the given words.
func want(t *testing.T, p *browser.Page, expression string, words ...string) {
	t.Helper()
	text, err := browser.Eval[string](p, expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q without %q", expression, text, w)
		}
	}
}

// act fails if an action of a user fails, or if a condition does not become true after the action.
func act(t *testing.T, p *browser.Page, err error, then string) {
	t.Helper()
	if err == nil {
		err = p.Wait(then)
	}
	if err != nil {
		t.Fatalf("%v\nthe page: %s", err, pageText(p))
	}
}

func pageText(p *browser.Page) string {
	text, _ := browser.Eval[string](p, "document.body.innerText.slice(0, 2000)")
	return text
}

// loaded is a JavaScript condition. It is true when the explorer has drawn a view.
const loaded = `document.querySelector("main[aria-busy=false]") !== null && document.querySelector("figure[aria-busy=true]") === null`

// shownText is a JavaScript expression for the text of a view, without the text in pictures, which
// depends on their width.
const shownText = `(() => { const m = document.querySelector("main").cloneNode(true); m.querySelectorAll("svg, figure details, .chart").forEach(s => s.remove()); return m.textContent })()`

// TestSoakExplorerPages uses the explorer as a reader of results does. It finds a run, looks at
// parts of it and at a cell's samples and settings, and compares two runs.
func TestSoakExplorerPages(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	for _, drivers := range []string{"./good,./better,./ignores", "./good,./better"} {
		run := place.command("run", "--workloads", "./tiny.yaml", "--drivers", drivers, "--rounds", "6", "--store", "results.db", "--quiet")
		if out, err := run.CombinedOutput(); err != nil && run.ProcessState.ExitCode() != cli.ExitIncomplete {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	s := place.serve("--store", "results.db")
	p := openPage(t, b, s.url)
	act(t, p, nil, loaded)
	checkPage(t, p, s.url, "data:", "blob:")

	act(t, p, p.Type(`[name=q]`, "ignores\r"), loaded+` && document.querySelectorAll("tbody tr").length === 1`)
	want(t, p, "location.href", "q=ignores")
	want(t, p, "document.querySelector('tbody').innerText", "refused")
	act(t, p, p.Click("tbody a"), loaded+` && document.querySelector("h1").innerText === "Run 1"`)
	want(t, p, "document.body.innerText", "./ignores", "synchronous", "× ")
	want(t, p, "document.querySelector('.beware').innerText", "(./ignores) on tiny")
	checkPage(t, p, s.url, "data:", "blob:")

	memory := openPage(t, b, s.url+"runs/1?metric=memory")
	act(t, memory, nil, loaded) // whether there is a picture depends on the noise: TestDefaultPage checks one
	want(t, memory, `document.querySelector("main > section:last-of-type tbody").innerText`, "iB")
	checkPage(t, memory, s.url, "data:", "blob:")

	pairs := openPage(t, b, s.url+"runs/1?driver=./good&driver=./better")
	act(t, pairs, nil, loaded)
	want(t, pairs, "document.querySelector('.pair').innerText", "the time of ./", "p ")
	checkPage(t, pairs, s.url, "data:", "blob:")

	act(t, p, p.Click(`[name=phase][value=mix]`), loaded+` && !document.body.innerText.includes("tiny · insert")`)
	act(t, p, p.Click(`tbody button`), loaded+` && document.querySelector(".uplot canvas") && document.activeElement.matches(".panel") && document.activeElement.getBoundingClientRect().top < innerHeight / 2`)
	want(t, p, "document.querySelector('.panel').innerText", "Read back", "synchronous", "6 samples")
	want(t, p, "document.querySelector('.panel .scroll').innerText", "not asked for", "not looked at")
	want(t, p, "document.querySelector('.facts').innerText", "rounds done")
	checkPage(t, p, s.url, "data:", "blob:")
	shown, err := browser.Eval[string](p, shownText)
	if err != nil {
		t.Fatal(err)
	}
	address, err := browser.Eval[string](p, "location.href")
	if err != nil {
		t.Fatal(err)
	}
	again := openPage(t, b, address)
	act(t, again, nil, loaded+` && document.querySelector(".uplot canvas")`)
	if text, err := browser.Eval[string](again, shownText); err != nil || text != shown {
		t.Errorf("the link shows another view, %v:\n%s\n\nfirst it was\n%s", err, text, shown)
	}

	two := openPage(t, b, s.url)
	act(t, two, nil, loaded)
	act(t, two, two.Click(`tbody tr:nth-child(1) input`), loaded+` && location.search.includes("pick=2")`)
	act(t, two, two.Click(`tbody tr:nth-child(2) input`), loaded+` && location.search.includes("pick=1")`)
	act(t, two, two.Click(`.pages a`), loaded+` && document.querySelector(".answer")`)
	want(t, two, "document.querySelector('tbody').innerText", "tiny")
	want(t, two, "document.querySelector('.answer').innerText", "Both sides are the same builds, measured at different times")
	want(t, two, "document.body.innerText", "Beware: run 1", "Beware: run 2")
	want(t, two, "document.querySelector('.facts').innerText", "run 1 of 20", ", SQLite 3.")
	want(t, two, "document.querySelector('.facts details').textContent", "3 cells", "tiny ./ignores mix")
	want(t, two, "[...document.querySelector('#known').options].map(o => o.value + ' ' + o.text).join()", "1 ", "2 ", "./better", "tiny")
	checkPage(t, two, s.url, "data:", "blob:")
	if err := two.Look(looks[2]); err != nil {
		t.Fatal(err)
	}
	const seen = `(() => { const cells = [...document.querySelectorAll("tbody tr:first-child td")]; return String(cells[3].getBoundingClientRect().right <= innerWidth) })()`
	want(t, two, seen, "true") // a phone shows verdict, cell, ratio and interval
}

// TestSoakMeasurePage starts a run of a real driver from the page, watches it, and stops it.
func TestSoakMeasurePage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	place.env = append(place.env, "SQLITE3PERF_WORKER_CACHE="+cache)
	s := place.serve("--store", "results.db")
	p := openPage(t, b, s.url+"measure?driver=modernc&workload=simple&workload=point-read&scale=0.01&rounds=100000#token="+s.token)
	act(t, p, nil, loaded)
	checkPage(t, p, s.url, "data:", "blob:")

	act(t, p, p.Click(`button[type=submit]`), `[...document.querySelectorAll("h2")].some(h => h.innerText === "Run 1 is being measured")`)
	act(t, p, nil, `document.querySelector("[aria-label='run 1 in progress'] tbody")?.innerText.includes("%")`) // the first intervals
	want(t, p, `document.querySelector("[aria-label='run 1 in progress']").innerText`, "left", "point-read", "modernc", "--drivers=modernc")
	checkPage(t, p, s.url, "data:", "blob:")

	act(t, p, p.Click(`[data-key=stop]`), `document.body.innerText.includes("It was stopped; what was measured is kept.")`)
	runs := openPage(t, b, s.url)
	act(t, runs, nil, loaded)
	want(t, runs, "document.querySelector('tbody').innerText", "interrupted", "modernc")
}
