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
	"github.com/sqlite3perf/sqlite3perf/internal/browser/browsertest"
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
	place := newPlace(t)
	changing(t, filepath.Join(place.dir, "results.db"))
	s := place.serve("--store", "results.db")
	p := browsertest.Open(t, s.url+"trends?workload=simple&driver=modernc&driver=mattn", loaded)
	p.Until(nil, loaded+` && document.querySelector(".uplot canvas")`)
	p.Check()
	p.Look(browsertest.Looks[0])
	p.Want(`document.querySelector("section ul").innerText`, "modernc changes with run 26 of 2026-10-26", "1.50x of what it was before", "modernc v1.1.0, before v1.0.0")
	p.Want(`String(document.querySelectorAll("section ul li").length)`, "1") // the list has only modernc, because mattn does not become slower
	p.Want(`document.querySelector("main").innerText`, "50 runs", "1 more were measured in only one run")

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
	p.Want(marked, "marked")

	p.Until(p.Hover(".u-over"), `document.querySelector(".u-legend").innerText.includes("2026-10-25")`) // this run is in the middle of the picture, where the mouse is
	p.Want(`document.querySelector(".u-legend").innerText`, "modernc", "mattn", "1.01 ms")

	// The figures of a large store take long, so the page computes them only when the user opens
	// them.
	const figures = `document.querySelector("section details").textContent`
	if text := browsertest.Eval[string](p, figures); strings.Contains(text, "1.00 ms") {
		t.Errorf("the page shows figures before they are opened: %s", text)
	}
	p.Until(p.Click("section details summary"), figures+`.includes("1.00 ms")`)
	p.Want(figures, "time of modernc", "v1.1.0, before v1.0.0", "a new level begins")

	p.Until(p.Click("section li a"), loaded+` && document.querySelector("h1").innerText === "Run 26"`)
	again := browsertest.Open(t, s.url+"trends", loaded)
	choose(t, again, "metric", "rate")
	again.Until(nil, loaded+` && location.search.includes("metric=rate") && document.querySelector(".uplot canvas")`)
	sameView(t, again)
}

// choose chooses an option of a select element, as a user does.
func choose(t *testing.T, p browsertest.Reader, name, value string) {
	t.Helper()
	browsertest.Eval[bool](p, fmt.Sprintf(`(() => {
		const e = document.querySelector("[name=%s]");
		e.value = %q;
		return e.value === %[2]q && e.dispatchEvent(new Event("change", {bubbles: true}));
	})()`, name, value))
}

// sameView fails unless the page's address shows the same view when it is opened again.
func sameView(t *testing.T, p browsertest.Reader) {
	t.Helper()
	address := browsertest.Eval[string](p, "location.href")
	shown := browsertest.Eval[string](p, shownText)
	again := browsertest.Open(t, address, loaded)
	if text := browsertest.Eval[string](again, shownText); text != shown {
		t.Errorf("%s shows another view:\n%s\n\nfirst it was\n%s", address, text, shown)
	}
}

// TestListPage searches and filters the list of runs. The address must keep search and filters.
func TestListPage(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	changing(t, filepath.Join(place.dir, "results.db"))
	s := place.serve("--store", "results.db")
	p := browsertest.Open(t, s.url, loaded)
	const rows = `String(document.querySelectorAll("tbody tr").length)`
	p.Want(rows, "50")
	p.Until(p.Type("[name=q]", "journal_mode lab\r"), loaded+` && location.search.includes("q=journal_mode+lab")`)
	p.Want(`document.querySelector("main").innerText`, "0 of 50 runs") // no run was given this setting
	p.Until(p.Click(`form button[type=button]`), loaded+` && location.search === ""`)
	choose(t, p, "driver", "modernc")
	p.Until(nil, loaded+` && location.search.includes("driver=modernc")`)
	choose(t, p, "state", "complete")
	p.Until(nil, loaded+` && location.search.includes("state=complete")`)
	browsertest.Eval[bool](p, `(() => {
		const e = document.querySelector("[name=until]");
		e.value = "2026-10-05";
		return e.dispatchEvent(new Event("change", {bubbles: true}));
	})()`)
	p.Until(nil, loaded+` && location.search.includes("until=2026-10-05")`)
	p.Want(`document.querySelector("caption").innerText`, "5 of 50 runs")
	p.Until(p.Click("[data-key=sort-started]"), loaded+` && location.search.includes("order=asc")`)
	p.Want(`document.querySelector("tbody td:nth-child(2)").innerText`, "1")
	sameView(t, p)
	for _, part := range []string{"driver=modernc", "state=complete", "until=2026-10-05"} {
		p.Want("location.search", part)
	}
	browsertest.Eval[bool](p, "(history.back(), true)")
	p.Until(nil, loaded+` && !location.search.includes("order=asc")`)
	p.Want(`document.querySelector("tbody td:nth-child(2)").innerText`, "5")
}

// point moves the mouse to an element. It does so repeatedly until the JavaScript expression in the
// parameter "then" is true. While a page's layout is not finished, the element may move away from
// the mouse.
func point(t *testing.T, p browsertest.Reader, selector, then string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err := p.Hover(selector); err != nil {
			t.Fatal(err)
		}
		if browsertest.Eval[bool](p, "!!("+then+")") {
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
	place := newPlace(t)
	run := place.command("run", "--workloads", "./tiny.yaml", "--drivers", "./good,./better,./ignores", "--rounds", "6", "--store", "results.db", "--quiet")
	if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != cli.ExitIncomplete {
		t.Fatalf("%v\n%s", err, out)
	}
	s := place.serve("--store", "results.db")
	p, dir := browsertest.OpenSaving(t, s.url+"runs/1", loaded)
	p.Until(nil, loaded+` && document.querySelector("figure[data-name=phases] svg")`)
	const tip = `document.querySelector(".tip:not([hidden])")?.innerText ?? ""`
	point(t, p, `figure[data-name=phases] svg a[aria-label*="rounds"]`, tip)
	p.Want(tip, "./", "tiny", " to ") // the text of an interval contains " to "

	// The user can choose each kind of picture that the run has.
	names := browsertest.Eval[[]string](p, `[...document.querySelectorAll("[name=picture]")].map(e => e.value)`)
	if !strings.Contains(strings.Join(names, " "), "ratios ranking latency samples memory") {
		t.Fatalf("kinds %q", names)
	}
	for _, kind := range []string{"latency", "samples", "memory"} {
		p.Until(p.Click(fmt.Sprintf("[name=picture][value=%s]", kind)), fmt.Sprintf(`%s && location.search.includes("picture=%s") && document.querySelector("figure[data-kind=%[2]s] svg")`, loaded, kind))
	}
	p.Until(p.Click("[name=picture][value=ratios]"), loaded+` && !document.querySelector("figure[data-kind=ratios]")`)
	point(t, p, `figure[data-kind=latency] svg a[data-tip]:last-of-type`, "("+tip+`).includes("sample")`)
	p.Until(p.Press(kb.Escape), "("+tip+`) === ""`)
	p.Check()
	p.Look(browsertest.Looks[0])
	p.Until(nil, loaded+` && document.querySelector("figure[data-kind=latency] svg").clientWidth > 600`)
	sameView(t, p)

	// The pictures show what the user chose.
	p.Until(p.Click(`[name=driver][value="./good"]`), loaded+` && location.search.includes("driver=")`)
	const pictured = `[...document.querySelectorAll("figure[data-kind=memory] svg, figure[data-kind=samples] svg")].map(e => e.textContent).join(" ")`
	p.Until(nil, pictured+`.includes("./good")`)
	if text := browsertest.Eval[string](p, pictured); strings.Contains(text, "./better") {
		t.Errorf("./better was not chosen:\n%s", text)
	}

	p.Until(p.Click(`figure[data-name=tiny-mix-order] a[download$=".svg"]`), "true")
	downloaded(t, dir, "tiny-mix-order.svg", func(data []byte) error {
		if !strings.HasPrefix(string(data), "<svg") || !strings.Contains(string(data), "./good") || strings.Contains(string(data), "./better") {
			return fmt.Errorf("it is %.500q", data)
		}
		return nil
	})
	p.Until(p.Click(`figure[data-name=tiny-mix-order] a[download$=".png"]`), "true")
	downloaded(t, dir, "tiny-mix-order.png", savedPNG)

	p.Until(p.Click(`figure[data-kind=memory] svg a`), loaded+` && document.querySelector("section.panel .uplot canvas")`)
	p.Want("location.search", "case=", "of=", "picture=memory")
	p.Want("document.querySelector('section.panel').innerText", "Read back", "synchronous", "6 samples")

	choose(t, p, "metric", "memory")
	p.Until(nil, loaded+` && location.search.includes("metric=memory")`)
	p.Until(p.Click(`[name=driver][value="./good"]`), loaded+` && !location.search.includes("driver=")`)
	p.Want(`document.querySelector("main section table thead").innerText`, "× ./")
	p.Want(`document.querySelector("main section table caption").innerText`, "less is better")
}

// TestSoakMeasureNeedsToken opens the page for measuring without the token that starts runs. The page
// must ask for the address with the token. Then the test opens that address. The browser must keep the
// token for pages that are opened by links without it.
func TestSoakMeasureNeedsToken(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	s := place.serve("--store", "results.db", "--drivers", "./good", "--workloads", "./tiny.yaml")
	p := browsertest.Open(t, s.url+"measure", loaded)
	p.Want(`document.querySelector("main").innerText`, "open the address that the server printed")
	p.Check()

	p = browsertest.Open(t, s.url+"#token="+s.token, loaded)
	p.Want("location.href + ' it is'", s.url+" it is") // the browser shows the address without the token, so nobody can read the token there
	p.Until(p.Click(`nav a[href="/measure"]`), loaded+` && location.pathname === "/measure" && document.querySelector("[name=set]")`)
	const options = `[...document.querySelectorAll("datalist")].map(l => l.id + ": " + [...l.options].map(o => o.value).join(" ")).join("\n")`
	p.Want(options, "known-scale: quick full", "journal_mode=wal", "synchronous=off", "known-rounds: 6", "known-param: ", "n=20")
	p.Until(p.Type("[name=set]", "synchronous=off"), `document.querySelectorAll("[name=set]").length === 2`)
	browsertest.Eval[bool](p, `document.querySelector("[name=set]").dispatchEvent(new Event("change", {bubbles: true}))`)
	p.Until(nil, `location.search.includes("set=synchronous%3Doff")`)
	p.Until(p.Type("[name=rounds]", "6"), "true")
	p.Until(p.Click("button[type=submit]"), `document.body.innerText.includes("All was measured.")`)
	p.Want("document.body.innerText", "Run 1")
	run := place.head(s, 1)
	if fmt.Sprint(run.Asked.Settings) != "map[synchronous:[off]]" || run.Trials != 6 {
		t.Errorf("%+v", run)
	}
}

// TestRunDefects opens the page of a run in which one driver links a SQLite with known defects. The page must
// mark this driver, and name the defects that can lose or falsify data in the run.
func TestRunDefects(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
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
	p := browsertest.Open(t, s.url+"runs/1", loaded)
	p.Want(`document.querySelector("main > section:last-of-type tbody tr").innerText`, "zombiezen!")
	if text := browsertest.Eval[string](p, `document.querySelector("main > section:last-of-type tbody tr:nth-child(2)").innerText`); !strings.Contains(text, "modernc") || !strings.Contains(text, "best without !") {
		t.Errorf("%v: %q has no known defect", err, text)
	}
	p.Want(`document.querySelector("details.known").innerText`, "1 known defect can lose or falsify data in what is shown", "wal-reset", "committed pages can be lost", "journal_mode=wal; several connections", "zombiezen")
	p.Check()
	p.Look(browsertest.Looks[0])
	p.Until(p.Click("[data-key=cell-1-insert]"), loaded+` && document.querySelector("section.panel .uplot canvas")`)
	p.Want(`document.querySelector("section.panel").innerText`, "known defects", "can lose or falsify data here: wal-reset", "wal-reset, CVE-2026-11822")
}

// TestRunWords checks the words on the page of a run of several drivers. One driver is tied with the
// fastest, one driver leads by no more than the overhead of sqlite3perf, and two drivers are refused
// for the same reason.
func TestRunWords(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
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
	p := browsertest.Open(t, s.url, loaded)
	p.Want(`document.querySelector("tbody .state").innerText`, "time over; 2 refused of 6 cases; warnings: noise")
	p.Look(browsertest.Looks[2])
	// On a phone, nothing extends beyond the right edge of the screen.
	const inside = `String([...document.querySelectorAll("table.cards td")].every(e => e.getBoundingClientRect().right <= innerWidth) && document.querySelectorAll("table.cards").length)`
	p.Want(inside, "1")

	p = browsertest.Open(t, s.url+"runs/1?driver=modernc&driver=ncruces", loaded)
	p.Check()
	p.Want(inside, "1")
	p.Want(`document.querySelector(".answer").innerText`, "Of all drivers and phases of the run, whatever is chosen below: Take mattn or crawshaw: they are equally fast")
	p.Want(`document.querySelector(".pair").innerText`, "ncruces takes 1.50x the time of modernc (1.50x to 1.50x)", "sqlite3perf's own overhead may explain the difference: it is at least 50% of the time of modernc v1.2.3, and ncruces v1.2.3 has at most 99% more overhead")
	p.Want(`document.querySelector("tbody tr").innerText`, "modernc*", "transpiled, database/sql", "v1.2.3, SQLite 3.53.4", "may explain its lead before ncruces")
	p.Want(`document.querySelector(".facts").innerText`, "without cgo", "modernc")

	// Times are shown with a time zone.
	const zoned = `String(/20\d\d-\d\d-\d\d \d\d:\d\d (UTC|[A-Z]{3,5}|GMT[-+]\d[\d:]*)(,|\s)/.test(document.querySelector("main").innerText))`
	p.Want(zoned, "true")
	p = browsertest.Open(t, s.url, loaded)
	p.Want(zoned, "true")

	p = browsertest.Open(t, s.url+"runs/1", loaded)
	p.Want(`document.querySelector("a[href='/runs/1/report#imprecise-figures']").innerText`, "3 imprecise figures, the widest first")
	p.Want(`document.querySelector("main").innerText`, "glebarez on simple; zombiezen on simple: refused: wanted full, got off", "first, or tied with it", "slower than the first")
	p.Want(`String(document.querySelector("main").innerText.split("wanted full, got off").length - 1)`, "2") // these words are once in the warnings and once in the table of cells
	p.Want(`String(document.querySelectorAll("tbody .track.best").length)`, "2")
}

// TestAnswerPages opens the page of a run that has an answer instead of samples, and the page with
// this answer.
func TestAnswerPages(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	path := filepath.Join(place.dir, "results.db")
	env, _, messages := bufferedEnvironment()
	run := clustersRun(someClusters(), time.Now(), false)
	if cli.Keep(t.Context(), env, path, run, someClusters()); run.ID != 1 {
		t.Fatalf("run %d: %s", run.ID, messages)
	}
	s := place.serve("--store", "results.db")
	p := browsertest.Open(t, s.url, loaded)
	p.Want(`document.querySelector("main").innerText`, "answer of cluster")
	p = browsertest.Open(t, s.url+"runs/1", loaded)
	p.Check()
	p.Want(`document.querySelector("main").innerText`, "This run has the answer of cluster instead of samples.", "made for sqlite3perf cluster: the answer")
	p = browsertest.Open(t, s.url+"runs/1/answer", "true")
	p.Want(`document.querySelector("main").innerText`, "What it costs", "not leader")
}
