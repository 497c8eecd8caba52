package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/schollz/progressbar/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// watcher shows the progress of a job on standard error: a bar if the end is known and
// the stream is a terminal, plain lines otherwise.
type watcher struct {
	mu    sync.Mutex
	w     io.Writer
	quiet bool
	of    int64                           // expected rows; 0 if not known
	line  func(*protocol.Progress) string // returns "" if there is nothing to say
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
			progressbar.OptionUseANSICodes(true), // also clears the ^C that the terminal prints after the bar
			progressbar.OptionSetRenderBlankState(false),
		)
	}
	return w
}

// every returns the interval in ms at which a job should report: lines for plain lines,
// and a shorter one for a bar.
func (w *watcher) every(lines int64) int64 {
	switch {
	case w.quiet:
		return 0
	case w.bar != nil:
		return 200
	}
	return lines
}

// say prints a line, even if progress is quiet.
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
		_ = w.bar.RenderBlank() // starts its clock
		return
	}
	if w.bar != nil && p.Rows > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		_ = w.bar.Set64(min(p.Rows, w.of)) // the only error is a value above the maximum
		return
	}
	if s := w.line(p); s != "" {
		w.say("%s", s)
	}
}

// finish removes the bar.
func (w *watcher) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bar != nil {
		_ = w.bar.Clear()
		w.bar = nil
	}
}
