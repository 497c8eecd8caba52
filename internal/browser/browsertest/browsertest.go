// Package browsertest helps tests to read pages in Chromium as a person does.
package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/browser"
)

// Looks has the screen sizes and color schemes in which every page must be readable.
var Looks = []browser.Look{
	{Width: 1440, Height: 900},
	{Width: 1440, Height: 900, Dark: true},
	{Width: 390, Height: 844},
	{Width: 390, Height: 844, Dark: true},
}

// chromium is the browser that all tests of a package share. Each test opens its own pages in it.
var chromium struct {
	mu sync.Mutex
	b  *browser.Browser // nil if no test has started it
}

// Close ends the browser, if a test has started one. Call it when all tests of a package have ended.
func Close() {
	chromium.mu.Lock()
	defer chromium.mu.Unlock()
	if chromium.b != nil {
		chromium.b.Close()
		chromium.b = nil
	}
}

func start(t testing.TB) *browser.Browser {
	t.Helper()
	chromium.mu.Lock()
	defer chromium.mu.Unlock()
	if chromium.b == nil {
		b, err := browser.Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		chromium.b = b
	}
	return chromium.b
}

// A Reader imitates a person who reads a page. Its methods end the test if the page cannot be used.
type Reader struct {
	*browser.Page
	t     testing.TB
	ready string
}

// Open opens a page in the first of the [Looks] (screen sizes and color schemes), and waits until the page
// is complete. The parameter "ready" is a JavaScript condition that is true when the page is complete.
func Open(t testing.TB, address, ready string) Reader {
	t.Helper()
	return openIn(t, start(t), address, ready)
}

// OpenSaving does what [Open] does, and returns a new directory for the files that the page saves. The page
// gets its own browser, because all pages of a browser save files in the same directory.
func OpenSaving(t testing.TB, address, ready string) (r Reader, dir string) {
	t.Helper()
	dir = t.TempDir()
	b, err := browser.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	r = openIn(t, b, address, ready)
	if err := r.Downloads(dir); err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func openIn(t testing.TB, b *browser.Browser, address, ready string) Reader {
	t.Helper()
	p, err := b.Open(address, Looks[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	r := Reader{p, t, ready}
	r.Until(nil, ready)
	return r
}

// Until waits until the JavaScript condition "then" is true. The parameter err is the error of the reader's
// last action. Until ends the test if err is not nil or if the condition does not become true.
func (r Reader) Until(err error, then string) {
	r.t.Helper()
	if err == nil {
		err = r.Wait(then)
	}
	if err != nil {
		text, _ := browser.Eval[string](r.Page, "document.body.innerText.slice(0, 2000)")
		r.t.Fatalf("%v\nthe page: %s", err, text)
	}
}

// Eval returns the value of a JavaScript expression.
func Eval[T any](r Reader, expression string) T {
	r.t.Helper()
	v, err := browser.Eval[T](r.Page, expression)
	if err != nil {
		r.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Want fails unless the value of a JavaScript expression is a text that contains all the words.
func (r Reader) Want(expression string, words ...string) {
	r.t.Helper()
	text := Eval[string](r, expression)
	for _, w := range words {
		if !strings.Contains(text, w) {
			r.t.Errorf("%s: %q without %q", expression, text, w)
		}
	}
}

// Visible lists the texts of the visible elements that a CSS selector matches.
func (r Reader) Visible(selector string) []string {
	r.t.Helper()
	return Eval[[]string](r, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter(e => e.checkVisibility()).map(e => e.innerText.replace(/\s+/g, " ").trim())`, selector))
}

// Look changes the size of the window and the color scheme.
func (r Reader) Look(l browser.Look) {
	r.t.Helper()
	if err := r.Page.Look(l); err != nil {
		r.t.Fatal(err)
	}
}

// Check checks a page in all [Looks] (screen sizes and color schemes). The page must fit the width
// of the window, cut no warning on a phone, and break no rule of accessibility. Only long tests,
// whose names begin with TestSoak, check accessibility in all Looks. Other tests check it in the
// first and the last look, which together have both widths and both color schemes. In each look,
// Check also calls the functions in the parameter "also". The page must not log an error, or request
// anything outside its own origin or file. Check leaves the page in the first look.
func (r Reader) Check(also ...func(at string)) {
	r.t.Helper()
	for i, l := range Looks {
		r.Look(l)
		r.Until(nil, r.ready)
		// When the size of a scrolling box changes, the Tab key reaches the box only one animation frame
		// later. So wait for two frames.
		Eval[bool](r, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
		at := name(l)
		if wide := Eval[int](r, "document.documentElement.scrollWidth"); wide > l.Width {
			r.t.Errorf("%s: the page is %d pixels wide", at, wide)
		}
		if cut := Eval[[]string](r, `[...document.querySelectorAll(".brief dd")].filter(e => innerWidth < 500 && e.scrollWidth > e.clientWidth).map(e => e.innerText)`); len(cut) > 0 {
			r.t.Errorf("%s: cut: %q", at, cut)
		}
		for _, f := range also {
			f(at)
		}
		if i > 0 && i < len(Looks)-1 && !strings.HasPrefix(r.t.Name(), "TestSoak") {
			continue
		}
		violations, err := r.Violations()
		if err != nil {
			r.t.Fatal(err)
		}
		for _, v := range violations {
			r.t.Errorf("%s: %s: %s\n%s", at, v.ID, v.Help, strings.Join(v.Nodes, "\n"))
		}
	}
	for _, e := range r.Errors() {
		r.t.Errorf("console: %s", e)
	}
	own := r.origin()
	for _, asked := range r.Requests() {
		if !strings.HasPrefix(asked, own) && !strings.HasPrefix(asked, "data:") && !strings.HasPrefix(asked, "blob:") {
			r.t.Errorf("the page asked for %s", asked)
		}
	}
	r.Look(Looks[0])
}

func name(l browser.Look) string {
	scheme := "light"
	if l.Dark {
		scheme = "dark"
	}
	return fmt.Sprintf("%d pixels, %s", l.Width, scheme)
}

// origin returns the prefix of the addresses that a page may ask for: its server, or its file.
func (r Reader) origin() string {
	r.t.Helper()
	u, err := url.Parse(Eval[string](r, "location.href"))
	if err != nil {
		r.t.Fatal(err)
	}
	if u.Scheme == "file" {
		u.RawQuery, u.Fragment = "", ""
		return u.String()
	}
	return u.Scheme + "://" + u.Host + "/"
}
