package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/browser"
)

// shot describes a screenshot of the report page, or of a page of the explorer.
type shot struct {
	name    string
	address string // path in the explorer, with RUN for the run's number; "" for the report page
	look    browser.Look
	wait    string // JavaScript that is true when the page is ready
	at      string // CSS selector of the element at the top of the screenshot
}

const drawn = `(m => m && m.getAttribute("aria-busy") !== "true")(document.querySelector("main"))`

var shots = []shot{
	{name: "report", look: browser.Look{Width: 1200, Height: 900}},
	{name: "report-heat", look: browser.Look{Width: 1200, Height: 900}, at: "#picture-phases"},
	{name: "report-phone", look: browser.Look{Width: 390, Height: 844, Dark: true}},
	{name: "explorer", address: "/", look: browser.Look{Width: 1200, Height: 600}, wait: drawn},
	{name: "explorer-run", address: "/runs/RUN", look: browser.Look{Width: 1200, Height: 900}, wait: drawn},
}

func (p *pages) screenshots(ctx context.Context, ref string) error {
	store, run, err := split(ref)
	if err != nil {
		return err
	}
	page := filepath.Join(p.dir, "report.html")
	if err := p.report(ctx, ref, page); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	explorer, err := p.serve(ctx, store)
	if err != nil {
		return err
	}
	b, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := os.MkdirAll(filepath.Join(p.docs, "images"), 0o755); err != nil {
		return err
	}
	for _, s := range shots {
		address := "file://" + page
		if s.address != "" {
			address = explorer + strings.ReplaceAll(s.address, "RUN", run)
		}
		if err := s.take(b, address, filepath.Join(p.docs, "images", s.name+".png")); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (p *pages) serve(ctx context.Context, store string) (string, error) {
	cmd := exec.CommandContext(ctx, p.tool, "serve", "--store", store, "--port", "0")
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	address, err := bufio.NewReader(lines).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the explorer did not start: %w", cmd.Wait())
	}
	address, _, _ = strings.Cut(address, "#") // the token after # is needed only to start runs
	return strings.TrimRight(address, "/\n"), nil
}

func (s shot) take(b *browser.Browser, address, file string) error {
	page, err := b.Open(address, s.look)
	if err != nil {
		return err
	}
	defer page.Close()
	if s.wait != "" {
		if err := page.Wait(s.wait); err != nil {
			return err
		}
	}
	if s.at != "" {
		if _, err := browser.Eval[bool](page, fmt.Sprintf("(document.querySelector(%q).scrollIntoView({behavior: 'instant'}), true)", s.at)); err != nil {
			return err
		}
	}
	data, err := page.Screenshot(false)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
