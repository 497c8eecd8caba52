package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/browser"
	"github.com/sqlite3perf/sqlite3perf/internal/browser/browsertest"
	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestReportPage writes the page of a real run in which a driver was refused, and opens it.
func TestReportPage(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	run := place.command("run", "--workloads", "./tiny.yaml", "--drivers", "./good,./better,./ignores", "--rounds", "6", "--html", "r.html")
	if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != cli.ExitIncomplete {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "r.html")
	p, dir := browsertest.OpenSaving(t, address, "true")
	p.Check()
	p.Look(browsertest.Looks[0])

	const tip = `document.querySelector(".tip:not([hidden])")?.innerText ?? ""`
	p.Until(p.Hover(`figure svg [data-tip][aria-label*="interval"]`), tip)
	p.Want(tip, "test (./", "interval")
	p.Until(p.Click(`#picture-tiny-insert button[aria-label^="Save as SVG"]`), "true")
	downloaded(t, dir, "tiny-insert.svg", func(data []byte) error { return savedSVG(data, "time for 20 rows", "test (./better)") })
	p.Until(p.Click(`#picture-tiny-insert button[aria-label^="Save as PNG"]`), "true")
	downloaded(t, dir, "tiny-insert.png", savedPNG)
	copiesTables(t, p)
	prints(t, p)
	p.Until(p.Click("figure svg a[href]"), `location.hash && document.querySelector(":target").getClientRects().length`)
	p.Want(`document.querySelector(":target").innerText`, "synchronous")
}

// TestSitePages writes a site and reads it as its readers do: from page to page.
func TestSitePages(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	for _, args := range [][]string{
		{"run", "--workloads", "./tiny.yaml", "--drivers", "./good,./better", "--rounds", "6"},
		{"compare", "./good", "./better", "--workloads", "./tiny.yaml", "--rounds", "6"},
		{"site", "public"},
	} {
		if out, err := place.command(args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	served := httptest.NewServer(http.FileServer(http.Dir(place.dir)))
	t.Cleanup(served.Close)
	p := browsertest.Open(t, served.URL+"/public/", "true")
	p.Check()
	for _, step := range []struct{ link, to string }{
		{`a[href="runs/1.html"]`, "public/runs/1.html"}, {`a[href="../index.html"]`, "public/"},
		{`a[href^="drivers/good-"]`, "public/drivers/good-"}, {`a[href="../runs/2.html"]`, "public/runs/2.html"},
		{`a[href="../index.html"]`, "public/"}, {`a[href="trends.html"]`, "public/trends.html"},
	} {
		p.Until(p.Click(step.link), fmt.Sprintf(`location.pathname.includes(%q) && document.readyState == "complete"`, step.to))
		p.Check()
	}
}

// TestSoakComparisonPage compares two drivers, and reads the page like somebody who wants to
// know how they differ.
func TestSoakComparisonPage(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	compare := place.command("compare", "./good", "./better", "--workloads", "./tiny.yaml", "--rounds", "10", "-o", "c.html")
	if out, err := compare.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "c.html")
	p := browsertest.Open(t, address, "true")
	p.Check()
	p.Look(browsertest.Looks[0])
	p.Want(`document.querySelector("h1").innerText`, "./better", "./good")
	const tip = `document.querySelector(".tip:not([hidden])")?.innerText ?? ""`
	p.Until(p.Hover(`#picture-ratios .wide svg [data-tip]`), tip)
	p.Want(tip, "tiny", "interval", "n 10")
	p.Want(`document.querySelector("#what-differs-between-the-sides").parentElement.innerText`, "driver", "./good", "./better", "the same", "synchronous")
	p.Want(`document.querySelector("a[href*='methodology.md#comparisons']").innerText`, "methodology")
	readableOnPhone(t, p)
}

// readableOnPhone checks that the picture of all cells shortens no text on a phone, and that the
// table of differences fits the screen.
func readableOnPhone(t *testing.T, p browsertest.Reader) {
	t.Helper()
	p.Look(browsertest.Looks[2])
	shortened := browsertest.Eval[[]string](p, `[...document.querySelectorAll("#picture-ratios .narrow text")].map(e => e.textContent).filter(s => s.endsWith("…"))`)
	if len(shortened) > 0 {
		t.Errorf("shortened: %q", shortened)
	}
	p.Want(`String([...document.querySelectorAll("#what-differs-between-the-sides ~ .scroll")].every(e => e.scrollWidth <= e.clientWidth))`, "true")
}

// TestSoakAdvicePage reads the page of a recommendation like a colleague who has only that page.
func TestSoakAdvicePage(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	advise := place.command("advise", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--rounds", "6", "--diff=false", "-o", "a.html")
	if out, err := advise.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "a.html")
	p := browsertest.Open(t, address, "true")
	p.Check()
	p.Want(`document.querySelector("h1").innerText`, "./better")
	p.Want(`document.querySelector("#what-was-measured").parentElement.innerText`, "candidate", "./good", "peak memory")
	p.Want(`document.querySelector("#where-the-figures-are-from").parentElement.innerText`, "measured", "machine", "Not looked at")
}

// TestSoakGatePage opens the page of a gate in which a driver is too slow.
func TestSoakGatePage(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
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
	p := browsertest.Open(t, address, "true")
	p.Check()
	p.Want(`document.querySelector("h1").innerText`, "Failed: ./slow against ./good", "measured twice")
	p.Want(`document.querySelector("#picture-ratios").textContent`, "regression", "allowed: up to 5% more")
	p.Want(`document.querySelector("#picture-order-1").dataset.title`, "short ")
	readableOnPhone(t, p)
}

// TestSoakBisectionPage bisects two releases of a real driver, and checks the page of the result.
func TestSoakBisectionPage(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	bisect := place.command("bisect", "mattn@v1.14.52..v1.14.53", "--workloads", "./tiny.yaml", "--rounds", "6", "-o", "b.html", "--worker-cache", cache)
	if out, err := bisect.CombinedOutput(); err != nil && bisect.ProcessState.ExitCode() != cli.ExitIncomplete {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "b.html")
	p := browsertest.Open(t, address, "true")
	p.Check()
	p.Want(`document.querySelector("h1").innerText`, "mattn")
	p.Want(`document.querySelector("#picture-ratios").textContent`, "v1.14.53 against v1.14.52")
}

// TestSoakProfilePage profiles two drivers of the tests, and opens the page.
func TestSoakProfilePage(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	run := place.command("profile", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--phase", "mix", "--time", "1ms", "-o", "out")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "out", "profile.html")
	p := browsertest.Open(t, address, "true")
	p.Check()
	p.Want(`document.querySelector("h1").innerText`, "./good")
	p.Want(`document.querySelector("main").innerText`, "./better", "How it was measured", "phase mix")
}

// downloaded waits until a file has been saved in dir and the function "check" accepts its content.
// The file exists before its content is complete.
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
func copiesTables(t *testing.T, p browsertest.Reader) {
	t.Helper()
	p.Until(p.Click("#picture-phases > details > summary"), `document.querySelector("#picture-phases > details").open`)
	shown := browsertest.Eval[[][]string](p, `[...document.querySelector("#who-comes-first-cell-by-cell ~ .scroll table").rows].map(r => [...r.cells].map(c => c.innerText.replace(/\s+/g, " ").trim()))`)
	if len(shown) < 3 {
		t.Fatalf("the table is %q", shown)
	}
	copied := func(format string) string {
		button := fmt.Sprintf(`#who-comes-first-cell-by-cell ~ .tools button[aria-label="Copy this table as %s"]`, format)
		p.Until(p.Click(button), fmt.Sprintf("document.querySelector(%q).innerText === 'done'", button))
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
func prints(t *testing.T, p browsertest.Reader) {
	t.Helper()
	printed, err := p.Print()
	if pages := bytes.Count(printed, []byte("/Type /Page\n")); err != nil || pages < 2 {
		t.Errorf("%d pages were printed, %v", pages, err)
	}
	p.Look(browser.Look{Width: 720, Height: 900, Print: true})
	// These elements must be visible and within the paper. The selector leaves out the samples of each
	// case, and the contents of pictures.
	lost := browsertest.Eval[[]string](p, `[...document.querySelectorAll("main :is(h1, h2, h3, h4, p:not(.tools), dl, table, .wide svg):not(.nest *, .figures figure *, section:has(> .nest) *)")]
		.filter(e => !e.checkVisibility() || e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 200))`)
	if len(lost) > 0 {
		t.Errorf("not on paper: %q", lost)
	}
	p.Look(browsertest.Looks[0])
}

// loaded is a JavaScript condition. It is true when the explorer has drawn a view.
const loaded = `document.querySelector("main[aria-busy=false]") !== null && document.querySelector("figure[aria-busy=true]") === null`

// shownText is a JavaScript expression for the text of a view, without the text in pictures, which
// depends on their width.
const shownText = `(() => { const m = document.querySelector("main").cloneNode(true); m.querySelectorAll("svg, figure details, .chart").forEach(s => s.remove()); return m.textContent })()`

// TestSoakExplorerPages uses the explorer as a reader of results does. It finds a run, looks at
// parts of the run and at a cell's samples and settings, and compares two runs.
func TestSoakExplorerPages(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	for _, drivers := range []string{"./good,./better,./ignores", "./good,./better"} {
		run := place.command("run", "--workloads", "./tiny.yaml", "--drivers", drivers, "--rounds", "6", "--store", "results.db", "--quiet")
		if out, err := run.CombinedOutput(); err != nil && run.ProcessState.ExitCode() != cli.ExitIncomplete {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	s := place.serve("--store", "results.db")
	p := browsertest.Open(t, s.url, loaded)
	p.Check()

	p.Until(p.Type(`[name=q]`, "ignores\r"), loaded+` && document.querySelectorAll("tbody tr").length === 1`)
	p.Want("location.href", "q=ignores")
	p.Want("document.querySelector('tbody').innerText", "refused")
	p.Until(p.Click("tbody a"), loaded+` && document.querySelector("h1").innerText === "Run 1"`)
	p.Want("document.body.innerText", "./ignores", "synchronous", "× ")
	p.Want("document.querySelector('.beware').innerText", "(./ignores) on tiny")
	p.Check()

	memory := browsertest.Open(t, s.url+"runs/1?metric=memory", loaded)
	memory.Want(`document.querySelector("main > section:last-of-type tbody").innerText`, "iB")
	memory.Check()

	pairs := browsertest.Open(t, s.url+"runs/1?driver=./good&driver=./better", loaded)
	pairs.Want("document.querySelector('.pair').innerText", "the time of ./", " to ", "p ")
	pairs.Check()

	p.Until(p.Click(`[name=phase][value=mix]`), loaded+` && !document.body.innerText.includes("tiny · insert")`)
	p.Until(p.Click(`tbody button`), loaded+` && document.querySelector(".uplot canvas") && document.activeElement.matches(".panel") && document.activeElement.getBoundingClientRect().top < innerHeight / 2`)
	p.Want("document.querySelector('.panel').innerText", "Read back", "synchronous", "6 samples")
	p.Want("document.querySelector('.panel .scroll').innerText", "not asked for")
	p.Want("document.querySelector('.facts').innerText", "rounds done")
	p.Check()
	shown := browsertest.Eval[string](p, shownText)
	address := browsertest.Eval[string](p, "location.href")
	again := browsertest.Open(t, address, loaded)
	again.Until(nil, loaded+` && document.querySelector(".uplot canvas")`)
	if text := browsertest.Eval[string](again, shownText); text != shown {
		t.Errorf("the link shows another view:\n%s\n\nfirst it was\n%s", text, shown)
	}

	two := browsertest.Open(t, s.url, loaded)
	two.Until(two.Click(`tbody tr:nth-child(1) input`), loaded+` && location.search.includes("pick=2")`)
	two.Until(two.Click(`tbody tr:nth-child(2) input`), loaded+` && location.search.includes("pick=1")`)
	two.Until(two.Click(`.pages a`), loaded+` && document.querySelector(".answer")`)
	two.Want("document.querySelector('tbody').innerText", "tiny")
	two.Want("document.querySelector('.answer').innerText", "Both sides are the same builds, measured at different times")
	two.Want("document.body.innerText", "Beware: run 1", "Beware: run 2")
	two.Want("document.querySelector('.facts').innerText", "run 1 of 20", ", SQLite 3.")
	two.Want("document.querySelector('.facts details').textContent", "3 cells", "tiny ./ignores mix")
	two.Want("[...document.querySelector('#known').options].map(o => o.value + ' ' + o.text).join()", "1 ", "2 ", "./better", "tiny")
	two.Check()
	two.Look(browsertest.Looks[2])
	const seen = `(() => { const cells = [...document.querySelectorAll("tbody tr:first-child td")]; return String(cells[3].getBoundingClientRect().right <= innerWidth) })()`
	two.Want(seen, "true") // the first four columns (verdict, cell, ratio and interval) fit on a phone
}

// TestSoakMeasurePage starts a run of a real driver from the page, watches it, and stops it.
func TestSoakMeasurePage(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	place.env = append(place.env, "SQLITE3PERF_WORKER_CACHE="+cache)
	s := place.serve("--store", "results.db")
	p := browsertest.Open(t, s.url+"measure?driver=modernc&workload=simple&workload=point-read&scale=0.01&rounds=100000#token="+s.token, loaded)
	p.Check()

	p.Until(p.Click(`button[type=submit]`), `[...document.querySelectorAll("h2")].some(h => h.innerText === "Run 1 is being measured")`)
	p.Until(nil, `document.querySelector("[aria-label='run 1 in progress'] tbody")?.innerText.includes("%")`) // until the page shows the first intervals
	p.Want(`document.querySelector("[aria-label='run 1 in progress']").innerText`, "left", "point-read", "modernc", "--drivers=modernc")
	p.Check()

	p.Until(p.Click(`[data-key=stop]`), `document.body.innerText.includes("It was stopped; what was measured is kept.")`)
	runs := browsertest.Open(t, s.url, loaded)
	runs.Want("document.querySelector('tbody').innerText", "interrupted", "modernc")
}
