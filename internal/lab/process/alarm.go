package process

import (
	"sync"
	"time"
)

// Alarm calls a function after this process has run for some time. Time in which this
// process was stopped, for example by Ctrl-Z, does not count and is reported separately.
// Otherwise a worker could reach its time limit only because this process was stopped.
type Alarm struct {
	mu      sync.Mutex
	left    time.Duration
	ring    func()
	timer   *time.Timer
	set     time.Time     // when the timer was set
	next    time.Duration // duration to which the timer was set
	stopped time.Duration // total time in which this process was stopped
	paused  bool
	done    bool
}

const (
	alarmTick = 500 * time.Millisecond
	// alarmLate is how late a timer may fire on a busy machine. If a timer fires later than that, this
	// process was stopped.
	alarmLate = 2 * time.Second
)

// NewAlarm returns an alarm that calls the function "ring" after the given time.
func NewAlarm(after time.Duration, ring func()) *Alarm {
	a := &Alarm{left: after, ring: ring}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wind()
	return a
}

// wind starts the timer. The timer calls the method "tick" after alarmTick, or sooner if less time is left.
func (a *Alarm) wind() {
	a.set, a.next = time.Now(), min(alarmTick, a.left)
	a.timer = time.AfterFunc(a.next, a.tick)
}

// count subtracts the time since the timer was set from the time left. If the timer is very late, this
// process was stopped, so the delay is added to a.stopped instead.
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

// Reset makes the alarm ring after the given time, counted from now.
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

// Pause stops the alarm's clock until Resume is called.
func (a *Alarm) Pause() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done {
		a.timer.Stop()
		a.count()
		a.paused = true
	}
}

// Resume restarts the alarm's clock after Pause.
func (a *Alarm) Resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done && a.paused {
		a.paused = false
		a.wind()
	}
}

// Stop cancels the alarm. It returns how long this process was stopped since the alarm was
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
