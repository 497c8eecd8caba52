package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/browser"
)

// looks are the ways in which every page must be readable.
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

// checkPage looks at a page in all ways. It may ask for nothing but what begins with one of
// some addresses.
func checkPage(t *testing.T, p *browser.Page, allowed ...string) {
	t.Helper()
	for _, l := range looks {
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

func startBrowser(t *testing.T) *browser.Browser {
	t.Helper()
	b, err := browser.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func openPage(t *testing.T, b *browser.Browser, url string) *browser.Page {
	t.Helper()
	p, err := b.Open(url, looks[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestReportPage makes the page of a real run, with a driver that was refused, and looks
// at it.
func TestReportPage(t *testing.T) {
	t.Parallel()
	b, place := startBrowser(t), newPlace(t)
	run := place.command("run", "--workloads", "./tiny.yaml", "--drivers", "./good,./better,./ignores", "--rounds", "6", "--html", "r.html")
	if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != exitIncomplete {
		t.Fatalf("%v\n%s", err, out)
	}
	address := "file://" + filepath.Join(place.dir, "r.html")
	p := openPage(t, b, address)
	checkPage(t, p, address, "data:", "blob:")
}
