package browser_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/browser"
)

func open(t *testing.T, html string, l browser.Look) *browser.Page {
	t.Helper()
	b, err := browser.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, html)
	}))
	t.Cleanup(s.Close)
	p, err := b.Open(s.URL+"/page", l)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPage checks the features of this package that tests of pages rely on. If a feature were broken,
// tests of pages could pass without having seen the page.
func TestPage(t *testing.T) {
	p := open(t, `<!doctype html><title>x</title>
<img src="/missing-alt.png"><p style="color:#eee;background:#fff">faint</p>
<button onclick="document.title='clicked'" onmouseover="this.dataset.hovered=1">go</button><input>
<a id="save" download="a.svg" href="data:image/svg+xml,<svg/>">save</a>
<script>console.error("complaint"); setTimeout(() => { throw new Error("thrown") })</script>`,
		browser.Look{Width: 390, Height: 800, Dark: true})
	if err := p.Hover("button"); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(`document.querySelector("button").dataset.hovered`); err != nil {
		t.Fatal(err)
	}
	if err := p.Click("button"); err != nil {
		t.Fatal(err)
	}
	if err := p.Type("input", "typed"); err != nil {
		t.Fatal(err)
	}
	got, err := browser.Eval[[]string](p, `Promise.resolve([document.title, document.querySelector("input").value,
		String(innerWidth), String(matchMedia("(prefers-color-scheme: dark)").matches)])`)
	if want := []string{"clicked", "typed", "390", "true"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	dir := t.TempDir()
	if err := p.Downloads(dir); err != nil {
		t.Fatal(err)
	}
	if err := p.Click("#save"); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait("true"); err != nil {
		t.Fatal(err)
	}
	waitForFile(t, filepath.Join(dir, "a.svg"))
	if _, err := browser.Eval[bool](p, `navigator.clipboard.writeText("copied").then(() => true)`); err != nil {
		t.Error(err)
	}
	if text, err := p.Clipboard(); err != nil || text != "copied" {
		t.Errorf("the clipboard has %q, %v", text, err)
	}
	if printed, err := p.Print(); err != nil || !bytes.HasPrefix(printed, []byte("%PDF-")) {
		t.Errorf("printed: %.20q, %v", printed, err)
	}
	if shot, err := p.Screenshot(true); err != nil || len(shot) < 100 {
		t.Errorf("a screenshot of %d bytes, %v", len(shot), err)
	}
	violations, err := p.Violations()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, v := range violations {
		ids = append(ids, v.ID)
	}
	for _, id := range []string{"image-alt", "color-contrast", "html-has-lang"} {
		if !slices.Contains(ids, id) {
			t.Errorf("axe-core found %v, without %s", ids, id)
		}
	}
	if all := strings.Join(p.Errors(), "\n"); !strings.Contains(all, "complaint") || !strings.Contains(all, "thrown") {
		t.Errorf("errors: %s", all)
	}
	if all := strings.Join(p.Requests(), "\n"); !strings.Contains(all, "/page") || !strings.Contains(all, "/missing-alt.png") {
		t.Errorf("requests: %s", all)
	}
}

// waitForFile waits until a file exists and is not empty.
func waitForFile(t *testing.T, file string) {
	t.Helper()
	for {
		if fi, err := os.Stat(file); err == nil && fi.Size() > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
