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

	"github.com/sqlite3perf/sqlite3perf/internal/browser"
	"github.com/sqlite3perf/sqlite3perf/internal/browser/browsertest"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// defaultDrivers are the drivers of a run without options, with the versions of SQLite that they link.
var defaultDrivers = []struct{ name, module, sqlite string }{
	{"native", "", "3.53.4"}, {"crawshaw", "crawshaw.io/sqlite", "3.32.2"}, {"eatonphil", "github.com/eatonphil/gosqlite", "3.39.4"},
	{"bvinc", "github.com/bvinc/go-sqlite-lite", "3.28.0"}, {"tailscale", "github.com/tailscale/sqlite", "3.46.1"}, {"mattn", "github.com/mattn/go-sqlite3", "3.53.4"},
	{"zombiezen", "zombiezen.com/go/sqlite", "3.49.2"}, {"ncruces", "github.com/ncruces/go-sqlite3", "3.53.1"}, {"modernc", "modernc.org/sqlite", "3.54.1"},
	{"gwenn", "github.com/gwenn/gosqlite", "3.44.0"},
}

// likeDefault writes a store with a run that has as many cases and phases as a run without options.
func likeDefault(t *testing.T, path string) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	r := &result.Run{Version: "test", Started: start, Ended: start.Add(5 * time.Minute), Command: []string{"run"}, Scale: "quick", Rounds: 9, Precision: 0.05,
		Stopped: result.StoppedTime, Machine: result.Machine{Hostname: "lab", OS: "linux", Arch: "amd64", CPU: "AMD EPYC 7763", Cores: 2},
		Warnings: []result.Warning{{Code: result.WarningVirtual, Message: "a virtual machine"}, {Code: result.WarningLoad, Message: "the load average was 4.08 on 2 cores before the run: other processes took time from the trials"}}}
	phases := []struct {
		workload string
		names    []string
	}{{"simple", []string{"insert", "query"}}, {"real", []string{"insert", "query"}}, {"many", []string{"query"}}, {"concurrent", []string{"query"}}, {"point-read", []string{"read"}},
		{"read-write", []string{"mix"}}, {"group-by", []string{"insert", "group"}}, {"analytics", []string{"correlated", "json", "sort", "calendar", "window"}}}
	for _, w := range phases {
		r.Workloads = append(r.Workloads, result.Workload{Name: w.workload, Text: "name: " + w.workload, SHA256: w.workload})
		for range defaultDrivers {
			d := defaultDrivers[len(r.Cases)%len(defaultDrivers)]
			r.Cases = append(r.Cases, result.Case{ID: len(r.Cases) + 1, Workload: w.workload, WorkloadSHA256: w.workload, Scale: "quick", Driver: d.name,
				Info: driver.Info{Module: d.module, Kind: driver.Cgo, Interface: driver.DatabaseSQL}, Settings: driver.Settings{"journal_mode": "wal", "synchronous": "normal"}, Phases: w.names})
		}
	}
	for round := 1; round <= r.Rounds; round++ {
		for i, c := range r.Cases {
			d := defaultDrivers[i%len(defaultDrivers)]
			t := result.Trial{Case: c.ID, Round: round, Order: len(r.Trials) + 1, Started: start, TookNS: 1e9, Status: result.OK,
				Proof: &protocol.Proof{SQLiteVersion: d.sqlite, Module: d.module, ModuleVersion: "v1.0.0", Connections: []driver.Settings{{"journal_mode": "wal", "synchronous": "normal"}}}}
			for k, phase := range c.Phases {
				ns := int64(1e8 * (1 + 0.2*float64(i%len(defaultDrivers))) * float64(k+1) * (1 + 0.02*random.NormFloat64()))
				s := result.Sample{Phase: phase, WallNS: ns, UserNS: ns / 2, Operations: 20_000, Rows: 20_000, Metric: result.MetricTime,
					Costs: protocol.Costs{Allocs: 100, AllocBytes: 1 << 20, PeakRSSBytes: int64(20+3*(i%4)+i%3) << 20}}
				if phase == "mix" || phase == "read" {
					s.Metric = result.MetricTimePerOp
					kinds := []string{"read", "write"}
					if phase == "read" {
						kinds = kinds[:1]
					}
					for j, op := range kinds {
						p := ns / 20_000 * int64(1+70*j)
						s.Latency = append(s.Latency, latency.Summary{Operation: op, Count: 10_000, P50NS: p / 2, P90NS: p, P99NS: 2 * p, P999NS: 3 * p, P9999NS: 4 * p, MaxNS: 5 * p})
					}
				}
				t.Samples = append(t.Samples, s)
			}
			r.Trials = append(r.Trials, t)
		}
	}
	st, err := store.Open(t.Context(), path)
	if err == nil {
		err = errors.Join(st.Begin(t.Context(), r), st.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDefaultPage checks the page of a run as large as a default run, on a screen, on a phone and on
// paper.
func TestDefaultPage(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	likeDefault(t, filepath.Join(place.dir, "results.db"))
	if out, err := place.command("report", "1", "--store", "results.db", "-o", "r.html").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "r.html")
	p, dir := browsertest.OpenSaving(t, address, "true")
	p.Check()
	for _, l := range browsertest.Looks {
		p.Look(l)
		firstScreen(t, p, l)
	}
	outlined(t, p)
	tall := browsertest.Eval[int](p, "document.documentElement.scrollHeight")
	if tall >= 35_000 { // the last element of browsertest.Looks is a phone
		t.Errorf("the page is %d pixels high on a phone", tall)
	}
	onPaper(t, p)
	prints(t, p)
	tabbed(t, p)
	p.Want(`document.querySelector("#picture-memory").textContent`, "known defect that can lose data", "lower left", "modernc")
	p.Want(`document.querySelector("#picture-read-write-mix").textContent`, "latency")

	p.Until(p.Click(`#picture-summary button[aria-label^="Save as SVG"]`), "true")
	downloaded(t, dir, "summary.svg", func(data []byte) error {
		return savedSVG(data, "Time over 15 cells", "run 1", "2026-11-20", "AMD EPYC", "Error bars show 95% confidence intervals.")
	})
	p.Until(p.Click("#picture-simple-insert .wide svg a[href]"), `document.activeElement.id.startsWith("case-")`)
	p.Want(`document.activeElement.innerText`, "synchronous")
}

// firstScreen fails unless the headline and the first picture are on the first screen. On a phone, the
// upper half of the picture is enough.
func firstScreen(t *testing.T, p browsertest.Reader, l browser.Look) {
	t.Helper()
	type place struct{ Heading, Top, Bottom int }
	at := browsertest.Eval[place](p, `(() => {
		const r = [...document.querySelectorAll("svg")].find(e => e.getClientRects().length).getBoundingClientRect();
		return {Heading: Math.round(document.querySelector("h1").getBoundingClientRect().bottom + scrollY), Top: Math.round(r.top + scrollY), Bottom: Math.round(r.bottom + scrollY)};
	})()`)
	end := at.Bottom
	if l.Width < 500 {
		end = (at.Top + at.Bottom) / 2
	}
	if at.Heading > at.Top || end > l.Height {
		t.Errorf("%v: the headline ends at %d, the first picture is at %d to %d of %d pixels", l, at.Heading, at.Top, at.Bottom, l.Height)
	}
}

// outlined fails unless a page has exactly one heading of level 1, and no level is skipped.
func outlined(t *testing.T, p browsertest.Reader) {
	t.Helper()
	levels := browsertest.Eval[string](p, `[...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(e => e.tagName[1]).join("")`)
	if strings.Count(levels, "1") != 1 || levels[0] != '1' {
		t.Errorf("headings of level 1: %s", levels)
	}
	for i := 1; i < len(levels); i++ {
		if levels[i] > levels[i-1]+1 {
			t.Errorf("a level of headings is skipped: %s", levels[:i+1])
		}
	}
}

// onPaper fails if a printed page has titles without their content, hidden tables or lists, or
// buttons.
func onPaper(t *testing.T, p browsertest.Reader) {
	t.Helper()
	p.Look(browser.Look{Width: 720, Height: 900, Print: true})
	lost := browsertest.Eval[[]string](p, `[...document.querySelectorAll("main summary")].filter(e => e.checkVisibility() && !e.nextElementSibling?.checkVisibility()).map(e => e.innerText)`)
	if len(lost) > 0 {
		t.Errorf("titles without content on paper: %q", lost)
	}
	hidden := browsertest.Eval[[]string](p, `[...document.querySelectorAll("main details:not(.nest, .nest *) :is(dl, table):not(.figures figure *)")].filter(e => !e.checkVisibility()).map(e => e.innerText.slice(0, 100))`)
	if len(hidden) > 0 {
		t.Errorf("hidden on paper: %q", hidden)
	}
	if controls := browsertest.Eval[int](p, `[...document.querySelectorAll("button")].filter(e => e.checkVisibility()).length`); controls > 0 {
		t.Errorf("%d buttons on paper", controls)
	}
}

// tabbed checks that the Tab key stops at each visible picture once, and at most 60 times on the
// page. It also checks that the arrow keys, Home and End move within the first picture.
func tabbed(t *testing.T, p browsertest.Reader) {
	t.Helper()
	const most = 60
	p.Look(browsertest.Looks[0])
	stops, pictures := 0, 0
	for ; stops <= most; stops++ {
		if err := p.Press("\t"); err != nil {
			t.Fatal(err)
		}
		at := browsertest.Eval[string](p, `document.activeElement === document.body ? "" : document.activeElement.closest("[data-keys] svg") ? "picture" : "other"`)
		if at == "" {
			break
		}
		if at == "picture" {
			pictures++
		}
	}
	shown := browsertest.Eval[int](p, `[...document.querySelectorAll("svg")].filter(e => e.checkVisibility()).length`)
	if stops > most || pictures != shown {
		t.Errorf("%d tab stops, %d of them in %d pictures", stops, pictures, shown)
	}
	const label = `(document.activeElement.getAttribute("aria-label") ?? "")`
	p.Until(nil, `(document.querySelector("#picture-summary .wide [tabindex='0']").focus(), true)`)
	first := browsertest.Eval[string](p, label)
	p.Until(p.Press(kb.ArrowRight), fmt.Sprintf("%s !== %q && document.querySelector('.tip:not([hidden])')", label, first))
	p.Until(p.Press(kb.End), label+`.startsWith("Save as PNG")`)
	p.Until(p.Press(kb.Home), fmt.Sprintf("%s === %q", label, first))
}
