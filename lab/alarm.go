package lab

import (
	"sync"
	"time"
)

// alarm calls a function after a time in which this process was running. The time
// in which it was stopped, as by Ctrl-Z, does not count, and is told: the workers
// are not stopped with it, and must not be blamed.
type alarm struct {
	mu      sync.Mutex
	left    time.Duration
	ring    func()
	timer   *time.Timer
	set     time.Time     // when the timer was set
	next    time.Duration // and to what
	stopped time.Duration // how long the process was
	done    bool
}

const (
	alarmTick = 500 * time.Millisecond
	// alarmLate is how much later than asked for a busy machine may wake us.
	alarmLate = 2 * time.Second
)

func newAlarm(after time.Duration, ring func()) *alarm {
	a := &alarm{left: after, ring: ring}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wind()
	return a
}

// wind sets the timer to the next tick.
func (a *alarm) wind() {
	a.set, a.next = time.Now(), min(alarmTick, a.left)
	a.timer = time.AfterFunc(a.next, a.tick)
}

// count takes what has passed since the timer was set off what is left.
func (a *alarm) count() {
	passed := time.Since(a.set)
	if late := passed - a.next; late > alarmLate {
		a.stopped += late
		passed = a.next
	}
	a.left -= passed
	a.set, a.next = time.Now(), 0
}

func (a *alarm) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
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

// reset has the alarm ring after a time from now.
func (a *alarm) reset(after time.Duration) {
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

// stop ends the alarm and returns how long the process was stopped while it was set.
func (a *alarm) stop() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done {
		a.done = true
		a.timer.Stop()
		a.count()
	}
	return a.stopped
}
