package process

import (
	"sync"
	"time"
)

// Alarm calls a function after this process has run for some time. Time in which the
// process was stopped, as by Ctrl-Z, does not count and is reported separately. The
// workers are not stopped along with it, so they must not be blamed for that time.
type Alarm struct {
	mu      sync.Mutex
	left    time.Duration
	ring    func()
	timer   *time.Timer
	set     time.Time     // when the timer was set
	next    time.Duration // what it was set to
	stopped time.Duration // how long the process was stopped
	paused  bool
	done    bool
}

const (
	alarmTick = 500 * time.Millisecond
	// alarmLate is how late a timer may fire on a busy machine.
	alarmLate = 2 * time.Second
)

// NewAlarm returns an alarm that calls ring after some time.
func NewAlarm(after time.Duration, ring func()) *Alarm {
	a := &Alarm{left: after, ring: ring}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wind()
	return a
}

// wind sets the timer to the next tick.
func (a *Alarm) wind() {
	a.set, a.next = time.Now(), min(alarmTick, a.left)
	a.timer = time.AfterFunc(a.next, a.tick)
}

// count subtracts the time since the timer was set from the time that is left.
func (a *Alarm) count() {
	passed := time.Since(a.set)
	if late := passed - a.next; late > alarmLate {
		a.stopped += late
		passed = a.next
	}
	a.left -= passed
	a.set, a.next = time.Now(), 0
}

func (a *Alarm) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done || a.paused {
		return
	}
	a.count()
	if a.left <= 0 {
		a.done = true
		a.ring()
		return
	}
	a.wind()
}

// Reset makes the alarm ring after the given time from now.
func (a *Alarm) Reset(after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	a.timer.Stop()
	a.count()
	a.left = after
	a.wind()
}

// Pause stops the alarm's time until resume is called.
func (a *Alarm) Pause() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done {
		a.timer.Stop()
		a.count()
		a.paused = true
	}
}

// Resume lets the alarm's time go on.
func (a *Alarm) Resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done && a.paused {
		a.paused = false
		a.wind()
	}
}

// Stop cancels the alarm and returns how long the process was stopped while it was
// set.
func (a *Alarm) Stop() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done {
		a.done = true
		a.timer.Stop()
		if !a.paused {
			a.count()
		}
	}
	return a.stopped
}
