package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/browser"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// changing writes a store of 50 runs in which one driver is slower from run 26 on.
func changing(t *testing.T, path string) {
	t.Helper()
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 50 {
		start := time.Date(2026, 10, 1+i, 12, 0, 0, 0, time.UTC)
		r := &result.Run{Version: "test", Started: start, Ended: start.Add(time.Minute), Command: []string{"run"}, Scale: "quick", Rounds: 6,
			Stopped: result.StoppedRounds, Machine: result.Machine{Hostname: "lab", OS: "linux", CPU: "test", Cores: 2},
			Workloads: []result.Workload{{Name: "simple", Text: "name: simple", SHA256: "abc"}}}
		for j, d := range []string{"mattn", "modernc"} {
			r.Cases = append(r.Cases, result.Case{ID: j + 1, Workload: "simple", WorkloadSHA256: "abc", Scale: "quick", Driver: d,
				Settings: driver.Settings{"journal_mode": []string{"wal", "delete"}[i/49]}, Phases: []string{"insert"}})
		}
		version := "v1.0.0"
		if i >= 25 {
			version = "v1.1.0"
		}
		for round := 1; round <= 6; round++ {
			for j := range r.Cases {
				ns := 1e6 * (1 + 0.005*random.NormFloat64())
				if j == 1 && i >= 25 {
					ns *= 1.5
				}
				r.Trials = append(r.Trials, result.Trial{Case: j + 1, Round: round, Order: len(r.Trials) + 1, Started: start, TookNS: int64(ns), Status: result.OK,
					Proof:   &protocol.Proof{SQLiteVersion: "3.53.4", Module: "m", ModuleVersion: version, Connections: []driver.Settings{{"journal_mode": "wal"}}},
					Samples: []result.Sample{{Phase: "insert", WallNS: int64(ns), Operations: 100, Rows: 100, Metric: result.MetricTime}}})
			}
		}
		err = errors.Join(err, st.Begin(t.Context(), r))
	}
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestSoakTrendsPage opens the page of trends for a driver that became slower. The page must mark the
// run in which the driver became slower.
func TestSoakTrendsPage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	changing(t, filepath.Join(place.dir, "results.db"))
	s := place.serve("--store", "results.db")
	p := openPage(t, b, s.url+"trends?workload=simple&driver=modernc&driver=mattn")
	act(t, p, nil, loaded+` && document.querySelector(".uplot canvas")`)
	checkPage(t, p, s.url, "data:", "blob:")
	if err := p.Look(looks[0]); err != nil {
		t.Fatal(err)
	}
	want(t, p, `document.querySelector("section ul").innerText`, "modernc changes with run 26 of 2026-10-26", "1.50x of what it was before", "modernc v1.1.0, before v1.0.0")
	want(t, p, `String(document.querySelectorAll("section ul li").length)`, "1") // mattn does not change
	want(t, p, `document.querySelector("main").innerText`, "50 runs", "1 more were measured in only one run")

	// The page marks a change by a vertical line in the color of the series, just before the first
	// point after the change.
	const marked = `(() => {
		const canvas = document.querySelector(".uplot canvas"), over = document.querySelector(".u-over");
		const scale = canvas.width / canvas.clientWidth, c = canvas.getContext("2d");
		const from = canvas.getBoundingClientRect(), area = over.getBoundingClientRect();
		const x = Math.round((area.left - from.left + area.width * 24.5 / 48) * scale), y = Math.round((area.top - from.top + 4) * scale);
		for (let i = x - 3; i <= x + 3; i++) {
			const [r, g, b, a] = c.getImageData(i, y, 1, 1).data;
			if (a > 100 && Math.max(r, g, b) - Math.min(r, g, b) > 60) return "marked";
		}
		return "nothing at " + x + " " + y;
	})()`
	want(t, p, marked, "marked")

	act(t, p, p.Hover(".u-over"), `document.querySelector(".u-legend").innerText.includes("2026-10-25")`) // in the middle of the 49 runs
	want(t, p, `document.querySelector(".u-legend").innerText`, "modernc", "mattn", "1.01 ms")

	// The figures of a large store take long, so the page computes them only when the user opens
	// them.
	const figures = `document.querySelector("section details").textContent`
	if text, err := browser.Eval[string](p, figures); err != nil || strings.Contains(text, "1.00 ms") {
		t.Errorf("%v: not opened yet, it says %s", err, text)
	}
	act(t, p, p.Click("section details summary"), figures+`.includes("1.00 ms")`)
	want(t, p, figures, "time of modernc", "v1.1.0, before v1.0.0", "a new level begins")

	act(t, p, p.Click("section li a"), loaded+` && document.querySelector("h1").innerText === "Run 26"`)
	again := openPage(t, b, s.url+"trends")
	act(t, again, nil, loaded)
	choose(t, again, "metric", "rate")
	act(t, again, nil, loaded+` && location.search.includes("metric=rate") && document.querySelector(".uplot canvas")`)
	sameView(t, b, again)
}

// choose chooses an option of a select element, as a user does.
func choose(t *testing.T, p *browser.Page, name, value string) {
	t.Helper()
	if _, err := browser.Eval[bool](p, fmt.Sprintf(`(() => {
		const e = document.querySelector("[name=%s]");
		e.value = %q;
		return e.value === %[2]q && e.dispatchEvent(new Event("change", {bubbles: true}));
	})()`, name, value)); err != nil {
		t.Fatal(err)
	}
}

// sameView fails unless the page's address shows the same view when it is opened again.
func sameView(t *testing.T, b *browser.Browser, p *browser.Page) {
	t.Helper()
	address, err := browser.Eval[string](p, "location.href")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := browser.Eval[string](p, shownText)
	if err != nil {
		t.Fatal(err)
	}
	again := openPage(t, b, address)
	act(t, again, nil, loaded)
	if text, err := browser.Eval[string](again, shownText); err != nil || text != shown {
		t.Errorf("%s shows another view, %v:\n%s\n\nfirst it was\n%s", address, err, text, shown)
	}
}

// TestListPage searches and filters the list of runs. The address must keep search and filters.
func TestListPage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	changing(t, filepath.Join(place.dir, "results.db"))
	s := place.serve("--store", "results.db")
	p := openPage(t, b, s.url)
	const rows = `String(document.querySelectorAll("tbody tr").length)`
	act(t, p, nil, loaded)
	want(t, p, rows, "50")
	act(t, p, p.Type("[name=q]", "journal_mode lab\r"), loaded+` && location.search.includes("q=journal_mode+lab")`)
	want(t, p, `document.querySelector("main").innerText`, "0 of 50 runs") // no run was given this setting
	act(t, p, p.Click(`form button[type=button]`), loaded+` && location.search === ""`)
	choose(t, p, "driver", "modernc")
	act(t, p, nil, loaded+` && location.search.includes("driver=modernc")`)
	choose(t, p, "state", "complete")
	act(t, p, nil, loaded+` && location.search.includes("state=complete")`)
	if _, err := browser.Eval[bool](p, `(() => {
		const e = document.querySelector("[name=until]");
		e.value = "2026-10-05";
		return e.dispatchEvent(new Event("change", {bubbles: true}));
	})()`); err != nil {
		t.Fatal(err)
	}
	act(t, p, nil, loaded+` && location.search.includes("until=2026-10-05")`)
	want(t, p, `document.querySelector("caption").innerText`, "5 of 50 runs")
	act(t, p, p.Click("[data-key=sort-started]"), loaded+` && location.search.includes("order=asc")`)
	want(t, p, `document.querySelector("tbody td:nth-child(2)").innerText`, "1")
	sameView(t, b, p)
	for _, part := range []string{"driver=modernc", "state=complete", "until=2026-10-05"} {
		want(t, p, "location.search", part)
	}
	if _, err := browser.Eval[bool](p, "(history.back(), true)"); err != nil {
		t.Fatal(err)
	}
	act(t, p, nil, loaded+` && !location.search.includes("order=asc")`)
	want(t, p, `document.querySelector("tbody td:nth-child(2)").innerText`, "5")
}

// point moves the mouse to an element. It does so repeatedly until a JavaScript expression, the
// parameter then, is true. While a page's layout is not finished, the element may move away from
// the mouse.
func point(t *testing.T, p *browser.Page, selector, then string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err := p.Hover(selector); err != nil {
			t.Fatalf("%v\nthe page: %s", err, pageText(p))
		}
		if ok, err := browser.Eval[bool](p, "!!("+then+")"); err == nil && ok {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("pointing at %s: never %s", selector, then)
}

// TestSoakRunPictures opens the pictures of a real run. Their marks must show exact figures and link
// to the samples. The pictures must show only the drivers that the user chose, and the user must be
// able to save them.
func TestSoakRunPictures(t *testing.T) {
	t.Parallel()
	b, err := browser.Start(t.Context()) // the test's own browser, because all pages of a browser share the directory for downloads
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	place := newPlace(t)
	run := place.command("run", "--workloads", "./tiny.yaml", "--drivers", "./good,./better,./ignores", "--rounds", "6", "--store", "results.db", "--quiet")
	if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != cli.ExitIncomplete {
		t.Fatalf("%v\n%s", err, out)
	}
	s := place.serve("--store", "results.db")
	p := openPage(t, b, s.url+"runs/1")
	act(t, p, nil, loaded+` && document.querySelector("figure[data-name=phases] svg")`)
	const tip = `document.querySelector(".tip:not([hidden])")?.innerText ?? ""`
	point(t, p, `figure[data-name=phases] svg a[aria-label*="rounds"]`, tip)
	want(t, p, tip, "./", "tiny", "(") // the interval

	// The user can choose each kind of picture that the run has.
	names, err := browser.Eval[[]string](p, `[...document.querySelectorAll("[name=picture]")].map(e => e.value)`)
	if err != nil || !strings.Contains(strings.Join(names, " "), "ratios ranking latency samples memory") {
		t.Fatalf("kinds %q, %v", names, err)
	}
	for _, kind := range []string{"latency", "samples", "memory"} {
		act(t, p, p.Click(fmt.Sprintf("[name=picture][value=%s]", kind)), fmt.Sprintf(`%s && location.search.includes("picture=%s") && document.querySelector("figure[data-kind=%[2]s] svg")`, loaded, kind))
	}
	act(t, p, p.Click("[name=picture][value=ratios]"), loaded+` && !document.querySelector("figure[data-kind=ratios]")`)
	point(t, p, `figure[data-kind=latency] svg a[data-tip]:last-of-type`, "("+tip+`).includes("sample")`)
	act(t, p, p.Press(kb.Escape), "("+tip+`) === ""`)
	checkPage(t, p, s.url, "data:", "blob:")
	if err := p.Look(looks[0]); err != nil {
		t.Fatal(err)
	}
	act(t, p, nil, loaded+` && document.querySelector("figure[data-kind=latency] svg").clientWidth > 600`)
	sameView(t, b, p)

	// The pictures show what the user chose.
	act(t, p, p.Click(`[name=driver][value="./good"]`), loaded+` && location.search.includes("driver=")`)
	const pictured = `[...document.querySelectorAll("figure[data-kind=memory] svg, figure[data-kind=samples] svg")].map(e => e.textContent).join(" ")`
	act(t, p, nil, pictured+`.includes("./good")`)
	if text, err := browser.Eval[string](p, pictured); err != nil || strings.Contains(text, "./better") {
		t.Errorf("./better was not chosen: %v\n%s", err, text)
	}

	dir := t.TempDir()
	if err := p.Downloads(dir); err != nil {
		t.Fatal(err)
	}
	act(t, p, p.Click(`figure[data-name=tiny-mix-order] a[download$=".svg"]`), "true")
	downloaded(t, dir, "tiny-mix-order.svg", func(data []byte) error {
		if !strings.HasPrefix(string(data), "<svg") || !strings.Contains(string(data), "./good") || strings.Contains(string(data), "./better") {
			return fmt.Errorf("it is %.500q", data)
		}
		return nil
	})
	act(t, p, p.Click(`figure[data-name=tiny-mix-order] a[download$=".png"]`), "true")
	downloaded(t, dir, "tiny-mix-order.png", savedPNG)

	act(t, p, p.Click(`figure[data-kind=memory] svg a`), loaded+` && document.querySelector("section.panel .uplot canvas")`)
	want(t, p, "location.search", "case=", "of=", "picture=memory")
	want(t, p, "document.querySelector('section.panel').innerText", "Read back", "synchronous", "6 samples")

	choose(t, p, "metric", "memory")
	act(t, p, nil, loaded+` && location.search.includes("metric=memory")`)
	act(t, p, p.Click(`[name=driver][value="./good"]`), loaded+` && !location.search.includes("driver=")`)
	want(t, p, `document.querySelector("main section table thead").innerText`, "× ./")
	want(t, p, `document.querySelector("main section table caption").innerText`, "less is better")
}

// TestSoakMeasureNeedsToken opens the page for measuring without the token that starts runs. The page
// must ask for the address with the token. Then the test opens that address. The browser must keep the
// token for pages that are opened by links without it.
func TestSoakMeasureNeedsToken(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	s := place.serve("--store", "results.db", "--drivers", "./good", "--workloads", "./tiny.yaml")
	p := openPage(t, b, s.url+"measure")
	act(t, p, nil, loaded)
	want(t, p, `document.querySelector("main").innerText`, "open the address that the server printed")
	checkPage(t, p, s.url, "data:", "blob:")

	p = openPage(t, b, s.url+"#token="+s.token)
	act(t, p, nil, loaded)
	want(t, p, "location.href + ' it is'", s.url+" it is") // the address without the token can be shown to others
	act(t, p, p.Click(`nav a[href="/measure"]`), loaded+` && location.pathname === "/measure" && document.querySelector("[name=set]")`)
	const options = `[...document.querySelectorAll("datalist")].map(l => l.id + ": " + [...l.options].map(o => o.value).join(" ")).join("\n")`
	want(t, p, options, "known-scale: quick full", "journal_mode=wal", "synchronous=off", "known-rounds: 6", "known-param: ", "n=20")
	act(t, p, p.Type("[name=set]", "synchronous=off"), `document.querySelectorAll("[name=set]").length === 2`)
	if _, err := browser.Eval[bool](p, `document.querySelector("[name=set]").dispatchEvent(new Event("change", {bubbles: true}))`); err != nil {
		t.Fatal(err)
	}
	act(t, p, nil, `location.search.includes("set=synchronous%3Doff")`)
	act(t, p, p.Type("[name=rounds]", "6"), "true")
	act(t, p, p.Click("button[type=submit]"), `document.body.innerText.includes("All was measured.")`)
	want(t, p, "document.body.innerText", "Run 1")
	run := place.head(s, 1)
	if fmt.Sprint(run.Asked.Settings) != "map[synchronous:[off]]" || run.Trials != 6 {
		t.Errorf("%+v", run)
	}
}

// TestRunDefects opens the page of a run in which one driver links a SQLite with known defects.
func TestRunDefects(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	r := &result.Run{Version: "test", Started: start, Ended: start.Add(time.Minute), Command: []string{"run"}, Scale: "quick", Rounds: 6,
		Stopped: result.StoppedRounds, Machine: result.Machine{Hostname: "lab", OS: "linux", Arch: "amd64", CPU: "test", Cores: 2},
		Workloads: []result.Workload{{Name: "simple", Text: "name: simple", SHA256: "abc"}}}
	sqlite := []string{"3.51.2", "3.53.4"}
	for i, d := range []string{"zombiezen", "modernc"} {
		r.Cases = append(r.Cases, result.Case{ID: i + 1, Workload: "simple", WorkloadSHA256: "abc", Scale: "quick", Driver: d, Phases: []string{"insert"},
			Info: driver.Info{Name: d, Kind: driver.Transpiled, Interface: driver.DatabaseSQL}})
	}
	for round := 1; round <= r.Rounds; round++ {
		for i := range r.Cases {
			r.Trials = append(r.Trials, result.Trial{Case: i + 1, Round: round, Order: len(r.Trials) + 1, Started: start, Status: result.OK,
				Proof:   &protocol.Proof{SQLiteVersion: sqlite[i], Module: "m", ModuleVersion: "v1.2.3", Connections: []driver.Settings{{"journal_mode": "wal"}}},
				Samples: []result.Sample{{Phase: "insert", WallNS: int64((i+1)*1e6 + round*1000), Operations: 100, Rows: 100, Metric: result.MetricTime}}})
		}
	}
	st, err := store.Open(t.Context(), filepath.Join(place.dir, "results.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.Begin(t.Context(), r), st.Close()); err != nil {
		t.Fatal(err)
	}
	s := place.serve("--store", "results.db")
	p := openPage(t, b, s.url+"runs/1")
	act(t, p, nil, loaded)
	want(t, p, `document.querySelector("main > section:last-of-type tbody tr").innerText`, "zombiezen!")
	if text, err := browser.Eval[string](p, `document.querySelector("main > section:last-of-type tbody tr:nth-child(2)").innerText`); err != nil || !strings.Contains(text, "modernc") || !strings.Contains(text, "best without !") {
		t.Errorf("%v: %q has no known defect", err, text)
	}
	want(t, p, `document.querySelector("details.known").innerText`, "1 known defect can lose or falsify data in what is shown", "wal-reset", "committed pages can be lost", "journal_mode=wal; several connections", "zombiezen")
	checkPage(t, p, s.url, "data:", "blob:")
	if err := p.Look(looks[0]); err != nil {
		t.Fatal(err)
	}
	act(t, p, p.Click("[data-key=cell-1-insert]"), loaded+` && document.querySelector("section.panel .uplot canvas")`)
	want(t, p, `document.querySelector("section.panel").innerText`, "known defects", "can lose or falsify data here: wal-reset", "wal-reset, CVE-2026-11822")
}

// TestRunWords checks the words on the page of a run in which one driver is tied with the first, one
// leads by no more than the overhead of sqlite3perf, and two are refused for the same reason.
func TestRunWords(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	r := &result.Run{Version: "test", Started: start, Ended: start.Add(time.Minute), Command: []string{"run"}, Scale: "quick", Rounds: 8, Precision: 0.0001,
		Stopped: result.StoppedTime, Machine: result.Machine{Hostname: "lab", OS: "linux", CPU: "test", Cores: 2},
		Workloads: []result.Workload{{Name: "simple", Text: "name: simple", SHA256: "abc"}}}
	for i, d := range []string{"mattn", "crawshaw", "modernc", "ncruces", "glebarez", "zombiezen"} {
		r.Cases = append(r.Cases, result.Case{ID: i + 1, Workload: "simple", WorkloadSHA256: "abc", Scale: "quick", Driver: d, Phases: []string{"insert"},
			Info:  driver.Info{Name: d, Kind: []driver.Kind{driver.Cgo, driver.Cgo, driver.Transpiled, driver.Wasm, driver.Transpiled, driver.Transpiled}[i], Interface: driver.DatabaseSQL},
			Added: []result.AddedTime{{Phase: "insert", Operation: estimate.Estimate{Low: 100, High: []float64{100, 100, 100, 20_000, 100, 100}[i]}}}})
	}
	for round := 1; round <= 8; round++ {
		for i := range r.Cases {
			x := result.Trial{Case: i + 1, Round: round, Order: len(r.Trials) + 1, Started: start, Status: result.OK,
				Proof: &protocol.Proof{SQLiteVersion: "3.53.4", Module: "m", ModuleVersion: "v1.2.3", Connections: []driver.Settings{{"journal_mode": "wal"}}}}
			ns := int64([]float64{1e6, 1e6, 2e6, 3e6, 0, 0}[i]) + int64((round+i)%2*1000)
			if x.Samples = []result.Sample{{Phase: "insert", WallNS: ns, Operations: 100, Rows: 100, Metric: result.MetricTime}}; i > 3 {
				x.Status, x.Samples, x.Reason = result.Refused, nil, &protocol.Reason{Code: protocol.CodeSetting, Message: "wanted full, got off"}
			}
			r.Trials = append(r.Trials, x)
		}
		r.Warnings = append(r.Warnings, result.Warning{Code: result.WarningCalibration, Message: "slow", Round: round, Deviation: 0.2})
	}
	st, err := store.Open(t.Context(), filepath.Join(place.dir, "results.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.Begin(t.Context(), r), st.Close()); err != nil {
		t.Fatal(err)
	}
	s := place.serve("--store", "results.db")
	p := openPage(t, b, s.url)
	act(t, p, nil, loaded)
	want(t, p, `document.querySelector("tbody .state").innerText`, "time over; 2 refused of 6 cases; warnings: noise")
	if err := p.Look(looks[2]); err != nil {
		t.Fatal(err)
	}
	// On a phone, nothing extends beyond the right edge of the screen.
	const inside = `String([...document.querySelectorAll("table.cards td")].every(e => e.getBoundingClientRect().right <= innerWidth) && document.querySelectorAll("table.cards").length)`
	want(t, p, inside, "1")

	p = openPage(t, b, s.url+"runs/1?driver=modernc&driver=ncruces")
	act(t, p, nil, loaded)
	checkPage(t, p, s.url, "data:", "blob:")
	want(t, p, inside, "1")
	want(t, p, `document.querySelector(".answer").innerText`, "Of all drivers and phases of the run, whatever is chosen below: Take mattn or crawshaw: they are equally fast")
	want(t, p, `document.querySelector(".pair").innerText`, "ncruces takes 1.50x the time of modernc (1.50x to 1.50x)", "sqlite3perf's own overhead may explain the difference: it is at least 50% of the time of modernc v1.2.3, and ncruces v1.2.3 has at most 99% more overhead")
	want(t, p, `document.querySelector("tbody tr").innerText`, "modernc*", "transpiled, database/sql", "v1.2.3, SQLite 3.53.4", "may explain its lead before ncruces")
	want(t, p, `document.querySelector(".facts").innerText`, "without cgo", "modernc")

	// Times are shown with a time zone.
	const zoned = `String(/20\d\d-\d\d-\d\d \d\d:\d\d (UTC|[A-Z]{3,5}|GMT[-+]\d[\d:]*)(,|\s)/.test(document.querySelector("main").innerText))`
	want(t, p, zoned, "true")
	p = openPage(t, b, s.url)
	act(t, p, nil, loaded)
	want(t, p, zoned, "true")

	p = openPage(t, b, s.url+"runs/1")
	act(t, p, nil, loaded)
	want(t, p, `document.querySelector("a[href='/runs/1/report#imprecise-figures']").innerText`, "3 imprecise figures, the widest first")
	want(t, p, `document.querySelector("main").innerText`, "glebarez on simple; zombiezen on simple: refused: wanted full, got off", "first, or tied with it", "slower than the first")
	want(t, p, `String(document.querySelector("main").innerText.split("wanted full, got off").length - 1)`, "2") // one in the warnings, and one with the cells
	want(t, p, `String(document.querySelectorAll("tbody .track.best").length)`, "2")
}

// TestAnswerPages opens the page of a run that has an answer instead of samples, and the page with
// this answer.
func TestAnswerPages(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	path := filepath.Join(place.dir, "results.db")
	env, _, messages := bufferedEnvironment()
	if id := (&clusterOptions{store: path}).keep(t.Context(), env, someClusters(), time.Now(), false); id != 1 {
		t.Fatalf("run %d: %s", id, messages)
	}
	s := place.serve("--store", "results.db")
	p := openPage(t, b, s.url)
	act(t, p, nil, loaded)
	want(t, p, `document.querySelector("main").innerText`, "answer of cluster")
	p = openPage(t, b, s.url+"runs/1")
	act(t, p, nil, loaded)
	checkPage(t, p, s.url, "data:", "blob:")
	want(t, p, `document.querySelector("main").innerText`, "This run has the answer of cluster instead of samples.", "made for sqlite3perf cluster: the answer")
	p = openPage(t, b, s.url+"runs/1/answer")
	want(t, p, `document.querySelector("main").innerText`, "What it costs", "not leader")
}
