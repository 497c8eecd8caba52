package cli

import (
	"github.com/schollz/progressbar/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Watcher shows the progress of a job on standard error: as a bar if the number of rows is known
// and the stream is a terminal, otherwise as plain lines.
type Watcher struct {
	display
	of   int64                           // expected number of rows; 0 if unknown
	line func(*protocol.Progress) string // returns the plain line for a progress; "" if there is nothing to print
}

// NewWatcher returns a Watcher for a job. The parameter "of" is the expected number of rows, or 0 if that
// is not known. The function "line" returns the plain line for a progress, or "".
func NewWatcher(env *Environment, quiet bool, of int64, line func(*protocol.Progress) string) *Watcher {
	w := &Watcher{display: display{w: env.Stderr, width: env.StderrWidth, quiet: quiet}, of: of, line: line}
	if env.StderrWidth > 0 && !quiet && of > 0 {
		w.bar = newBar(env, of,
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("rows"),
		)
	}
	return w
}

// Every returns the interval in ms at which the worker should report. For plain lines, the interval is
// the parameter "lines"; for a bar it is shorter. Every returns 0, which means never, if the watcher is
// quiet.
func (w *Watcher) Every(lines int64) int64 {
	switch {
	case w.quiet:
		return 0
	case w.bar != nil:
		return 200
	}
	return lines
}

func (w *Watcher) Progress(p *protocol.Progress) {
	if w.quiet {
		return
	}
	if w.bar != nil && p.Rows == 0 && p.Stage == "insert" {
		_ = w.bar.RenderBlank() // this starts the bar's clock
		return
	}
	if w.bar != nil && p.Rows > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		_ = w.bar.Set64(min(p.Rows, w.of)) // Set64 returns an error only for a value above the maximum
		return
	}
	if s := w.line(p); s != "" {
		w.Say("%s", s)
	}
}
