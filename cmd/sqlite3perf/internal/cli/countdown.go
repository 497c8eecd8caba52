package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// An Await is something that a user waits for while workers are built.
type Await struct {
	For     string // what the user waits for, such as "the first answer"
	Built   build.Expectation
	Measure time.Duration // estimated time after the workers are built
	Longer  bool          // the measurement may take longer than Measure, because how long trials take is not known yet
}

// Words says what the user waits for, and how long that will probably take.
func (a *Await) Words() string {
	text := fmt.Sprintf("%s (%s to download, %s to build, %s to measure: estimated",
		a.about(a.Built.Total+a.Measure), coarsely(a.Built.Download), coarsely(a.Built.Total-a.Built.Download), a.about(a.Measure))
	if a.Built.Less {
		text += "; less if Go's build cache has parts of it"
	}
	return text + ")"
}

func (a *Await) about(d time.Duration) string {
	if a.Longer {
		return "at least " + coarsely(d)
	}
	return "about " + coarsely(d)
}

// The function "coarsely" formats an estimated duration, which is not known to the second.
func coarsely(d time.Duration) string {
	if d > time.Minute {
		d = d.Round(5 * time.Second)
	}
	return max(d.Round(time.Second), 0).String()
}

// A countdown estimates how long the user still has to wait for an [Await]. It corrects the estimate
// whenever a worker is built.
type countdown struct {
	Await
	began    time.Time
	left     []build.ExpectedBuild // workers that are not built yet
	building []string              // workers that are being built now
	started  map[string]time.Time  // when the build of each worker began
	at       time.Time             // when the last worker was built; before that, when the countdown began
	expected time.Duration         // how long the workers built so far were expected to take
	took     time.Duration         // how long the workers built so far really took
	shown    float64               // the greatest share of the time, from 0 to 1, that was shown as elapsed
}

func newCountdown(a Await, now time.Time) *countdown {
	return &countdown{Await: a, began: now, at: now, left: slices.Clone(a.Built.Builds), started: map[string]time.Time{}}
}

// starts notes that the build of a worker begins.
func (c *countdown) starts(name string, now time.Time) {
	c.building, c.started[name] = append(c.building, name), now
}

// built notes that a worker is built or, if err is not nil, that it can't be built.
func (c *countdown) built(name string, err error, now time.Time) {
	c.building = slices.DeleteFunc(c.building, func(b string) bool { return b == name })
	i := slices.IndexFunc(c.left, func(b build.ExpectedBuild) bool { return b.Name == name })
	if i < 0 {
		return
	}
	if start, ok := c.started[name]; ok && err == nil {
		c.expected += c.left[i].Takes
		c.took += now.Sub(start)
	}
	c.left, c.at = slices.Delete(c.left, i, i+1), now
}

// pace returns how long builds take, as a multiple of the expected time. If builds were faster than
// expected and Go's build cache was not empty, pace returns 1: perhaps the cache contained the packages
// of the workers built so far, but not the packages of the next workers.
func (c *countdown) pace() float64 {
	if c.expected == 0 || c.Built.Less && c.took < c.expected {
		return 1
	}
	return c.took.Seconds() / c.expected.Seconds()
}

// remaining estimates the time that is left. The result "late" is true if the current step, building the
// workers or measuring, takes longer than estimated.
func (c *countdown) remaining(now time.Time) (left time.Duration, late bool) {
	if len(c.left) == 0 {
		left = c.Measure - now.Sub(c.at)
		return max(left, 0), left < 0
	}
	over, pace := now.Sub(c.began), c.pace()
	var busy []time.Duration
	var queue []build.ExpectedBuild
	late = true
	for _, b := range c.left {
		b.Takes = time.Duration(float64(b.Takes) * pace)
		start, begun := c.started[b.Name]
		rest := b.Takes - now.Sub(start)
		if late = late && begun && rest < 0; begun {
			busy = append(busy, over+max(rest, 0))
		} else {
			queue = append(queue, b)
		}
	}
	return build.EndOf(queue, over, busy...) - over + c.Measure, late
}

// measures reports whether the user also waits for the measurement, not only for the workers to be built.
func (c *countdown) measures() bool { return c.Measure > 0 || c.Longer }

// The method "before" says how much time is left while the workers are built. The result "share" is the part of
// the time that is over, from 0 to 1.
func (c *countdown) before(now time.Time) (text string, share float64) {
	doing := "downloading"
	switch {
	case len(c.left) == 0:
		doing = "measuring"
	case len(c.building) > 0:
		doing = "building " + strings.Join(c.building, ", ")
	}
	left, late := c.remaining(now)
	return c.until(left, late, doing), c.share(now, left)
}

// The method "during" says how much time is left while trials run. The parameter "left" is the estimated time
// until the run's end. It is 0 if there is no estimate yet, or if the run has ended.
func (c *countdown) during(now time.Time, left time.Duration, ended bool, words string) (text string, share float64) {
	if left > 0 || ended {
		return fmt.Sprintf("about %s until %s: %s", coarsely(left), c.For, words), c.share(now, left)
	}
	left, late := c.remaining(now)
	return c.until(left, late, words), c.share(now, left)
}

func (c *countdown) until(left time.Duration, late bool, doing string) string {
	about := c.about(left)
	switch {
	case len(c.left) == 0 && c.Longer:
		about = "estimating the time"
	case late:
		about = "longer than estimated"
	}
	return about + " until " + c.For + ": " + doing
}

// share returns the part of the time that is over, from 0 to 1. It never goes down, even if more time is
// left than estimated before.
func (c *countdown) share(now time.Time, left time.Duration) float64 {
	over := now.Sub(c.began).Seconds()
	c.shown = max(c.shown, over/max(over+left.Seconds(), 1))
	return c.shown
}

// Await makes the bar show, every second until the first trial has ended, how long the user has to wait.
// The function "what" returns what the user waits for, or nil if there is nothing to wait for. Without a
// bar, Await does not call "what".
func (p *Progress) Await(what func() *Await) {
	if p.bar == nil {
		return
	}
	a := what()
	if a == nil {
		return
	}
	p.await, p.ticking = newCountdown(*a, p.now()), true
	p.tick()
	ticker, done := time.NewTicker(time.Second), make(chan struct{})
	p.endTicks = func() {
		ticker.Stop()
		close(done)
	}
	go func() {
		for {
			select {
			case <-ticker.C:
				p.tick()
			case <-done:
				return
			}
		}
	}()
}

// tick draws the bar with the time that is left.
func (p *Progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ticking {
		p.drawLocked(p.await.before(p.now()))
	}
}

// stopTicks ends the display of the countdown that [Progress.Await] began.
func (p *Progress) stopTicks() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ticking {
		p.ticking = false
		p.endTicks()
	}
}

// told calls the function "change" with the countdown, if there is a countdown.
func (p *Progress) told(change func(*countdown)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.await != nil {
		change(p.await)
	}
}
