package main

import (
	"github.com/schollz/progressbar/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// watcher shows the progress of a job on standard error: a bar if the end is known and
// the stream is a terminal, plain lines otherwise.
type watcher struct {
	display
	of   int64                           // expected rows; 0 if not known
	line func(*protocol.Progress) string // returns "" if there is nothing to say
}

func newWatcher(env *environment, o *databaseOptions, of int64, line func(*protocol.Progress) string) *watcher {
	w := &watcher{display: display{w: env.stderr, quiet: o.quiet}, of: of, line: line}
	if env.stderrWidth > 0 && !o.quiet && of > 0 {
		w.bar = newBar(env, of,
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("rows"),
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
