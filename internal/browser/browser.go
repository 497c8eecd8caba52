// Package browser drives a headless Chromium, for the tests of pages and for the
// screenshots in the documents.
package browser

import (
	"context"
	_ "embed" // embeds axe.min.js
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is a running Chromium.
type Browser struct {
	ctx  context.Context
	stop []func()
}

// Start starts the Chromium that the environment variable CHROMIUM names. If the variable is not set,
// Start searches the usual directories.
func Start(ctx context.Context) (*Browser, error) {
	options := chromedp.DefaultExecAllocatorOptions[:]
	if path := os.Getenv("CHROMIUM"); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	if os.Geteuid() == 0 { // Chromium's sandbox doesn't work for root
		options = append(options, chromedp.NoSandbox)
	}
	b := &Browser{}
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	b.stop = append(b.stop, stop)
	b.ctx, stop = chromedp.NewContext(ctx)
	b.stop = append(b.stop, stop)
	if err := chromedp.Do(b.ctx); err != nil {
		b.Close()
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no Chromium: make chromium installs it on Debian; elsewhere install it, or set CHROMIUM to the path of its executable: %w", err)
		}
		return nil, fmt.Errorf("starting Chromium: %w", err)
	}
	return b, nil
}

// Close ends the browser.
func (b *Browser) Close() {
	for _, stop := range slices.Backward(b.stop) {
		stop()
	}
}

// Look says how a page is viewed: in which window size and color scheme, and whether on a screen or
// printed.
type Look struct {
	Width, Height int // size of the window in CSS pixels
	Dark          bool
	Print         bool
}

// Page is an open page, with its errors and requests.
type Page struct {
	ctx   context.Context
	close func()

	mu       sync.Mutex
	errors   []string
	requests []string
}

const limit = 5 * time.Minute

// Open opens a page and waits until it has loaded.
func (b *Browser) Open(url string, l Look) (*Page, error) {
	p := &Page{}
	ctx, stop := chromedp.NewContext(b.ctx, chromedp.WithListener(p.listen))
	p.ctx, p.close = ctx, stop
	err := chromedp.Do(ctx) // no timeout here, because the page is closed when the context of its first action ends
	if err == nil {
		err = p.do(focused, l.set(), chromedp.Navigate(url))
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("opening %s: %w", url, err)
	}
	return p, nil
}

// focused makes a page behave as if it had the focus. Only such a page may use the clipboard.
func focused(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return chromedp.Void{}, err
}

// Close closes the page.
func (p *Page) Close() { p.close() }

func (p *Page) do(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

func run[T any](p *Page, a chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	return chromedp.Run(ctx, a)
}

// Look changes how the page is viewed.
func (p *Page) Look(l Look) error { return p.do(l.set()) }

func (l Look) set() chromedp.Action[chromedp.Void] {
	scheme, media := "light", ""
	if l.Dark {
		scheme = "dark"
	}
	if l.Print {
		media = "print"
	}
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		if _, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media:    media,
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		}); err != nil {
			return chromedp.Void{}, err
		}
		return chromedp.EmulateViewport(int64(l.Width), int64(l.Height))(ctx, t)
	}
}

func (p *Page) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		p.errors = append(p.errors, text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			p.errors = append(p.errors, fmt.Sprintf("console.%s: %s", e.Type, strings.Join(words, " ")))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.errors = append(p.errors, fmt.Sprintf("%s %s: %s", e.Entry.Source, e.Entry.URL, e.Entry.Text))
		}
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	}
}

// Errors returns the errors and warnings of the page's console and scripts.
func (p *Page) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.errors)
}

// Requests returns the addresses that the page has requested.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Eval evaluates JavaScript in a page and decodes the result as T. If the result is a promise, Eval
// waits for its value.
func Eval[T any](p *Page, script string) (T, error) {
	return run(p, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// Wait waits at most 5 minutes until a JavaScript expression is true in the page. It ignores errors
// of the expression, which may occur while another page loads.
func (p *Page) Wait(condition string) error {
	end := time.Now().Add(limit)
	for {
		switch ok, err := Eval[bool](p, "!!("+condition+")"); {
		case ok && err == nil:
			return nil
		case p.ctx.Err() != nil || time.Now().After(end):
			if err == nil {
				err = fmt.Errorf("it did not come true in %v", limit)
			}
			return fmt.Errorf("waiting for %s: %w", condition, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Click clicks on the middle of the element that a CSS selector matches.
func (p *Page) Click(selector string) error {
	x, y, err := p.middle(selector)
	if err != nil {
		return err
	}
	return p.do(chromedp.MouseClickXY(x, y))
}

// Hover moves the mouse to the middle of the element that a CSS selector matches.
func (p *Page) Hover(selector string) error {
	x, y, err := p.middle(selector)
	if err != nil {
		return err
	}
	return p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
}

// middle scrolls to an element, waits until the element no longer moves, and returns its middle. It
// fails if another element covers the middle, because a user could not click there either.
func (p *Page) middle(selector string) (x, y float64, err error) {
	type answer struct {
		X, Y  float64
		Error string
	}
	a, err := Eval[answer](p, fmt.Sprintf(`(async () => {
		let e, r
		for (let n = 0, still = 0; n < 100 && still < 3; n++) {
			if (n) await new Promise(done => setTimeout(done, 20))
			e = document.querySelector(%q)
			if (!e) return {Error: "nothing has this selector"}
			e.scrollIntoView({block: "center", inline: "center", behavior: "instant"})
			const before = r
			r = e.getBoundingClientRect()
			still = r.x === before?.x && r.y === before?.y && !document.querySelector("[aria-busy=true]") ? still + 1 : 0
		}
		const x = r.x + r.width / 2, y = r.y + r.height / 2
		const top = document.elementFromPoint(x, y)
		if (!top || !(e.contains(top) || top.contains(e))) return {Error: "it is hidden" + (top ? " below " + top.outerHTML.slice(0, 100) : "")}
		return {X: x, Y: y}
	})()`, selector))
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", selector, err)
	}
	return a.X, a.Y, nil
}

// Type clicks on the element that a CSS selector matches, and types text.
func (p *Page) Type(selector, text string) error {
	if err := p.Click(selector); err != nil {
		return err
	}
	return p.Press(text)
}

// Press sends keys, such as "abc", "\t" or [kb.Enter], to the element that has the focus.
func (p *Page) Press(keys string) error { return p.do(chromedp.KeyEvent(keys)) }

// Downloads allows the page to save files in the directory dir.
func (p *Page) Downloads(dir string) error {
	return p.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir})
		return chromedp.Void{}, err
	})
}

// Clipboard returns the text in the clipboard. All pages of a browser share one clipboard.
func (p *Page) Clipboard() (string, error) {
	if err := p.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.CallBrowser(ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: browser.PermissionSettingGranted})
		return chromedp.Void{}, err
	}); err != nil {
		return "", fmt.Errorf("allowing the clipboard: %w", err)
	}
	return Eval[string](p, "navigator.clipboard.readText()")
}

// Print returns the page as a PDF, as it would be printed on letter paper.
func (p *Page) Print() ([]byte, error) {
	return run(p, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		printed, err := cdp.Call(ctx, t, page.PrintToPDF, page.PrintToPDFParams{})
		return printed.Data, err
	})
}

// Screenshot returns a PNG of the window. If the parameter "all" is true, it returns a PNG of the
// entire page.
func (p *Page) Screenshot(all bool) ([]byte, error) {
	if all {
		return run(p, chromedp.FullScreenshot(100))
	}
	return run(p, chromedp.CaptureScreenshot())
}

// axe is the accessibility checker axe-core by Deque Systems,
// https://github.com/dequelabs/axe-core. Its license, the Mozilla Public License 2.0,
// is in axe/LICENSE.
//
//go:embed axe/axe.min.js
var axe string

// Violation is a rule of accessibility that a page breaks.
type Violation struct {
	ID    string   `json:"id"`   // name of the rule, such as color-contrast
	Help  string   `json:"help"` // how to fix the violation
	Nodes []string `json:"nodes"`
}

// Violations returns the accessibility rules that the page breaks according to axe-core. The rules
// are WCAG 2.2, levels A and AA, and axe-core's best practices.
func (p *Page) Violations() ([]Violation, error) {
	// The page's Content-Security-Policy does not apply to scripts from the debugger.
	if _, err := Eval[bool](p, axe+"\ntrue"); err != nil {
		return nil, fmt.Errorf("loading axe-core: %w", err)
	}
	// Without preload, axe-core doesn't request style sheets, which the page's policy may forbid.
	return Eval[[]Violation](p, `axe.run(document, {preload: false, resultTypes: ["violations"]}).then(r => r.violations.map(v =>
		({id: v.id, help: v.help, nodes: v.nodes.map(n => n.html.slice(0, 200) + " " + (n.failureSummary || ""))})))`)
}
