package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// display prints lines to standard error and, if bar is not nil, a progress bar below them.
type display struct {
	mu    sync.Mutex
	w     io.Writer
	width int // width of the terminal in columns; 0 if there is none
	quiet bool
	bar   *progressbar.ProgressBar
}

func newBar(env *Environment, most int64, options ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(most, append(options,
		progressbar.OptionSetWriter(env.RawErr),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionUseANSICodes(true), // also clears the ^C that the terminal prints after the bar
		progressbar.OptionSetRenderBlankState(false),
	)...)
}

// Say prints a line, even if the display is quiet. On a terminal it breaks a long line between words.
func (d *display) Say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar != nil {
		_ = d.bar.Clear() // if clearing fails, the line is printed after the bar, on the same line
	}
	fmt.Fprintln(d.w, document.Wrap(fmt.Sprintf(format, args...), d.width))
}

// Note prints a line, unless the display is quiet.
func (d *display) Note(format string, args ...any) {
	if !d.quiet {
		d.Say(format, args...)
	}
}

// Finish removes the bar.
func (d *display) Finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar != nil {
		_ = d.bar.Clear()
		d.bar = nil
	}
}

// Progress shows the progress of a run on standard error. On a terminal it is a bar with the time
// left, elsewhere it is plain lines. It shows nothing if it is quiet.
type Progress struct {
	display
	now   func() time.Time
	began time.Time     // time at which the first trial began
	Least time.Duration // least time of the run, if known beforehand
	Told  time.Time     // time at which the last plain line was printed
	text  int           // greatest width of the text before the bar, in columns

	takes    time.Duration // last estimate of the time of the run; 0 if there is none
	printed  time.Duration // the estimate that was last printed as a plain line; 0 if none was
	changing bool          // a line with a changed estimate has been printed

	await    *countdown // what the user waits for; nil if that is not estimated
	ticking  bool       // the bar shows the countdown, every second
	endTicks func()
}

const (
	barSteps = 1000            // number of steps of the bar
	between  = 5 * time.Second // least time between two plain lines
	longText = 60              // width of the longest usual text before the bar
)

// NewProgress returns a Progress that shows a bar if standard error is a terminal, and lines otherwise.
func NewProgress(env *Environment, quiet bool) *Progress {
	p := &Progress{display: display{w: env.Stderr, width: env.StderrWidth, quiet: quiet}, now: env.Now}
	if env.StderrWidth > 0 && !quiet {
		width := max(5, min(30, env.StderrWidth-64))
		p.text = max(0, env.StderrWidth-width-len(" 100% ||  ")-1)
		p.bar = newBar(env, barSteps,
			progressbar.OptionSetWidth(width),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
		)
	}
	return p
}

// Finish removes the bar.
func (p *Progress) Finish() {
	p.stopTicks()
	p.display.Finish()
}

func (p *Progress) Building(i, n int, name string) {
	p.told(func(c *countdown) { c.starts(name, p.now()) })
	p.Note("building the worker for %s (%d of %d)", name, i, n)
}

func (p *Progress) Built(i, n int, name string, err error) {
	p.told(func(c *countdown) { c.built(name, err, p.now()) })
	if err == nil {
		return
	}
	why := err.Error()
	if e, ok := errors.AsType[*build.BuildError](err); ok {
		why = e.Reason.Message + conditions.Said(&e.Reason)
	}
	p.Note("%s is unavailable: %s", name, why)
}

// tellRows is the least number of rows whose hashing takes long enough to show progress.
const tellRows = 50_000_000

// Computing shows how many rows have been hashed to compute expected answers. The hashed rows are the rows
// that a workload must return, or leave in the database.
func (p *Progress) Computing(workload string, done, total int64) {
	if p.quiet || total < tellRows {
		return
	}
	if done == 0 || p.due() {
		p.tell("computing what %s must return: %d of %d rows", workload, done, total)
	}
}

// due reports whether enough time has passed since the last plain line to print another one.
func (p *Progress) due() bool { return p.now().Sub(p.Told) >= between }

// tell prints a plain line.
func (p *Progress) tell(format string, args ...any) {
	p.Told = p.now()
	p.Say(format, args...)
}

// Merging shows how many runs of a store have been merged. The parameter "done" is that number. The
// parameter "of" is the number of all runs in the store, or 0 while the store is copied and
// checked.
func (p *Progress) Merging(name string, done, of int) {
	if p.quiet {
		return
	}
	text, share := "reading "+document.Line(name), 0.0
	if of > 0 {
		text, share = fmt.Sprintf("merged %d of %s of %s", done, document.Counted(of, "run"), document.Line(name)), float64(done)/float64(of)
	}
	if p.bar != nil {
		p.draw(text, share)
	} else if p.due() {
		p.tell("%s", text)
	}
}

func (p *Progress) draw(text string, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawLocked(text, share)
}

// drawLocked draws the bar. The caller holds p.mu.
func (p *Progress) drawLocked(text string, share float64) {
	p.bar.Describe(strings.ToValidUTF8(text[:min(len(text), p.text)], ""))
	_ = p.bar.Set(min(int(share*barSteps), barSteps-1)) // Set returns an error only for a value above the maximum
}

// Planned prints what will be measured, and how long it will take.
func (p *Progress) Planned(plan lab.Plan) {
	if p.quiet {
		return
	}
	race := plan.Schedule.Rounds > 0 && plan.Schedule.Settled != nil // in a race, slower cases are left out before the last round
	if plan.Takes > 0 {
		unless := ""
		switch {
		case race:
			unless = " at most: slower cases are left out during the run"
		case plan.Schedule.Settled != nil:
			unless = ", unless all cases are settled before"
		}
		if s := plan.Schedule; s.Rounds == 0 && plan.Takes > s.Time {
			unless += fmt.Sprintf(": longer than --time %v, because %d rounds are run in any case", s.Time, lab.MinRounds)
		}
		p.estimate(plan, unless)
		return
	}
	words := fmt.Sprintf("%s (each a workload on a driver, with settings), %s in all: ", document.Counted(plan.Cases, "case"), document.Counted(plan.Phases, "timed phase"))
	s := plan.Schedule
	switch {
	case race:
		words += fmt.Sprintf("at most %s in %d rounds", document.Counted(plan.Trials, "trial"), s.Rounds)
	case s.Rounds > 0:
		words += fmt.Sprintf("%s in %d rounds", document.Counted(plan.Trials, "trial"), s.Rounds)
	case s.Settled != nil:
		words += fmt.Sprintf("at least %s in %d rounds, then more until all cases are settled or %v are over", document.Counted(plan.Trials, "trial"), lab.MinRounds, s.Time)
	default:
		words += fmt.Sprintf("at least %s in %d rounds, then more until %v are over", document.Counted(plan.Trials, "trial"), lab.MinRounds, s.Time)
	}
	if least := max(p.Least, plan.Least); least > 0 && s.Rounds == 0 && least > s.Time {
		words += fmt.Sprintf("; --time %v is not enough for them: they take at least %s", s.Time, document.Roughly(least))
	} else if least > 0 {
		words += ", at least " + document.Roughly(least)
	}
	p.Say("%s", words)
}

// estimate shows the estimated time of the run. On a terminal the estimate is part of the progress bar.
// Otherwise, the method prints a line with the number of trials and the time. If the time changes by
// about half or more, it prints one more line.
func (p *Progress) estimate(plan lab.Plan, unless string) {
	p.takes = plan.Takes
	if p.bar != nil {
		return
	}
	now := ""
	if p.printed > 0 {
		if p.changing || 2*plan.Takes <= 3*p.printed && 3*plan.Takes >= 2*p.printed {
			return
		}
		now, p.changing = " now", true
	}
	p.printed = plan.Takes
	p.Say("estimate%s: %s in %s%s", now, document.Counted(plan.Trials, "trial"), document.Roughly(plan.Takes), unless)
}

func (p *Progress) Trial(round, rounds, done, total int, left time.Duration, c *lab.Case, t *result.Trial) {
	p.stopTicks()
	if p.quiet {
		return
	}
	for _, w := range t.Warnings {
		if w.Code == result.WarningStopped {
			p.Say("%s", w.Message)
		}
	}
	p.sayFailed(c, t)
	if p.began.IsZero() {
		p.began = p.now().Add(-time.Duration(t.TookNS))
	}
	elapsed := p.now().Sub(p.began)
	of := ""
	switch {
	case rounds > 0:
		of = fmt.Sprintf(" of %d", rounds)
	case round <= lab.MinRounds && p.bar != nil && p.text < longText:
		of = fmt.Sprintf(" of %d+", lab.MinRounds)
	case round <= lab.MinRounds:
		of = fmt.Sprintf(" of at least %d", lab.MinRounds)
	}
	remaining := ""
	switch {
	case left > 0:
		remaining = ", about " + document.Roughly(left) + " left"
	case done < total:
		remaining = ", estimating the time left"
	}
	if p.bar == nil {
		if done == total && (round == rounds || p.due()) {
			p.tell("round %d%s: %s, %s so far%s", round, of, document.Counted(total, "trial"), document.Roughly(elapsed), remaining)
		}
		return
	}
	words := fmt.Sprintf("round %d%s, trial %d of %d", round, of, done, total)
	if p.await != nil && p.await.measures() {
		p.draw(p.await.during(p.now(), left, done == total, words))
		return
	}
	share := 0.0
	if left > 0 {
		share = float64(elapsed) / float64(elapsed+left)
	}
	words += remaining
	if whole := " of " + document.Roughly(p.takes); left > 0 && p.takes > 0 && len(words)+len(whole) <= p.text {
		words += whole
	}
	p.draw(words, share)
}

func (p *Progress) Profiled(c *lab.Case, samples int64, t *result.Trial) {
	if p.quiet || p.sayFailed(c, t) {
		return
	}
	if p.due() || samples >= lab.EnoughSamples {
		p.tell("%s: %d of %d samples", c.Driver, min(samples, lab.EnoughSamples), lab.EnoughSamples)
	}
}

// sayFailed prints why a trial has no result. It returns false if the trial has a result.
func (p *Progress) sayFailed(c *lab.Case, t *result.Trial) bool {
	if t.Status == result.OK {
		return false
	}
	p.Say("%s on %s: %s: %s%s", c.Driver, c.Workload, t.Status, t.Reason.Message, conditions.Said(t.Reason))
	return true
}
