package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/schollz/progressbar/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// watcher tells on standard error how a job goes on: a bar where there is an
// end in sight and the stream is a terminal, plain lines elsewhere.
type watcher struct {
	mu    sync.Mutex
	w     io.Writer
	quiet bool
	of    int64                           // rows to come; 0: not known
	line  func(*protocol.Progress) string // "" for nothing to say
	bar   *progressbar.ProgressBar
}

func newWatcher(env *environment, o *databaseOptions, of int64, line func(*protocol.Progress) string) *watcher {
	w := &watcher{w: env.stderr, quiet: o.quiet, of: of, line: line}
	if env.stderrWidth > 0 && !o.quiet && of > 0 {
		w.bar = progressbar.NewOptions64(of,
			progressbar.OptionSetWriter(env.rawErr),
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("rows"),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionUseANSICodes(true), // clears the ^C too that a terminal echoes behind the bar
			progressbar.OptionSetRenderBlankState(false),
		)
	}
	return w
}

// every is how often a job should report: so many ms for lines, often for a bar.
func (w *watcher) every(lines int64) int64 {
	switch {
	case w.quiet:
		return 0
	case w.bar != nil:
		return 200
	}
	return lines
}

// say prints a line, even where progress is quiet.
func (w *watcher) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bar != nil {
		_ = w.bar.Clear()
	}
	fmt.Fprintf(w.w, format+"\n", args...)
}

func (w *watcher) progress(p *protocol.Progress) {
	if w.quiet {
		return
	}
	if w.bar != nil && p.Rows == 0 && p.Stage == "insert" {
		_ = w.bar.RenderBlank() // its clock starts
		return
	}
	if w.bar != nil && p.Rows > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		_ = w.bar.Set64(min(p.Rows, w.of)) // its only error is a value above its maximum
		return
	}
	if s := w.line(p); s != "" {
		w.say("%s", s)
	}
}

// finish takes the bar away.
func (w *watcher) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bar != nil {
		_ = w.bar.Clear()
		w.bar = nil
	}
}
